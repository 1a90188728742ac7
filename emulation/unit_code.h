// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the hot unit instructions are lowered: to a few kernels of the first IR (contracts and moves), called from here with
// addresses in the core's memory. Which instruction means what stays with unit_models; what is written here leaves the same bits.
// Leaves making machine code of the kernels to the runtime.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "codegen/tile/program.h"
#include "cubejit/host_isa.h"
#include "emulation/core_memory.h"
#include "emulation/kernel_set.h"
#include "emulation/seen_order.h"
#include "emulation/unit_models.h"

namespace cubejit {

/// The kernels of one operand type. c0 is 16 (16-bit types) or 8.
enum class UnitKernel : std::uint8_t {
  kMmad,    ///< 16 (or `rows`) x 16 sums += f32 fractals of A x f32 fractals of B, along k
  kWidenA,  ///< fractals of A as they are in L0A -> f32, HF32 rounded
  kWidenB,  ///< fractals of B -> f32, k outside: [16 n][c0 k] -> [c0 k][16 n]
  kTurn,    ///< c0 x c0 elements transposed, rows 32 bytes apart
  kRuns,    ///< runs of 32 bytes
  kOutF32,
  kOutF16,
  kOutBf16,  ///< rows of 16 sums -> elements of the result's type
  kTurnF32,
  kTurnF16,
  kTurnBf16,     ///< 16 x 16 sums transposed -> elements of the result's type, rows of 16
  kAdd,          ///< rows of 16 sums added to f32 in memory
  kWidenRuns,    ///< runs of 32 bytes -> f32, HF32 rounded
  kWidenTurned,  ///< c0 x c0 elements, rows 32 bytes apart -> f32, transposed, HF32 rounded
  kFractals,     ///< 512 bytes, 16 runs
  kZeroRuns,     ///< runs of zeros
  kElements,     ///< single elements
  kOutRunF32,
  kOutRunF16,
  kOutRunBf16,  ///< rows of 8 sums -> elements of the result's type
  kOutOneF32,
  kOutOneF16,
  kOutOneBf16,  ///< single sums -> elements of the result's type
  kAddOne,      ///< single sums added to f32 in memory
  kAddRun,      ///< rows of 8 sums added to f32 in memory
  kAddRows,     ///< as kAdd, 16 rows that follow each other in memory
  kAddRunRows,  ///< as kAddRun, 16 rows 64 bytes apart in memory
  kOutRowsF32,
  kOutRowsF16,
  kOutRowsBf16,  ///< as kOutF32, ..., 16 rows that follow each other in memory
  kOutRunRowsF32,
  kOutRunRowsF16,
  kOutRunRowsBf16,  ///< as kOutRunF32, ..., 16 rows that follow each other in memory
  kMmad4,
  kMmad8,
  kMmad12,  ///< as kMmad, the first so many rows; no more than mmadRows
  // Only where UnitCode::dots:
  kMmadDots,     ///< as kMmad, of pairs of neighbours along k
  kPairs,        ///< two runs -> the pairs of their elements
  kPairsTurned,  ///< 16 runs along k -> their pairs, k outside
  kMmadDots4,
  kMmadDots8,
  kMmadDots12
};

/// Rows of C that one call of kMmad holds in registers: all 16 where a vector is 16 lanes, else 4.
inline std::int64_t mmadRows(const HostIsa& isa) { return isa.lanes() >= 16 ? 16 : 4; }

/// Words along k that kMmad adds at once where a fractal is not multiplied as a whole: a pair of bf16 stays together.
inline std::int64_t mmadWords(bool dots) { return dots ? 1 : 2; }

/// Whether there are kernels of pairs: bf16, where the ISA has dot products.
bool multipliesPairs(DType operand, const HostIsa& isa);
/// The kernels in the order of UnitKernel.
std::vector<Kernel> unitKernels(DType operand, const HostIsa& isa);

struct LoadCode;
struct LoadShape;

/// Kernels ready to be called; made by the runtime.
struct UnitCode {
  DType operand = DType::kF16;
  std::int64_t rows = 16;
  bool dots =
      false;  ///< the host multiplies pairs of bf16 at once: see exponent_range.h for when that gives the same bits
  KernelSet kernels;
  /// Loads from memory for operands that lie so, made when they are first asked for; null if they cannot be made. Thread-safe; what
  /// it returns lives as long as `user`.
  const LoadCode* (*loads)(void* user, const LoadShape& shape) = nullptr;
  void* user = nullptr;

  void call(UnitKernel kernel, const KernelArgs& args) const { kernels.call(static_cast<std::size_t>(kernel), args); }
};

/// Operands as the cube sees them: f32, in an order the contract can walk. Host memory that stands for the cube's registers, as large
/// as L0A and L0B can need.
struct CubePanels {
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::unique_ptr<float, Free> a, b, runs;  ///< runs: of one tap, on their way to B
  std::unique_ptr<float, Free> sums;        ///< a column of fractals of L0C, on its way to another order
  std::vector<std::int64_t> segments;       ///< of a call: room for one a fractal
  SeenFractals seen;                        ///< of the image that was forwarded last
  explicit CubePanels(const Buffers& buffers)
      : a(floats(buffers.l0aBytes)),
        b(floats(buffers.l0bBytes)),
        runs(floats(buffers.l0bBytes)),
        sums(floats(buffers.l0cBytes / 2)),
        segments(static_cast<std::size_t>(buffers.l0aBytes / 512 * 3 + 8)) {}
  bool complete() const { return a != nullptr && b != nullptr && runs != nullptr && sums != nullptr; }

 private:
  static float* floats(std::int64_t l0Bytes) {  // 16-bit elements widened, on lines of their own
    return static_cast<float*>(std::aligned_alloc(64, (static_cast<std::size_t>(l0Bytes) * 2 + 63) / 64 * 64 + 64));
  }
};

/// What one Mmad multiplies, in words of 32 bits: f32, or, if `pairs`, two neighbours along k. With k counted in words, A(m, k) =
/// a[k / words * aStepK + m / 16 * aStepM + m % 16 * words + k % words]; B is [n1][k1][words][16 n].
struct CubeOperands {
  const float *a = nullptr, *b = nullptr;
  std::int64_t aStepK = 0, aStepM = 0;
  std::int64_t words = 0;  ///< along k in a fractal
  bool pairs = false;
  std::int64_t rows =
      0;  ///< of A that stand for results; sums of those behind them are seen by nobody and may be anything
  /// Words along k that are multiplied, of whole fractals and mmadWords; behind them both operands are zero, and so is the last product
  /// before: one such turns a sum of -0 into +0, and the others add nothing.
  std::int64_t along = 0;
  const SeenFractals* seen =
      nullptr;  ///< fractals of A that are not seen are zero, may hold anything, and are left out
};

/// The cube reads L0A and L0B: widens and rounds where its type asks for that, or pairs them. Precondition: no pairs without dots.
CubeOperands readOperands(const UnitCode& code, const Mmad& i, const UnitContext& c, bool pairs, CubePanels& panels,
                          CoreMemory& memory);
void multiply(const UnitCode& code, const Mmad& i, const CubeOperands& operands, CubePanels& panels,
              CoreMemory& memory);

void execute(const UnitCode& code, const Mmad& i, const UnitContext& c, CubePanels& panels, CoreMemory& memory);
void execute(const UnitCode& code, const Unfold& i, const UnitContext& c, CoreMemory& memory);
void execute(const UnitCode& code, const LoadFractals& i, const UnitContext& c, CoreMemory& memory);

}  // namespace cubejit
