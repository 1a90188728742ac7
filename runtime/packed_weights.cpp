// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what packed weights are: a line that says whose they are, then the buffers that depend on weights alone.
#include "runtime/packed_weights.h"

#include <cstring>
#include <functional>
#include <string>

#include "cubejit/index_map.h"
#include "runtime/compile.h"
#include "runtime/no_throw.h"
#include "runtime/problem_key.h"

namespace cubejit {
namespace {

constexpr std::size_t kHeaderBytes = 64;

bool isAligned(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory) % 64 == 0; }

}  // namespace

std::uint64_t packedTagOf(const Executable::State& state) {
  const CompiledGradient* part = state.weightsReader();
  if (part == nullptr) return 0;
  std::string identity = problemKey(part->problem, GradientMask{true, false, false}) + version();
  identity += toString(state.isa.level);
  identity += algorithmName(part->plan);
  describePlan(part->plan, [&](const char*, const auto& field) {
    const auto value = static_cast<std::int64_t>(field);
    identity.append(reinterpret_cast<const char*>(&value), sizeof(value));
  });
  return std::hash<std::string>{}(identity) | 1U;
}

std::string brokenPackedRules(const Executable& executable, const void* packed) {
  if (!isAligned(packed)) return "packedW is not aligned to 64 bytes";
  if (executable.packedWeightsBytes() == 0)
    return "packedW is given, but no gradient of this executable reads packed weights; compile dx with "
           "WeightsUse::kKept";
  std::uint64_t tag = 0;
  std::memcpy(&tag, packed, sizeof(tag));
  if (tag == executable.state().packedTag) return {};
  return "packedW was not filled by packWeights() of this executable, or of one of equal problem, plan, ISA and "
         "version";
}

const void* packedBuffers(const void* packed) {
  return packed == nullptr ? nullptr : static_cast<const char*>(packed) + kHeaderBytes;
}

const CompiledGradient* Executable::State::weightsReader() const {
  for (const auto& part : parts) {
    if (part->plan.gradient == Gradient::kDx) return part.get();
  }
  return nullptr;
}

std::size_t Executable::packedWeightsBytes() const {
  const CompiledGradient* part = state_->weightsReader();
  const std::size_t bytes = part == nullptr ? 0 : part->launch->prepackBytes();
  return bytes == 0 ? 0 : kHeaderBytes + bytes;
}

Status Executable::packWeights(const void* w, void* packed, std::size_t bytes, int threads) const {
  return withoutThrowing(Stage::kRun, [&]() -> Status {
    const std::size_t needed = packedWeightsBytes();
    if (needed == 0)
      return Error{ErrorCode::kUnsupported, Stage::kRun,
                   "this executable does not pack weights beforehand; compile dx with WeightsUse::kKept"};
    std::string broken;
    const auto rule = [&](const std::string& text) { broken += (broken.empty() ? "" : "\n") + text; };
    const std::int64_t weightBytes = formatBytes(state_->problem, TensorId::kW);
    const std::int64_t alignment = byteSize(formatOf(state_->problem, TensorId::kW).dtype);
    const auto from = reinterpret_cast<std::uintptr_t>(w), to = reinterpret_cast<std::uintptr_t>(packed);
    if (w == nullptr)
      rule("w is null but " + std::to_string(weightBytes) + " bytes are needed");
    else if (from % static_cast<std::uintptr_t>(alignment) != 0)
      rule("w is not aligned to " + std::to_string(alignment) + " bytes");
    if (packed == nullptr) rule("packed is null but " + std::to_string(needed) + " bytes are needed");
    if (!isAligned(packed)) rule("packed is not aligned to 64 bytes");
    if (bytes < needed)
      rule("packed has " + std::to_string(bytes) + " bytes, " + std::to_string(needed) +
           " are needed; ask packedWeightsBytes()");
    if (broken.empty() && from < to + needed && to < from + static_cast<std::uintptr_t>(weightBytes))
      rule("w and packed overlap; packed weights need memory of their own");
    if (!broken.empty()) return Error{ErrorCode::kInvalidProblem, Stage::kRun, broken};
    auto* const header = static_cast<char*>(packed);
    std::memset(header, 0, kHeaderBytes);  // not this executable's until all is there
    state_->weightsReader()->launch->prepack(w, header + kHeaderBytes,
                                             state_->team(threads > 0 ? threads : state_->threads));
    std::memcpy(header, &state_->packedTag, sizeof(state_->packedTag));
    return Unit{};
  });
}

}  // namespace cubejit
