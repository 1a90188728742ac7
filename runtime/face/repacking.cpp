// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a conversion alone is generated and run. Leaves its moves to algorithms/transforms/convert.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "algorithms/transforms/convert.h"
#include "cubejit/index_map.h"
#include "runtime/host/aligned_memory.h"
#include "runtime/host/overlap.h"
#include "runtime/host/threads.h"
#include "runtime/loader/load_programs.h"
#include "runtime/pipeline/compile.h"
#include "tiling/check_problem.h"
#include "tiling/no_throw.h"

namespace cubejit {
namespace {

constexpr std::uintptr_t kVectorBytes = 64;  // of the widest ISA
// Smaller targets stay in the caches for whoever reads them next; a copy of this size is faster past them (bench/pack_bandwidth).
constexpr std::int64_t kStreamedBytes = std::int64_t{4} << 20;

}  // namespace

struct Repacking::State {
  struct Variant {
    LoadedCode code;
    std::unique_ptr<CompiledPass> part;
  };
  Variant ordinary, streaming;  ///< streaming: for large targets that lie at a vector's alignment; none for small ones
  Options options;
  int threads = 1;
  std::size_t sourceBytes = 0, targetBytes = 0, sourceAlignment = 1, targetAlignment = 1;
};

Repacking::Repacking() : state_(std::make_unique<State>()) {}
Repacking::~Repacking() = default;
std::size_t Repacking::sourceBytes() const { return state_->sourceBytes; }
std::size_t Repacking::targetBytes() const { return state_->targetBytes; }

Status Repacking::run(const void* source, void* target, int threads) const {
  return withoutThrowing(Stage::kRun, [&]() -> Status {
    const State& s = *state_;
    std::string broken;
    const auto rule = [&](const std::string& text) { broken += (broken.empty() ? "" : "\n") + text; };
    if (threads < 0) rule(brokenThreads(threads));
    const auto judge = [&](const char* name, const void* at, std::size_t bytes, std::size_t alignment) {
      if (at == nullptr && bytes > 0)
        rule(std::string(name) + " is null but " + std::to_string(bytes) + " bytes are needed");
      if (reinterpret_cast<std::uintptr_t>(at) % alignment != 0)
        rule(std::string(name) + " is not aligned to " + std::to_string(alignment) + " bytes");
    };
    judge("source", source, s.sourceBytes, s.sourceAlignment);
    judge("target", target, s.targetBytes, s.targetAlignment);
    if (overlap(source, static_cast<std::int64_t>(s.sourceBytes), target, static_cast<std::int64_t>(s.targetBytes)))
      rule("source and target overlap; a conversion needs memory of its own");
    if (!broken.empty()) return invalidInput(broken, Stage::kRun);
    const bool streams = s.streaming.part != nullptr && reinterpret_cast<std::uintptr_t>(target) % kVectorBytes == 0;
    const LaunchProgram& launch = *(streams ? s.streaming : s.ordinary).part->launch;
    const int slots = slotsOf(threads, s.threads);
    const std::size_t bytes = launch.workspaceBytes(slots);  // panels of a few KiB a thread, if any
    const AlignedMemory panels = bytes == 0 ? nullptr : alignedMemory(bytes);
    if (bytes > 0 && panels == nullptr)
      return Error{ErrorCode::kLimitExceeded, Stage::kRun,
                   "no memory for panels of " + std::to_string(bytes) + " bytes"};
    launch.run({const_cast<void*>(source), target}, nullptr, static_cast<char*>(panels.get()),
               Team{slots, s.options.parallelFor, s.options.pinThreads, s.options.wakeCycles});
    return Unit{};
  });
}

Result<std::shared_ptr<const Repacking>> compileRepacking(const Problem& problem, TensorId tensor,
                                                          const TensorFormat& to, const Machine& machine,
                                                          const Options& options) {
  Problem target = problem;
  target.formats[static_cast<std::size_t>(tensor)] = to;
  CUBEJIT_RETURN_IF_ERROR(checkProblem(problem));
  CUBEJIT_RETURN_IF_ERROR(checkProblem(target));
  auto out = std::make_shared<Repacking>();
  Repacking::State& s = out->state();
  const auto compile = [&](Repacking::State::Variant& variant, bool streams) -> Status {
    CUBEJIT_TRY(part, compileProgram(conversionProgram(problem, target, tensor, machine.isa.lanes(), streams), machine,
                                     options, variant.code));
    variant.part = std::move(part);
    return Unit{};
  };
  CUBEJIT_RETURN_IF_ERROR(compile(s.ordinary, false));
  if (formatBytes(target, tensor) >= kStreamedBytes) {
    CUBEJIT_RETURN_IF_ERROR(compile(s.streaming, true));
  }
  s.options = options;
  s.threads = threadsOf(options);
  s.sourceBytes = static_cast<std::size_t>(formatBytes(problem, tensor));
  s.targetBytes = static_cast<std::size_t>(formatBytes(target, tensor));
  s.sourceAlignment = static_cast<std::size_t>(byteSize(formatOf(problem, tensor).dtype));
  s.targetAlignment = static_cast<std::size_t>(byteSize(to.dtype));
  return std::shared_ptr<const Repacking>(std::move(out));
}

}  // namespace cubejit
