// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what an instruction set level offers, as a value: code for any level can be generated on any machine.
#pragma once

#include <cstdint>

#include "cubejit/dtype.h"

namespace cubejit {

/// Ascending within an architecture: each level has what those before it have.
enum class IsaLevel : std::uint8_t { kAvx2, kAvx512, kAvx512Bf16, kNeon, kSve256 };
constexpr IsaLevel kAllIsaLevels[] = {IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kAvx512Bf16, IsaLevel::kNeon,
                                      IsaLevel::kSve256};
constexpr const char* toString(IsaLevel l) {
  switch (l) {
    case IsaLevel::kAvx2: return "avx2";
    case IsaLevel::kAvx512: return "avx512";
    case IsaLevel::kAvx512Bf16: return "avx512_bf16";
    case IsaLevel::kNeon: return "neon";
    case IsaLevel::kSve256: break;
  }
  return "sve256";
}

enum class Architecture : std::uint8_t { kX86_64, kAarch64 };
constexpr const char* toString(Architecture a) { return a == Architecture::kX86_64 ? "x86-64" : "aarch64"; }
constexpr Architecture architectureOf(IsaLevel l) {
  return l < IsaLevel::kNeon ? Architecture::kX86_64 : Architecture::kAarch64;
}

/// What code is emitted for. AVX2 implies FMA and F16C; AVX-512 implies F, BW, DQ, VL, and BF16 if bf16Dot.
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
constexpr HostIsa avx512Bf16Isa() { return HostIsa{IsaLevel::kAvx512Bf16, 512, 32, 7, true, true, true, true}; }
constexpr HostIsa neonIsa() { return HostIsa{IsaLevel::kNeon, 128, 32, 0, false, false, false, false}; }
constexpr HostIsa sve256Isa() { return HostIsa{IsaLevel::kSve256, 256, 32, 7, true, false, false, true}; }
constexpr HostIsa isaOf(IsaLevel level) {
  switch (level) {
    case IsaLevel::kAvx2: return avx2Isa();
    case IsaLevel::kAvx512: return avx512Isa();
    case IsaLevel::kAvx512Bf16: return avx512Bf16Isa();
    case IsaLevel::kNeon: return neonIsa();
    case IsaLevel::kSve256: break;
  }
  return sve256Isa();
}

}  // namespace cubejit
