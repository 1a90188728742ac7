// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what an instruction set level offers, as a value: code for any level can be generated on any machine.
#pragma once

#include <cstdint>

#include "cubejit/dtype.h"
#include "cubejit/matrix_unit.h"

namespace cubejit {

/// Levels are in order within an architecture: each has all that those before it have. kAvx512Amx adds AMX-TILE and AMX-BF16 to AVX512-BF16.
enum class IsaLevel : std::uint8_t { kAvx2, kAvx512, kAvx512Bf16, kAvx512Amx, kAvx512AmxFp16, kNeon, kSve256 };
constexpr IsaLevel kAllIsaLevels[] = {IsaLevel::kAvx2,      IsaLevel::kAvx512,        IsaLevel::kAvx512Bf16,
                                      IsaLevel::kAvx512Amx, IsaLevel::kAvx512AmxFp16, IsaLevel::kNeon,
                                      IsaLevel::kSve256};
constexpr const char* toString(IsaLevel l) {
  switch (l) {
    case IsaLevel::kAvx2: return "avx2";
    case IsaLevel::kAvx512: return "avx512";
    case IsaLevel::kAvx512Bf16: return "avx512_bf16";
    case IsaLevel::kAvx512Amx: return "avx512_amx";
    case IsaLevel::kAvx512AmxFp16: return "avx512_amx_fp16";
    case IsaLevel::kNeon: return "neon";
    case IsaLevel::kSve256: break;
  }
  return "sve256";
}

enum class Architecture : std::uint8_t { kX86_64, kAarch64 };
constexpr const char* toString(Architecture a) { return a == Architecture::kX86_64 ? "x86-64" : "aarch64"; }
constexpr Architecture architectureOf(IsaLevel l) {
  return l == IsaLevel::kNeon || l == IsaLevel::kSve256 ? Architecture::kAarch64 : Architecture::kX86_64;
}

/// What code is emitted for. AVX2 implies FMA and F16C; AVX-512 implies F, BW, DQ, VL, and BF16 and VNNI if bf16Dot.
/// SVE is used with vectors of exactly vectorBits.
struct HostIsa {
  IsaLevel level = IsaLevel::kAvx512;
  int vectorBits = 512;
  int vectorRegs = 32;
  int maskRegs = 7;               ///< usable opmask registers (k1..k7); 0 if the ISA has none
  bool maskedMemory = true;       ///< loads, stores and arithmetic take an opmask
  bool embeddedBroadcast = true;  ///< arithmetic takes a broadcast memory operand
  bool bf16Dot = false;           ///< has a dot product of bf16 pairs (AVX512_BF16)
  bool permuteTwo = true;         ///< permutes the lanes of two vectors by one index vector
  int lanes() const { return vectorBits / 32; }
  /// Has a dot product of four unsigned bytes and four signed ones (AVX512_VNNI): every CPU with AVX512_BF16 does.
  constexpr bool byteDot() const { return bf16Dot; }
  /// Multiplies f32 by powers of two in one instruction (AVX-512 F's VSCALEFPS).
  constexpr bool scales() const { return vectorBits == 512; }
  /// Null: it multiplies with vectors alone.
  constexpr const MatrixUnit* matrixUnit() const {
    if (level == IsaLevel::kAvx512Amx) return &kAmxBf16;
    return level == IsaLevel::kAvx512AmxFp16 ? &kAmxFp16 : nullptr;
  }
  /// What the matrix unit multiplies operands of the type by; null if nothing does.
  constexpr const MatrixProduct* matrixProduct(DType type) const {
    return matrixUnit() == nullptr ? nullptr : matrixUnit()->product(type);
  }
  friend bool operator==(const HostIsa& a, const HostIsa& b) {
    return a.level == b.level && a.vectorBits == b.vectorBits && a.vectorRegs == b.vectorRegs &&
           a.maskRegs == b.maskRegs && a.maskedMemory == b.maskedMemory && a.embeddedBroadcast == b.embeddedBroadcast &&
           a.bf16Dot == b.bf16Dot && a.permuteTwo == b.permuteTwo;
  }
};

/// Whether rounding a result to this type takes integer operations, and three registers: there is no instruction for it.
inline bool roundsByIntegers(DType type, const HostIsa& isa) { return type == DType::kBf16 && !isa.bf16Dot; }

constexpr HostIsa avx2Isa() { return HostIsa{IsaLevel::kAvx2, 256, 16, 0, false, false, false, false}; }
constexpr HostIsa avx512Isa() { return HostIsa{IsaLevel::kAvx512, 512, 32, 7, true, true, false, true}; }
constexpr HostIsa avx512Bf16Isa(IsaLevel level = IsaLevel::kAvx512Bf16) {
  return HostIsa{level, 512, 32, 7, true, true, true, true};
}
constexpr HostIsa neonIsa() { return HostIsa{IsaLevel::kNeon, 128, 32, 0, false, false, false, false}; }
constexpr HostIsa sve256Isa() { return HostIsa{IsaLevel::kSve256, 256, 32, 7, true, false, false, true}; }
constexpr HostIsa isaOf(IsaLevel level) {
  switch (level) {
    case IsaLevel::kAvx2: return avx2Isa();
    case IsaLevel::kAvx512: return avx512Isa();
    case IsaLevel::kAvx512Bf16:
    case IsaLevel::kAvx512Amx:
    case IsaLevel::kAvx512AmxFp16: return avx512Bf16Isa(level);
    case IsaLevel::kNeon: return neonIsa();
    case IsaLevel::kSve256: break;
  }
  return sve256Isa();
}

}  // namespace cubejit
