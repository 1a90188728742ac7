// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whether the VectorProgram costs speed: a hand-written f32 tile of 6 rows x 4 vectors, AVX-512, its panels in L1,
// against a loop of independent FMAs in the same run. Prints both and their ratio; exits with 1 below 0.97.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "codegen/backend.h"
#include "tests/support/run_code.h"

using namespace cubejit;

namespace {

constexpr int kRows = 6, kVectors = 4, kUnroll = 4, kSteps = 64, kLanes = 16;  // A 1.5 KiB, B 16 KiB: L1 holds both
constexpr int kAccs = kRows * kVectors, kTemp = kAccs + kVectors;  // v24 .. v27 hold B, v28 .. v31 the broadcasts

std::int8_t reg(int r) { return static_cast<std::int8_t>(r); }

// C[m][n] += A[k][m] * B[k][n] over kSteps, `repeat` times, the accumulators staying in registers.
VectorProgram tile() {
  VectorProgram p;
  p.name = "tile_6x4";
  p.isa = avx512Isa();
  auto& c = p.code;
  c.push_back({.op = VOp::kArg, .dst = 2, .imm = 2});
  c.push_back({.op = VOp::kArg, .dst = 3, .imm = 4});
  for (int i = 0; i < kAccs; ++i) c.push_back({.op = VOp::kZero, .dst = reg(i)});
  c.push_back({.op = VOp::kLoop, .dst = 3});
  c.push_back({.op = VOp::kArg, .dst = 0, .imm = 0});
  c.push_back({.op = VOp::kArg, .dst = 1, .imm = 1});
  c.push_back({.op = VOp::kSet, .dst = 4, .imm = kSteps / kUnroll});
  c.push_back({.op = VOp::kLoop, .dst = 4});
  int temp = 0;
  for (int k = 0; k < kUnroll; ++k) {
    for (int n = 0; n < kVectors; ++n)
      c.push_back({.op = VOp::kLoad, .dst = reg(kAccs + n), .mem = {1, (k * kVectors + n) * kLanes * 4}});
    for (int m = 0; m < kRows; ++m, temp = (temp + 1) % 4) {
      c.push_back({.op = VOp::kBroadcast, .dst = reg(kTemp + temp), .mem = {0, (k * kRows + m) * 4}});
      for (int n = 0; n < kVectors; ++n)
        c.push_back({.op = VOp::kFma, .dst = reg(m * kVectors + n), .src1 = reg(kTemp + temp), .src2 = reg(kAccs + n)});
    }
  }
  c.push_back({.op = VOp::kAddImm, .dst = 0, .src1 = 0, .imm = kUnroll * kRows * 4});
  c.push_back({.op = VOp::kAddImm, .dst = 1, .src1 = 1, .imm = kUnroll * kVectors * kLanes * 4});
  c.push_back({.op = VOp::kEndLoop});
  c.push_back({.op = VOp::kEndLoop});
  for (int i = 0; i < kAccs; ++i) c.push_back({.op = VOp::kStore, .src1 = reg(i), .mem = {2, i * kLanes * 4}});
  return p;
}

// The same number of FMAs with nothing else: the peak.
VectorProgram peak() {
  VectorProgram p;
  p.name = "peak";
  p.isa = avx512Isa();
  for (int i = 0; i < kTemp; ++i) p.code.push_back({.op = VOp::kZero, .dst = reg(i)});
  p.code.push_back({.op = VOp::kArg, .dst = 3, .imm = 4});
  p.code.push_back({.op = VOp::kLoop, .dst = 3});
  p.code.push_back({.op = VOp::kSet, .dst = 4, .imm = kSteps / kUnroll});
  p.code.push_back({.op = VOp::kLoop, .dst = 4});
  for (int k = 0; k < kUnroll; ++k) {
    for (int i = 0; i < kAccs; ++i)
      p.code.push_back({.op = VOp::kFma, .dst = reg(i), .src1 = reg(kAccs), .src2 = reg(kAccs + 1)});
  }
  p.code.push_back({.op = VOp::kEndLoop});
  p.code.push_back({.op = VOp::kEndLoop});
  return p;
}

}  // namespace

int main() {
  if (!hostRuns(IsaLevel::kAvx512)) {
    std::printf("skipped: this machine has no avx512\n");
    return 0;
  }
  const auto tileCode = emitXbyak(tile()), peakCode = emitXbyak(peak());
  if (!tileCode.ok() || !peakCode.ok()) {
    std::fprintf(stderr, "%s\n", (tileCode.ok() ? peakCode.error() : tileCode.error()).message.c_str());
    return 1;
  }
  const std::vector<float> panels(kSteps * kVectors * kLanes * 2, 0.5f);
  std::vector<float> c(kAccs * kLanes);
  KernelArgs args;
  const auto address = (reinterpret_cast<std::uintptr_t>(panels.data()) + 63) & ~std::uintptr_t{63};
  args.b = reinterpret_cast<const void*>(address);
  args.a = reinterpret_cast<const char*>(args.b) + kSteps * kVectors * kLanes * 4;
  args.c = c.data();
  args.repeat = 20000;
  const auto seconds = [&](const Code& code) {
    const auto start = std::chrono::steady_clock::now();
    runCode(code, args);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  // Interleaved, best of many: neighbours on the machine only ever slow a sample down.
  double tileBest = 1e9, peakBest = 1e9;
  for (int sample = 0; sample < 30; ++sample) {
    peakBest = std::min(peakBest, seconds(*peakCode));
    tileBest = std::min(tileBest, seconds(*tileCode));
  }
  const double flops = 2.0 * kAccs * kLanes * kSteps * static_cast<double>(args.repeat);
  const double ratio = peakBest / tileBest;
  std::printf("peak %.1f GFLOP/s, tile 6x4 %.1f GFLOP/s, ratio %.3f\n", flops / peakBest / 1e9, flops / tileBest / 1e9,
              ratio);
  return ratio >= 0.97 ? 0 : 1;
}
