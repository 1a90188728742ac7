// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what packed weights are: a line that says whose they are, then the buffers that depend on weights alone.
#include "runtime/pipeline/packed_weights.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

#include "cubejit/index_map.h"
#include "runtime/host/overlap.h"
#include "runtime/host/threads.h"
#include "runtime/pipeline/compile.h"
#include "runtime/pipeline/problem_key.h"
#include "tiling/no_throw.h"

namespace cubejit {
namespace {

constexpr std::size_t kHeaderBytes = 64;

// Bytes that a part keeps, to whole lines.
std::size_t keptBytes(const CompiledPass& part) { return (part.launch->prepackBytes() + 63) / 64 * 64; }

bool isAligned(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory) % 64 == 0; }

}  // namespace

std::uint64_t packedTagOf(const Executable::State& state) {
  const auto parts = state.weightsReaders();
  if (parts.empty()) return 0;
  std::string identity = version();
  identity += toString(state.isa.level);
  for (const CompiledPass* part : parts) {
    identity += problemKey(part->problem, maskOf(part->plan.pass));
    identity += algorithmName(part->plan);
    describePlan(part->plan, [&](const char*, const auto& field) {
      const auto value = static_cast<std::int64_t>(field);
      identity.append(reinterpret_cast<const char*>(&value), sizeof(value));
    });
  }
  return std::hash<std::string>{}(identity) | 1U;
}

std::string brokenPackedRules(const Executable& executable, const void* packed) {
  if (!isAligned(packed)) return "packedW is not aligned to 64 bytes";
  if (executable.packedWeightsBytes() == 0)
    return "packedW is given, but no pass of this executable reads packed weights; compile dx or y "
           "with WeightsUse::kKept";
  std::uint64_t tag = 0;
  std::memcpy(&tag, packed, sizeof(tag));
  if (tag == executable.state().packedTag) return {};
  return "packedW was not filled by packWeights() of this executable, or of one of equal problem, plan, ISA and "
         "version";
}

const void* packedBuffers(const Executable::State& state, const CompiledPass& part, const void* packed) {
  if (packed == nullptr) return nullptr;
  std::size_t place = kHeaderBytes;
  for (const CompiledPass* reader : state.weightsReaders()) {
    if (reader == &part) return static_cast<const char*>(packed) + place;
    place += keptBytes(*reader);
  }
  return nullptr;
}

std::vector<const CompiledPass*> Executable::State::weightsReaders() const {
  std::vector<const CompiledPass*> readers;
  const bool converts =
      std::any_of(shared.begin(), shared.end(), [](const SharedTensor& s) { return s.tensor == TensorId::kW; });
  if (converts) return readers;  // they read what a call makes
  for (const auto& part : parts) {
    if (reads(part->plan.pass, TensorId::kW)) readers.push_back(part.get());
  }
  return readers;
}

std::size_t Executable::packedWeightsBytes() const {
  std::size_t bytes = 0;
  for (const CompiledPass* part : state_->weightsReaders()) {
    if (keptBytes(*part) == 0) return 0;  // it reads w itself
    bytes += keptBytes(*part);
  }
  return bytes == 0 ? 0 : kHeaderBytes + bytes;
}

Status Executable::packWeights(const void* w, void* packed, std::size_t bytes, int threads) const {
  return withoutThrowing(Stage::kRun, [&]() -> Status {
    const std::size_t needed = packedWeightsBytes();
    if (needed == 0)
      return Error{ErrorCode::kUnsupported, Stage::kRun,
                   "this executable does not pack weights beforehand; compile dx or y with WeightsUse::kKept"};
    std::string broken;
    const auto rule = [&](const std::string& text) { broken += (broken.empty() ? "" : "\n") + text; };
    const std::int64_t weightBytes = formatBytes(state_->problem, TensorId::kW);
    const std::int64_t alignment = byteSize(formatOf(state_->problem, TensorId::kW).dtype);
    if (threads < 0) rule(brokenThreads(threads));
    if (w == nullptr)
      rule("w is null but " + std::to_string(weightBytes) + " bytes are needed");
    else if (reinterpret_cast<std::uintptr_t>(w) % static_cast<std::uintptr_t>(alignment) != 0)
      rule("w is not aligned to " + std::to_string(alignment) + " bytes");
    if (packed == nullptr) rule("packed is null but " + std::to_string(needed) + " bytes are needed");
    if (!isAligned(packed)) rule("packed is not aligned to 64 bytes");
    if (bytes < needed)
      rule("packed has " + std::to_string(bytes) + " bytes, " + std::to_string(needed) +
           " are needed; ask packedWeightsBytes()");
    if (broken.empty() && overlap(w, weightBytes, packed, static_cast<std::int64_t>(needed)))
      rule("w and packed overlap; packed weights need memory of their own");
    if (!broken.empty()) return invalidInput(broken, Stage::kRun);
    auto* const header = static_cast<char*>(packed);
    std::memset(header, 0, kHeaderBytes);  // not this executable's until all is there
    char* to = header + kHeaderBytes;
    for (const CompiledPass* part : state_->weightsReaders()) {
      Tensors tensors;
      tensors.w = w;
      part->launch->prepack(part->binding.bind(tensors), to, state_->team(slotsOf(threads, state_->threads)));
      to += keptBytes(*part);
    }
    std::memcpy(header, &state_->packedTag, sizeof(state_->packedTag));
    return Unit{};
  });
}

}  // namespace cubejit
