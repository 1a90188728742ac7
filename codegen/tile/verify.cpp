// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order of the rules: structure means nothing before numbers are small enough to add, addresses nothing before the structure is sound,
// tasks nothing before addresses are.
#include "codegen/tile/verify.h"

#include "codegen/tile/rules.h"

namespace cubejit {

Status verify(const TileProgram& program) {
  std::vector<std::string> broken = magnitudeRules(program);
  if (broken.empty()) broken = structureRules(program);
  if (broken.empty()) broken = addressRules(program);
  if (broken.empty()) broken = taskRules(program);
  if (broken.empty()) return Unit{};
  std::string message = "tile program " + program.name + " is not sound";
  for (const std::string& rule : broken) message += "\n" + rule;
  return Error{ErrorCode::kInternal, Stage::kTile, message};
}

}  // namespace cubejit
