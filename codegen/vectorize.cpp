// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which unit lowers which tile instruction.
#include "codegen/vectorize.h"

#include <algorithm>

#include "codegen/units/contract.h"
#include "codegen/units/move.h"

namespace cubejit {

Result<VectorProgram> vectorize(const Kernel& kernel, const HostIsa& isa) {
  if (const auto* contract = std::get_if<Contract>(&kernel)) return vectorizeContract(*contract, isa);
  return vectorizeMove(std::get<Move>(kernel), isa);
}

int vectorRegistersNeeded(const Contract& contract, const HostIsa& isa) {
  std::size_t widest = 0;
  bool permutes = false;
  for (const Section& section : contract.sections) {
    for (const Step& step : section.steps) {
      widest = std::max(widest, step.b.size());
      permutes = permutes || std::any_of(step.a.begin(), step.a.end(), [](const AOperand& a) { return a.kind != AKind::kBroadcast && a.kind != AKind::kVector; });
    }
  }
  return static_cast<int>(std::min<std::size_t>(widest, static_cast<std::size_t>(isa.vectorRegs))) + (permutes ? 3 : 1);
}

}  // namespace cubejit
