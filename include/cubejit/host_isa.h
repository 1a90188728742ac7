// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what an x86-64 instruction set level offers, as a value: code for any level can be generated on any machine.
#pragma once

#include <cstdint>

namespace cubejit {

enum class IsaLevel : std::uint8_t { kAvx2, kAvx512 };
constexpr const char* toString(IsaLevel l) { return l == IsaLevel::kAvx2 ? "avx2" : "avx512"; }

/// What code is emitted for. AVX2 implies FMA; AVX-512 implies F, BW, DQ, VL.
struct HostIsa {
  IsaLevel level = IsaLevel::kAvx512;
  int vectorBits = 512;
  int vectorRegs = 32;
  int maskRegs = 7;               ///< usable opmask registers (k1..k7); 0 if the ISA has none
  bool maskedMemory = true;       ///< loads, stores and arithmetic take an opmask
  bool embeddedBroadcast = true;  ///< arithmetic takes a broadcast memory operand
  int lanes() const { return vectorBits / 32; }
  friend bool operator==(const HostIsa& a, const HostIsa& b) {
    return a.level == b.level && a.vectorBits == b.vectorBits && a.vectorRegs == b.vectorRegs &&
           a.maskRegs == b.maskRegs && a.maskedMemory == b.maskedMemory && a.embeddedBroadcast == b.embeddedBroadcast;
  }
};

constexpr HostIsa avx2Isa() { return HostIsa{IsaLevel::kAvx2, 256, 16, 0, false, false}; }
constexpr HostIsa avx512Isa() { return HostIsa{IsaLevel::kAvx512, 512, 32, 7, true, true}; }
constexpr HostIsa isaOf(IsaLevel level) { return level == IsaLevel::kAvx2 ? avx2Isa() : avx512Isa(); }

}  // namespace cubejit
