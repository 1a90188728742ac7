// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order and the spelling of operands, for who writes them and who reads them.
#pragma once

#include <tuple>

#include "codegen/vector/op_table.h"
#include "cubejit/kernel_args.h"

namespace cubejit {

inline constexpr int kVectorTextVersion = 1;

inline constexpr const char* kArgNames[] = {"a",        "b",        "c",          "list", "repeat",   "a_repeat",
                                            "b_repeat", "c_repeat", "accumulate", "d",    "residual", "d_repeat"};
static_assert(sizeof(kArgNames) / sizeof(kArgNames[0]) == kArgSlots);

constexpr char registerLetter(OperandKind kind) {
  return kind == OperandKind::S ? 's' : kind == OperandKind::K ? 'k' : isTile(kind) ? 't' : 'v';
}

/// Hands the operands of an instruction to memory(), reg() and immediate() in the order they are written, a mask behind what it masks to mask().
template <class Instruction, class Visitor>
void visitOperands(Instruction& i, Visitor&& visit) {
  const OpRow& row = rowOf(i.op);
  if (row.mem == MemUse::W || row.mem == MemUse::P) {
    visit.memory(i.mem);
    visit.mask(i.mask);
  }
  if (row.dst != OperandKind::N) {
    visit.reg(row.dst, i.dst);
    visit.mask(i.mask);
  }
  if (row.src1 != OperandKind::N) visit.reg(row.src1, i.src1);
  if (row.src2 != OperandKind::N) visit.reg(row.src2, i.src2);
  if (row.src3 != OperandKind::N) visit.reg(row.src3, i.src3);
  if (row.mem == MemUse::R) visit.memory(i.mem);
  if (row.imm != ImmKind::N) visit.immediate(row.imm, i.imm);
}

/// What a header says of an ISA that is not as its level's is by default: a word, and the field.
inline constexpr auto kIsaFields = std::make_tuple(
    std::make_pair("bits", &HostIsa::vectorBits), std::make_pair("registers", &HostIsa::vectorRegs),
    std::make_pair("masks", &HostIsa::maskRegs), std::make_pair("masked_memory", &HostIsa::maskedMemory),
    std::make_pair("embedded_broadcast", &HostIsa::embeddedBroadcast), std::make_pair("bf16_dot", &HostIsa::bf16Dot),
    std::make_pair("permute_two", &HostIsa::permuteTwo));

}  // namespace cubejit
