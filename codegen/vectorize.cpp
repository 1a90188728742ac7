// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which unit lowers which tile instruction.
#include "codegen/vectorize.h"

#include <algorithm>
#include <string>
#include <vector>

#include "codegen/tile/rules.h"
#include "codegen/units/units.h"

namespace cubejit {

Result<VectorProgram> vectorize(const Kernel& kernel, const HostIsa& isa) {
  std::vector<std::string> broken = kernelRules(kernel);
  const int lanes = lanesOf(kernel);
  if (lanes != isa.lanes())
    broken.push_back("vectors of " + std::to_string(lanes) + " lanes; " + toString(isa.level) + " has " +
                     std::to_string(isa.lanes()));
  if (!broken.empty()) {
    std::string message = "a tile instruction means nothing";
    for (const std::string& rule : broken) message += "\n" + rule;
    return Error{ErrorCode::kInternal, Stage::kVector, message};
  }
  const auto isDot = [](const ExpressionStep& step) { return step.op == ExpressionOp::kDot; };
  if (const Expression* f = expressionOf(kernel); f != nullptr && !isa.bf16Dot && std::ranges::any_of(f->steps, isDot))
    return Error{ErrorCode::kUnsupported, Stage::kVector,
                 labelOf(kernel) + ": " + toString(isa.level) + " has no dot product of bf16"};
  return std::visit([&](const auto& k) { return unitCode(k, isa); }, kernel);
}

}  // namespace cubejit
