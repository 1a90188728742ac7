// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the hot unit instructions are lowered: to a few kernels of the first IR (contracts and moves), called from here with
// addresses in the core's memory. Which instruction means what stays with unit_models; what is written here leaves the same bits.
// Leaves making machine code of the kernels to the runtime.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "codegen/abi.h"
#include "codegen/tile/program.h"
#include "cubejit/host_isa.h"
#include "emulation/core_memory.h"
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
  kTurnBf16,    ///< 16 x 16 sums transposed -> elements of the result's type, rows of 16
  kAdd,         ///< rows of c0 sums added to f32 in memory
  kWidenRuns,   ///< runs of 32 bytes -> f32, HF32 rounded
  kWidenTurned  ///< c0 x c0 elements, rows 32 bytes apart -> f32, transposed, HF32 rounded
};
inline constexpr std::size_t kUnitKernels = 14;

/// Rows of C that one call of kMmad holds in registers: all 16 where a vector is 16 lanes, else 4.
inline std::int64_t mmadRows(const HostIsa& isa) { return isa.lanes() >= 16 ? 16 : 4; }

/// The kernels in the order of UnitKernel.
std::vector<Kernel> unitKernels(DType operand, const HostIsa& isa);

/// Kernels ready to be called; made by the runtime.
struct UnitCode {
  DType operand = DType::kF16;
  std::int64_t rows = 16;
  std::array<KernelFunction, kUnitKernels> functions{};
  /// Called where a function is null.
  void (*interpret)(const void* user, int kernel, const KernelArgs& args) = nullptr;
  const void* user = nullptr;

  void call(UnitKernel kernel, const KernelArgs& args) const {
    const auto at = static_cast<std::size_t>(kernel);
    if (functions[at] != nullptr)
      functions[at](&args);
    else
      interpret(user, static_cast<int>(at), args);
  }
};

/// Operands as the cube sees them: f32, in the order the contract walks. Host memory that stands for the cube's registers, as large
/// as L0A and L0B can need.
struct CubePanels {
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::unique_ptr<float, Free> a, b;
  explicit CubePanels(const Buffers& buffers) : a(floats(buffers.l0aBytes)), b(floats(buffers.l0bBytes)) {}
  bool complete() const { return a != nullptr && b != nullptr; }

 private:
  static float* floats(std::int64_t l0Bytes) {  // 16-bit elements widened, on lines of their own
    return static_cast<float*>(std::aligned_alloc(64, (static_cast<std::size_t>(l0Bytes) * 2 + 63) / 64 * 64 + 64));
  }
};

/// The cube's contract on panels: a is [m1][k1][16 m][c0 k], b is [n1][k1][c0 k][16 n].
void multiplyPanels(const UnitCode& code, const Mmad& i, const UnitContext& c, const float* a, const float* b,
                    CoreMemory& memory);

void execute(const UnitCode& code, const Mmad& i, const UnitContext& c, CubePanels& panels, CoreMemory& memory);
void execute(const UnitCode& code, const Unfold& i, const UnitContext& c, CoreMemory& memory);
void execute(const UnitCode& code, const LoadFractals& i, const UnitContext& c, CoreMemory& memory);

}  // namespace cubejit
