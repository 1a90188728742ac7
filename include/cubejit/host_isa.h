// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what an x86-64 instruction set level offers, as a value: code for any level can be generated on any machine.
#pragma once

#include <cstdint>

namespace cubejit {

/// Ascending: each level has what those before it have.
enum class IsaLevel : std::uint8_t { kAvx2, kAvx512, kAvx512Bf16 };
constexpr const char* toString(IsaLevel l) {
  return l == IsaLevel::kAvx2 ? "avx2" : l == IsaLevel::kAvx512 ? "avx512" : "avx512_bf16";
}

/// What code is emitted for. AVX2 implies FMA and F16C; AVX-512 implies F, BW, DQ, VL, and BF16 if bf16Dot.
struct HostIsa {
  IsaLevel level = IsaLevel::kAvx512;
  int vectorBits = 512;
  int vectorRegs = 32;
  int maskRegs = 7;               ///< usable opmask registers (k1..k7); 0 if the ISA has none
  bool maskedMemory = true;       ///< loads, stores and arithmetic take an opmask
  bool embeddedBroadcast = true;  ///< arithmetic takes a broadcast memory operand
  bool bf16Dot = false;           ///< has a dot product of bf16 pairs (AVX512_BF16)
  int lanes() const { return vectorBits / 32; }
  friend bool operator==(const HostIsa& a, const HostIsa& b) {
    return a.level == b.level && a.vectorBits == b.vectorBits && a.vectorRegs == b.vectorRegs &&
           a.maskRegs == b.maskRegs && a.maskedMemory == b.maskedMemory && a.embeddedBroadcast == b.embeddedBroadcast &&
           a.bf16Dot == b.bf16Dot;
  }
};

constexpr HostIsa avx2Isa() { return HostIsa{IsaLevel::kAvx2, 256, 16, 0, false, false, false}; }
constexpr HostIsa avx512Isa() { return HostIsa{IsaLevel::kAvx512, 512, 32, 7, true, true, false}; }
constexpr HostIsa avx512Bf16Isa() { return HostIsa{IsaLevel::kAvx512Bf16, 512, 32, 7, true, true, true}; }
constexpr HostIsa isaOf(IsaLevel level) {
  return level == IsaLevel::kAvx2 ? avx2Isa() : level == IsaLevel::kAvx512 ? avx512Isa() : avx512Bf16Isa();
}

}  // namespace cubejit
