// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides names that are the same in dumps, profilers and debuggers.
#include "runtime/dump/pass.h"

#include <utility>

namespace cubejit {

Result<ExplainedPass> explain(const PassStages& stages, const BinaryTools* tools) {
  ExplainedPass out{stages, annotate(stages.problem, stages.tile, stages.vectors), {}, {}, {}};
  for (std::size_t k = 0; tools != nullptr && k < stages.codes.size(); ++k) {
    CUBEJIT_TRY(code, tools->rawOf(stages.codes[k]));
    CUBEJIT_TRY(instructions, tools->decode(code));
    out.listings.push_back(layOut(code, instructions, notesOf(out.story(k))));
    out.codes.push_back(std::move(code));
    out.instructions.push_back(std::move(instructions));
  }
  return out;
}

std::string dumpName(const PassStages& stages) { return stages.tile.name + "__" + toString(stages.machine.isa.level); }

std::string kernelStem(const PassStages& stages, std::size_t kernel) {
  const std::string number = std::to_string(kernel);
  return (number.size() < 2 ? "k0" : "k") + number + "_" + stages.vectors[kernel].name;
}

std::string kernelSymbol(const PassStages& stages, std::size_t kernel) {
  return dumpName(stages) + "__" + kernelStem(stages, kernel);
}

}  // namespace cubejit
