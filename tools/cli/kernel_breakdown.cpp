// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the lines of a breakdown: one a kernel, by time, with its place below the machine's roofs.
#include "kernel_breakdown.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "codegen/tile/work.h"
#include "cubejit/cubejit.hpp"
#include "runtime/host/bandwidth.h"

namespace cubejit::cli {
namespace {

// A statement that reaches less than this share of every roof is held up by something else.
constexpr double kHeldUp = 0.25;
// What caches deliver at the peak of f32: for each lane 4 bytes beside a multiply-add, which is 2 operations.
constexpr double kBytesPerFlop = 2;

// Calls of the program by the kernels they call: a kernel belongs to the first. One that stands in for another where C is aligned is that one.
struct Called {
  std::string name;
  int insteadOf = -1;
};
void nameCalls(const TileProgram& program, const std::vector<Node>& nodes, std::vector<Called>& called) {
  for (const Node& node : nodes) {
    nameCalls(program, node.body, called);
    if (!node.isCall()) continue;
    for (const Variant& variant : node.call.variants) {
      if (variant.kernel < 0) continue;
      Called& kernel = called[static_cast<std::size_t>(variant.kernel)];
      if (kernel.name.empty()) kernel.name = node.call.name;
      if (variant.aligned >= 0) called[static_cast<std::size_t>(variant.aligned)].insteadOf = variant.kernel;
    }
  }
}

std::string bytesText(double bytes) {
  return bytes >= 1e6 ? fmt::format("{:.1f} MB", bytes * 1e-6) : fmt::format("{:.1f} KB", bytes * 1e-3);
}

}  // namespace

Result<CoreRoofs> measureRoofs(IsaLevel level, int threads, bool pairs, bool quads) {
  constexpr int kMilliseconds = 60;
  CoreRoofs roofs;
  CUBEJIT_TRY(peak, measurePeakGflops(level, threads, kMilliseconds));
  roofs.gflops = peak / threads;
  if (pairs) {
    CUBEJIT_TRY(dots, measurePeakGflops(level, threads, kMilliseconds, DType::kBf16));
    roofs.pairGflops = dots / threads;
  }
  if (quads) roofs.quadGflops = 4 * roofs.gflops;  // an instruction of as many lanes, with four products each
  CUBEJIT_TRY(bandwidth, measureReadBandwidth(threads));
  roofs.gigabytes = bandwidth / threads;
  return roofs;
}

const char* heldUpBy(const RoofShares& shares) {
  const double most = std::max({shares.arithmetic, shares.memory, shares.caches});
  if (most < kHeldUp) return "calls, waiting";
  return most == shares.arithmetic ? "arithmetic" : most == shares.memory ? "memory" : "caches";
}

Status tellBreakdown(const CompiledPass& part, const Machine& machine, double wall, double runs, int threads) {
  const KernelTimes& times = *part.launch->times();
  const TileProgram& program = part.tile;
  const std::vector<KernelWork> work = workOf(program);
  std::vector<Called> called(program.kernels.size());
  for (const Phase& phase : program.phases) nameCalls(program, phase.body, called);
  const auto any = [&](bool KernelWork::* has) {
    return std::any_of(work.begin(), work.end(), [&](const KernelWork& w) { return w.*has; });
  };
  CUBEJIT_TRY(roofs, measureRoofs(part.isa.level, threads, any(&KernelWork::pairs), any(&KernelWork::quads)));
  std::vector<TimeCount> taken(program.kernels.size());
  double inKernels = 0, inPhases = 0;
  for (std::size_t k = 0; k < taken.size(); ++k) {
    const TimeCount time = times.kernel(k);
    TimeCount& of = taken[called[k].insteadOf < 0 ? k : static_cast<std::size_t>(called[k].insteadOf)];
    of.calls += time.calls;
    of.nanoseconds += time.nanoseconds;
    inKernels += time.nanoseconds;
  }
  for (std::size_t p = 0; p < program.phases.size(); ++p) inPhases += times.phase(p).nanoseconds;

  std::int64_t buffers = 0;
  for (const Buffer& buffer : program.buffers) buffers += buffer.use == Buffer::Use::kPrivate ? 0 : buffer.bytes;
  const bool inCache = buffers <= machine.buffers.l1Bytes;  // which is the L2 of a host

  const double all = wall * threads;
  fmt::print("  one of {} reaches {:.1f} GFLOP/s, and reads {:.1f} GB/s from memory\n",
             threads == 1 ? "1 thread" : fmt::format("{} threads", threads), roofs.gflops, roofs.gigabytes);
  fmt::print("  {:>7} {:>8} {:>7} {:>7}  {:<14} {}\n", "time", "GFLOP/s", "of peak", "GB/s", "held up by", "statement");
  std::vector<std::pair<double, std::string>> lines;
  for (std::size_t k = 0; k < program.kernels.size(); ++k) {
    const double ns = taken[k].nanoseconds, calls = static_cast<double>(taken[k].calls) / runs;
    if (taken[k].calls == 0) continue;
    const KernelWork& w = work[k];
    const auto rateOf = [&](std::int64_t each) { return static_cast<double>(each) * runs / ns; };
    const double flops = rateOf(w.flops), bytes = rateOf(w.readBytes + w.writtenBytes);
    const double peak = w.quads ? roofs.quadGflops : w.pairs ? roofs.pairGflops : roofs.gflops;
    const RoofShares shares{flops / peak, inCache ? 0 : rateOf(w.sharedBytes) / roofs.gigabytes,
                            bytes / (kBytesPerFlop * roofs.gflops)};
    lines.emplace_back(
        ns, fmt::format(
                "{:>8.1f} {:>5.0f} % {:>7.1f}  {:<14} {}: k{}, {:.0f} calls a run of {:.1f} ns; reads {}, writes {}",
                flops, 100 * shares.arithmetic, bytes, heldUpBy(shares), called[k].name, k, calls,
                ns / static_cast<double>(taken[k].calls), bytesText(static_cast<double>(w.readBytes)),
                bytesText(static_cast<double>(w.writtenBytes))));
  }
  std::sort(lines.rbegin(), lines.rend());
  for (const auto& [ns, text] : lines) fmt::print("  {:>5.1f} % {}\n", 100 * ns / all, text);
  const auto rest = [&](double ns, const std::string& text) {
    fmt::print("  {:>5.1f} % {:>40} {}\n", 100 * ns / all, "", text);
  };
  rest(inPhases - inKernels, "walking over loops and addresses between them");
  rest(all - inPhases, fmt::format("waiting, of {} threads, and beginning and ending runs", threads));
  return Unit{};
}

}  // namespace cubejit::cli
