// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how many vector registers a microkernel takes and how many an ISA has for it: what plans are checked by, and what the code
// generator goes by. Leaves which register holds what to the generator.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cubejit/host_isa.h"

namespace cubejit {

/// What a microkernel keeps in vector registers while it adds products of its operands A and B to its accumulators.
struct MicrokernelRegisters {
  std::int64_t accumulators = 0;  ///< vectors of sums
  std::int64_t vectorsB =
      0;                   ///< most vectors of B that a step multiplies; what has no register is read where it is used
  bool masks = false;      ///< loads, products or sums of fewer lanes than a vector has
  bool vectorsA = false;   ///< A's operands are vectors and not broadcasts
  bool permutesA = false;  ///< and their lanes are permuted
  bool permutesTwo = false;  ///< of two vectors at once
  bool pairsB = false;       ///< VNNI pairs are formed as B is loaded
  bool singles = false;      ///< some pairs lack their second member
  bool rounds = false;       ///< sums are rounded by integer instructions as they are stored
};

/// Accumulators, and what the operands take beside them at least. Either all vectors of B are in registers, or two or three registers
/// serve one product after another.
constexpr std::int64_t registersNeeded(const MicrokernelRegisters& k) {
  const std::int64_t temporaries = (k.vectorsA || k.permutesA || k.pairsB ? 1 : 0) + (k.permutesA ? 2 : 0),
                     held = k.singles ? std::max<std::int64_t>(temporaries, 2) : temporaries,
                     oneByOne = k.permutesA || k.singles || k.pairsB ? 3 : 2;
  return k.accumulators + std::max<std::int64_t>(std::min(k.vectorsB + held, oneByOne), k.rounds ? 3 : 0);
}

/// Vector registers of the ISA; without opmasks some are left for masks, broadcasts and permutes of two vectors that instructions lack.
constexpr std::int64_t registersThere(const MicrokernelRegisters& k, const HostIsa& isa) {
  return isa.vectorRegs - (isa.maskRegs > 0 ? 0 : k.masks ? 3 : k.permutesTwo ? 2 : 1);
}

constexpr bool fitsRegisters(const MicrokernelRegisters& k, const HostIsa& isa) {
  return registersNeeded(k) <= registersThere(k, isa);
}

}  // namespace cubejit
