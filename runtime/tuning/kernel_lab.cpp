// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how near results of two choices must be.
#include "runtime/tuning/kernel_lab.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "codegen/tile/interpret_program.h"
#include "codegen/tile/print.h"
#include "runtime/exec/launch.h"
#include "runtime/host/threads.h"
#include "runtime/tuning/digest.h"

namespace cubejit {
namespace {

// Estimated cycles up to which a program is interpreted: about a second.
constexpr double kInterpretedCycles = 3e5;
constexpr std::uint64_t kSeed = 7;

// How far results may differ where sums are added in another order or rounded once more, as a share of the largest result.
double toleranceOf(Element element) {
  return elementBytes(element) == 4 ? 1e-4 : element == Element::kF16 ? 4e-3 : 3e-2;
}

double valueAt(Element element, const std::string& bytes, std::size_t at) {
  return static_cast<double>(floatOf(readElement(element, bytes.data() + at, 0)));
}

// Empty if they are near each other.
std::string difference(const Buffer& buffer, const std::string& expected, const std::string& got) {
  const auto step = static_cast<std::size_t>(elementBytes(buffer.element));
  double largest = 0;
  for (std::size_t at = 0; at < expected.size(); at += step) {
    const double value = std::abs(valueAt(buffer.element, expected, at));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  const double most = toleranceOf(buffer.element) * largest;
  for (std::size_t at = 0; at < expected.size(); at += step) {
    const double x = valueAt(buffer.element, expected, at), y = valueAt(buffer.element, got, at);
    const bool near = std::isnan(x) ? std::isnan(y) : x == y || std::abs(x - y) <= most;
    if (!near)
      return buffer.name + ": element " + std::to_string(at / step) + " is " + std::to_string(y) + ", not " +
             std::to_string(x);
  }
  return "";
}

double cyclesOf(const TileProgram& program) {
  double cycles = 0;
  for (const Phase& phase : program.phases) cycles += phase.workCycles;
  return cycles;
}

}  // namespace

CallerBuffers KernelLab::boundTo(const Loaded& loaded, const ProgramMemory& memory) const {
  CallerBuffers callers;
  for (const std::size_t b : loaded.order) callers.push_back(memory.addresses()[b]);
  return callers;
}

LabReply KernelLab::load(int number, const lang::Settings& settings) {
  auto kernel = loadKernel(text_, settings, machine_, options_);
  if (!kernel.ok()) return refusalOf(kernel.error());
  Loaded loaded{std::move(*kernel), {}, 0};
  const TileProgram& tile = loaded.kernel.part->tile;
  std::vector<Buffer> callers;
  std::copy_if(tile.buffers.begin(), tile.buffers.end(), std::back_inserter(callers),
               [](const Buffer& b) { return b.isCallers(); });
  if (buffers_.empty()) {
    auto memory = ProgramMemory::of(callers, kSeed);
    if (!memory.ok()) return refusalOf(memory.error());
    buffers_ = callers;
    memory_ = std::move(*memory);
  }
  for (const Buffer& buffer : callers) {
    const auto same = std::find_if(buffers_.begin(), buffers_.end(), [&](const Buffer& b) {
      return b.name == buffer.name && b.bytes == buffer.bytes && b.element == buffer.element;
    });
    if (same == buffers_.end() || callers.size() != buffers_.size())
      return {TrialStatus::kRefused, "it has other inputs or outputs", {}, {}};
    loaded.order.push_back(static_cast<std::size_t>(same - buffers_.begin()));
  }
  const auto once = run(loaded);
  if (!once.ok()) return refusalOf(once.error());
  loaded.leastNs = *once;
  Digest digest;
  const std::string program = print(tile, Detail::kFull);
  digest.add(program.data(), program.size());
  for (const Code& code : loaded.kernel.part->codes) digest.add(code.bytes.data(), code.bytes.size());
  loaded_.insert_or_assign(number, std::move(loaded));
  LabReply reply;
  reply.code = digest.text();
  return reply;
}

Result<std::int64_t> KernelLab::run(const Loaded& loaded) {
  const LaunchProgram& launch = *loaded.kernel.part->launch;
  const int threads = threadsOf(options_);
  if (const std::size_t bytes = launch.workspaceBytes(threads); bytes > workspaceBytes_) {
    workspace_ = alignedMemory(bytes);
    workspaceBytes_ = workspace_ == nullptr ? 0 : bytes;
    if (workspace_ == nullptr)
      return Error{ErrorCode::kLimitExceeded, Stage::kRun,
                   "no memory for a workspace of " + std::to_string(bytes) + " bytes"};
  }
  const CallerBuffers callers = boundTo(loaded, memory_);
  const Team team{threads, options_.parallelFor, true, options_.wakeCycles};
  const auto begin = std::chrono::steady_clock::now();
  launch.run(callers, nullptr, static_cast<char*>(static_cast<void*>(workspace_.get())), team);
  const auto took = std::chrono::steady_clock::now() - begin;
  return std::max<std::int64_t>(1, std::chrono::duration_cast<std::chrono::nanoseconds>(took).count());
}

Result<std::vector<std::string>> KernelLab::results(const Loaded& loaded) {
  CUBEJIT_TRY(took, run(loaded));
  static_cast<void>(took);
  std::vector<std::string> all;
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    if (buffers_[b].use == Buffer::Use::kOutput)
      all.emplace_back(static_cast<const char*>(memory_.addresses()[b]), static_cast<std::size_t>(buffers_[b].bytes));
  }
  return all;
}

LabReply KernelLab::verify(int number) {
  const auto found = loaded_.find(number);
  if (found == loaded_.end()) return {TrialStatus::kFailed, "it is not loaded", {}, {}};
  // What lies there of others' results must not pass for its own. Gaps between rows are the same in both.
  auto fresh = ProgramMemory::of(buffers_, kSeed);
  if (!fresh.ok()) return refusalOf(fresh.error());
  memory_ = std::move(*fresh);
  const auto got = results(found->second);
  if (!got.ok()) return refusalOf(got.error());
  if (number == kUntuned) {
    expected_ = *got;
    const TileProgram& tile = found->second.kernel.part->tile;
    if (cyclesOf(tile) > kInterpretedCycles) return {};
    auto again = ProgramMemory::of(buffers_, kSeed);
    if (!again.ok()) return refusalOf(again.error());
    if (const Status done = interpret(tile, boundTo(found->second, *again)); !done.ok()) return refusalOf(done.error());
    std::size_t output = 0;
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      if (buffers_[b].use != Buffer::Use::kOutput) continue;
      const std::string& mine = expected_[output++];
      if (!std::equal(mine.begin(), mine.end(), static_cast<const char*>(again->addresses()[b])))
        return {TrialStatus::kWrong, buffers_[b].name + " has other bits than the interpreter's", {}, {}};
    }
    return {};
  }
  std::size_t output = 0;
  for (const Buffer& buffer : buffers_) {
    if (buffer.use != Buffer::Use::kOutput) continue;
    const std::string what = difference(buffer, expected_[output], (*got)[output]);
    if (!what.empty()) return {TrialStatus::kWrong, what, {}, {}};
    ++output;
  }
  return {};
}

LabReply KernelLab::sample(const std::vector<int>& numbers, int rounds) {
  std::vector<TimedRun> runs;
  for (const int number : numbers) {
    const auto found = loaded_.find(number);
    if (found == loaded_.end()) return {TrialStatus::kFailed, "it is not loaded", {}, {}};
    Loaded& loaded = found->second;
    runs.push_back({[&loaded, this] { return run(loaded); }, &loaded.leastNs});
  }
  return timeInTurn(runs, rounds, options_.turnFile);
}

LabReply KernelLab::renew() {
  auto fresh = ProgramMemory::of(buffers_, kSeed);  // before the old one goes: not the same memory
  if (!fresh.ok()) return refusalOf(fresh.error());
  memory_ = std::move(*fresh);
  for (auto& [number, loaded] : loaded_) {
    const auto once = run(loaded);
    if (!once.ok()) return refusalOf(once.error());
  }
  return {};
}

}  // namespace cubejit
