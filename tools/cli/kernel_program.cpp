// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that a buffer is a row of elements to NumPy: a tile program says what they are and how many, and no shape.
#include "kernel_program.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "codegen/tile/caller_buffers.h"
#include "codegen/tile/interpret_program.h"
#include "cubejit/cubejit.hpp"
#include "kernel_breakdown.h"
#include "npy.h"
#include "runtime/exec/launch.h"
#include "runtime/exec/program_memory.h"
#include "runtime/host/aligned_memory.h"
#include "runtime/loader/generate.h"
#include "runtime/loader/load_programs.h"
#include "runtime/tuning/digest.h"

namespace cubejit::cli {
namespace {

std::int64_t elementsOf(const Buffer& buffer) { return buffer.bytes / elementBytes(buffer.element); }
DType typeOf(const Buffer& buffer) { return static_cast<DType>(buffer.element); }  // elements begin with them

// The callers' buffers, with what files hold of them.
Result<ProgramMemory> callersOf(const TileProgram& program, const KernelData& data) {
  std::string broken;
  for (const auto* files : {&data.inputs, &data.outputs}) {
    for (const auto& [name, file] : *files) {
      const int b = bufferNamed(program.buffers, name);
      const bool output = b >= 0 && program.buffers[static_cast<std::size_t>(b)].use == Buffer::Use::kOutput;
      if (b < 0 || (files == &data.outputs && !output))
        broken += fmt::format("{}{} is no {} of {}", broken.empty() ? "" : "\n", name,
                              files == &data.outputs ? "output" : "input or output", program.name);
    }
  }
  if (!broken.empty()) return invalidInput(broken);
  CUBEJIT_TRY(memory, ProgramMemory::of(program.buffers, data.seed));
  std::size_t bound = 0;
  for (const Buffer& buffer : program.buffers) {
    if (!buffer.isCallers()) continue;
    auto* const bytes = static_cast<char*>(memory.addresses()[bound++]);
    const auto file = data.inputs.find(buffer.name);
    if (file == data.inputs.end()) continue;
    CUBEJIT_TRY(array, readNpy(file->second, {elementsOf(buffer)}, "the elements of " + buffer.name, typeOf(buffer)));
    std::copy(array.bytes.begin(), array.bytes.end(), bytes);
  }
  return std::move(memory);
}

void tell(const Buffer& buffer, const char* bytes) {
  double sum = 0;
  std::string first;
  for (std::int64_t i = 0; i < elementsOf(buffer); ++i) {
    const float value = floatOf(readElement(buffer.element, bytes + i * elementBytes(buffer.element), 0));
    sum += static_cast<double>(value);
    if (i < 4) first += fmt::format(" {}", value);
  }
  Digest digest;
  digest.add(bytes, static_cast<std::size_t>(buffer.bytes));
  fmt::print("{}: {} of {}, hash {}; sum {}, first{}\n", buffer.name, elementsOf(buffer), toString(buffer.element),
             digest.text(), sum, first);
}

constexpr double kLeastSeconds = 0.2;
constexpr std::size_t kLeastRuns = 5, kMostRuns = 1000;

}  // namespace

Status interpretKernels(const TileProgram& program, const KernelData& data) {
  CUBEJIT_TRY(callers, callersOf(program, data));
  CUBEJIT_RETURN_IF_ERROR(interpret(program, callers.addresses()));
  std::vector<NpyOutput> files;
  std::size_t bound = 0;
  for (const Buffer& buffer : program.buffers) {
    if (!buffer.isCallers()) continue;
    const char* const bytes = static_cast<const char*>(callers.addresses()[bound++]);
    if (buffer.use == Buffer::Use::kOutput) tell(buffer, bytes);
    if (const auto file = data.outputs.find(buffer.name); file != data.outputs.end())
      files.push_back(NpyOutput{file->second, {elementsOf(buffer)}, typeOf(buffer), {bytes, bytes + buffer.bytes}});
  }
  return writeNpy(files);
}

Status timeKernels(const TileProgram& program, const KernelData& data, const Options& options, bool breakdown) {
  CUBEJIT_RETURN_IF_ERROR(checkRunnable(*options.isa));
  CUBEJIT_TRY(callers, callersOf(program, data));
  const Session session(options);
  LoadedCode code;
  CUBEJIT_TRY(part, compileProgram(program, session.machine(), session.options(), code));
  const std::size_t bytes = part->launch->workspaceBytes(options.threads);
  const AlignedMemory workspace = alignedMemory(bytes);
  if (workspace == nullptr)
    return Error{ErrorCode::kLimitExceeded, Stage::kRun, fmt::format("no memory for a workspace of {} bytes", bytes)};
  const Team team{options.threads, options.parallelFor, true, session.options().wakeCycles};
  if (breakdown) part->launch->keepTimes(options.threads);
  std::vector<double> seconds;
  double all = 0;
  for (; seconds.size() < kLeastRuns || (all < kLeastSeconds && seconds.size() < kMostRuns);) {
    const auto begin = std::chrono::steady_clock::now();
    part->launch->run(callers.addresses(), nullptr, static_cast<char*>(static_cast<void*>(workspace.get())), team);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    all += seconds.back();
  }
  std::sort(seconds.begin(), seconds.end());
  fmt::print("{}: {:.3f} us at least, {:.3f} us in the middle of {} runs, {}, {}\n", program.name,
             seconds.front() * 1e6, seconds[seconds.size() / 2] * 1e6, seconds.size(),
             options.threads == 1 ? "one thread" : fmt::format("{} threads", options.threads), toString(*options.isa));
  if (!breakdown) return Unit{};
  return tellBreakdown(*part, session.machine(), all * 1e9, static_cast<double>(seconds.size()), options.threads);
}

}  // namespace cubejit::cli
