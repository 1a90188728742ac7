// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a row of ops.def is read: kinds of operands as values, and which registers an instruction reads and writes.
// Leaves what the ops mean to vector/interpret and how they are spelled to the backends.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codegen/vector/program.h"

namespace cubejit {

// The letters are those of ops.def.
enum class OperandKind : std::uint8_t { N, S, V, U, K, T, A };
enum class MemUse : std::uint8_t { N, R, W, P };
enum class MaskUse : std::uint8_t { N, M };
enum class ImmKind : std::uint8_t { N, I, A, C, L };

struct OpRow {
  const char* text;
  OperandKind dst, src1, src2, src3;
  MemUse mem;
  MaskUse mask;
  ImmKind imm;
};

inline constexpr OpRow kOpRows[] = {
#define CUBEJIT_VOP(name, text, dst, src1, src2, src3, mem, mask, imm)                     \
  {text,        OperandKind::dst, OperandKind::src1, OperandKind::src2, OperandKind::src3, \
   MemUse::mem, MaskUse::mask,    ImmKind::imm},
#include "codegen/vector/ops.def"
#undef CUBEJIT_VOP
};
inline constexpr std::size_t kOpCount = sizeof(kOpRows) / sizeof(kOpRows[0]);

/// Ops that write a scalar register. Who has a case for these alone asserts how many it knows, so that a new one is missed at compile time.
inline constexpr std::size_t kScalarOps = [] {
  std::size_t count = 0;
  for (const OpRow& row : kOpRows) count += row.dst == OperandKind::S ? 1 : 0;
  return count;
}();

/// Precondition: op is a member of VOp.
inline const OpRow& rowOf(VOp op) { return kOpRows[static_cast<std::size_t>(op)]; }

inline bool isVector(OperandKind kind) { return kind == OperandKind::V || kind == OperandKind::U; }

inline bool isTile(OperandKind kind) { return kind == OperandKind::T || kind == OperandKind::A; }

/// True if the old value of dst matters: accumulators, loop counters, moves that merge under a mask.
inline bool readsDst(const VInstr& i) {
  const OperandKind dst = rowOf(i.op).dst;
  return dst == OperandKind::U || dst == OperandKind::A || i.op == VOp::kLoop || (i.op == VOp::kMove && i.mask > 0);
}

/// Vector registers as a bit set: no ISA has more than 32.
using VectorSet = std::uint32_t;
inline VectorSet vectorBit(int reg) { return VectorSet{1} << reg; }

inline VectorSet vectorsRead(const VInstr& i) {
  const OpRow& row = rowOf(i.op);
  VectorSet set = 0;
  if (isVector(row.src1)) set |= vectorBit(i.src1);
  if (isVector(row.src2)) set |= vectorBit(i.src2);
  if (isVector(row.src3)) set |= vectorBit(i.src3);
  if (isVector(row.dst) && readsDst(i)) set |= vectorBit(i.dst);
  return set;
}

inline VectorSet vectorsWritten(const VInstr& i) { return isVector(rowOf(i.op).dst) ? vectorBit(i.dst) : 0; }

/// Lane range of a kMaskRange.
inline int maskLo(std::int64_t imm) { return static_cast<int>(imm & 255); }
inline int maskHi(std::int64_t imm) { return static_cast<int>(imm >> 8); }

}  // namespace cubejit
