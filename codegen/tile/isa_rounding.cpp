// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "codegen/tile/isa_rounding.h"

namespace cubejit {
namespace {

void flush(Element& written) {
  if (written == Element::kBf16) written = Element::kBf16Flushed;
}

}  // namespace

void useIsaRounding(TileProgram& program, const HostIsa& isa) {
  if (!isa.bf16Dot) return;
  for (Kernel& kernel : program.kernels) {
    if (auto* contract = std::get_if<Contract>(&kernel)) flush(contract->result);
    if (auto* move = std::get_if<Move>(&kernel); move != nullptr && move->from != move->to) flush(move->to);
  }
}

}  // namespace cubejit
