// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the form of a VectorProgram: what the CPU does, in ops on numbered registers. Registers are physical in number (a program
// that needs more than the ISA has is illegal; there is no spilling) but have no ISA names.
// Leaves to vector/legalize the gaps of an ISA and to a Backend the spelling.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cubejit/host_isa.h"

namespace cubejit {

/// Ops come from one table, vector/ops.def; enum, printer, verifier, interpreter and emitters expand from it.
enum class VOp : std::uint8_t {
#define CUBEJIT_VOP(name, text, dst, src1, src2, src3, mem, mask, imm) name,
#include "codegen/vector/ops.def"
#undef CUBEJIT_VOP
};

/// Scalar registers usable by a program: s0 .. s11 (64 bit, addresses and counts).
inline constexpr int kScalarRegs = 12;

/// [s<base> + disp]; bytes.
struct Mem {
  std::int8_t base = -1;
  std::int32_t disp = 0;
  friend bool operator==(const Mem& x, const Mem& y) = default;
};

/// One instruction. Which fields mean something is said by the op's row in ops.def; the others keep their defaults.
struct VInstr {
  VOp op{};
  std::int8_t dst = -1;  ///< register number, of the kind the op says
  std::int8_t src1 = -1, src2 = -1, src3 = -1;
  std::int8_t mask = -1;  ///< opmask register, -1 = all lanes
  Mem mem{};
  std::int64_t imm = 0;
  friend bool operator==(const VInstr& x, const VInstr& y) = default;
};

struct VectorProgram {
  std::string name;
  HostIsa isa;
  std::vector<VInstr> code;                          ///< loops are structured: kLoop ... kEndLoop
  std::vector<std::vector<std::int32_t>> constants;  ///< one per vector constant, isa.lanes() 32-bit words each
  std::vector<std::pair<std::int32_t, std::string>> comments;  ///< (instruction index, text before it), ascending
  friend bool operator==(const VectorProgram& x, const VectorProgram& y) = default;
};

}  // namespace cubejit
