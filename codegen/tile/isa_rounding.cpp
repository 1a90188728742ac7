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
    std::visit(overloaded{[](Contract& k) { flush(k.result); },
                          [](OneOf<Copy, Transpose, Map> auto& k) {
                            if (k.from != k.to) flush(k.to);
                          },
                          [](OneOf<TileProduct, Fill, Accumulate, LaneReduce> auto&) {}},
               kernel);
  }
}

}  // namespace cubejit
