// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the peak is measured: a generated loop of independent FMAs, dot products or products of tiles in registers, on bound threads that start together.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string>
#include <vector>

#include "codegen/units/assembler.h"
#include "cubejit/cubejit.hpp"
#include "runtime/host/run_together.h"
#include "runtime/host/threads.h"
#include "runtime/loader/backends.h"
#include "tiling/no_throw.h"

namespace cubejit {
namespace {

// `repeat` iterations from registers, and what each computes.
struct PeakLoop {
  VectorProgram program;
  double flops = 0;  ///< of an iteration
};

constexpr int kProductsPerIteration = 48;

// FMAs, or dot products of bf16 pairs, on independent accumulators: more than latency times throughput, which is 12 for Zen 5's dot products
// (twelve accumulators reached 93 per cent of what 24 do).
PeakLoop vectorLoop(const HostIsa& isa, bool dots) {
  VectorAssembler a("fma_peak", isa);
  constexpr int kCounter = 0;
  const int accumulators = isa.vectorRegs >= 32 ? 24 : 12;
  for (int r = 0; r < accumulators + 2; ++r) a.zero(r);
  a.arg(kCounter, ArgSlot::kRepeat);
  a.loop(kCounter);
  for (int i = 0; i < kProductsPerIteration; ++i) {
    if (dots)
      a.dot(i % accumulators, accumulators, accumulators + 1);
    else
      a.fma(i % accumulators, accumulators, accumulators + 1);
  }
  a.endLoop();
  return {a.take(), kProductsPerIteration * (dots ? 4.0 : 2.0) * isa.lanes()};
}

// Products of whole tiles: four sums of two tiles of rows and two of columns, as kernels have them.
PeakLoop tileLoop(const HostIsa& isa, const MatrixProduct& product) {
  VectorAssembler a("tile_peak", isa);
  constexpr int kCounter = 0, kRows = 4, kColumns = 6;
  const Mkn& shape = product.shape;
  TileConfig config;
  for (TileShape& tile : config.tiles) tile = {static_cast<int>(shape.m), static_cast<int>(4 * shape.n)};
  a.arg(kCounter, ArgSlot::kRepeat);
  a.tileConfigure(config);
  for (int t = 0; t < kTileRegs; ++t) a.tileZero(t);
  a.loop(kCounter);
  const VOp op = product.operand == DType::kF16 ? VOp::kTileDotF16 : VOp::kTileDotBf16;
  for (int i = 0; i < kProductsPerIteration; ++i) a.tileDot(op, i % 4, kRows + i / 2 % 2, kColumns + i % 2);
  a.endLoop();
  a.tileRelease();
  return {a.take(), kProductsPerIteration * 2.0 * static_cast<double>(shape.m * shape.k * shape.n)};
}

void bindTo(int index) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) == 0) return;
  int wanted = index % CPU_COUNT(&set);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set) || wanted-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
    return;
  }
}

Result<double> rateOf(const PeakLoop& loop, int threads, int milliseconds) {
  CUBEJIT_TRY(backend, codeBackend(Options{}));
  CUBEJIT_TRY(code, backend.emit(loop.program));
  CUBEJIT_TRY(loaded, backend.load({code}));
  using Clock = std::chrono::steady_clock;
  std::vector<double> best(static_cast<std::size_t>(threads), 0.0);
  const auto warm = [&](int index) {
    bindTo(index);
    KernelArgs args;
    args.repeat = 20000;  // about a quarter of a millisecond
    loaded.entry(0)(&args);
    return args;
  };
  const auto measure = [&](int index, KernelArgs args) {
    const double flops = static_cast<double>(args.repeat) * loop.flops;
    const auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
    while (Clock::now() < end) {
      const auto start = Clock::now();
      loaded.entry(0)(&args);
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      best[static_cast<std::size_t>(index)] = std::max(best[static_cast<std::size_t>(index)], flops / seconds * 1e-9);
    }
  };
  runTogether(threads, warm, measure);
  return std::accumulate(best.begin(), best.end(), 0.0);
}

Result<double> measurePeak(IsaLevel level, int threads, int milliseconds, DType type) {
  CUBEJIT_RETURN_IF_ERROR(checkRunnable(level));
  if (threads < 1 || threads > kMostThreads) {
    return invalidInput("threads = " + std::to_string(threads) + " must be from 1 to " + std::to_string(kMostThreads),
                        Stage::kRun);
  }
  const HostIsa isa = isaOf(level);
  if (const MatrixProduct* product = isa.matrixProduct(type); product != nullptr)
    return rateOf(tileLoop(isa, *product), threads, milliseconds);
  if (type != DType::kBf16 || !isa.bf16Dot) return rateOf(vectorLoop(isa, false), threads, milliseconds);
  // Which of the two multiplies bf16 faster depends on the core.
  CUBEJIT_TRY(fmas, rateOf(vectorLoop(isa, false), threads, (milliseconds + 1) / 2));
  CUBEJIT_TRY(dots, rateOf(vectorLoop(isa, true), threads, (milliseconds + 1) / 2));
  return std::max(fmas, dots);
}

}  // namespace

Result<double> measurePeakGflops(IsaLevel level, int threads, int milliseconds, DType type) {
  return withoutThrowing(Stage::kRun, [&] { return measurePeak(level, threads, milliseconds, type); });
}

}  // namespace cubejit
