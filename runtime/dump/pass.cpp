// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides names that are the same in dumps, profilers and debuggers.
#include "runtime/dump/pass.h"

#include <utility>

#include "codegen/tile/overloaded.h"

namespace cubejit {
namespace {

constexpr std::size_t kMostNameOfKernel = 120;  // characters; files and symbols add theirs

std::string nameOf(const lang::Source& kernel) {
  std::string name = kernel.name;
  for (const lang::Parameter& p : kernel.parameters) name += "_" + p.name + p.textOf(p.value);
  return name.size() > kMostNameOfKernel ? kernel.name : name;
}

}  // namespace

Result<ExplainedPass> explain(const PassStages& stages, const BinaryTools* tools) {
  const auto elements =
      std::visit(overloaded{[](const OfConvolution& c) { return elementsOf(c.problem); },
                            [&](const OfKernelText& k) { return elementsOf(k.source, stages.machine.isa); }},
                 stages.origin);
  ExplainedPass out{stages, elements, annotate(*elements, stages.tile, stages.vectors), {}, {}, {}};
  for (std::size_t k = 0; tools != nullptr && k < stages.codes.size(); ++k) {
    CUBEJIT_TRY(code, tools->rawOf(stages.codes[k]));
    CUBEJIT_TRY(instructions, tools->decode(code));
    out.listings.push_back(layOut(code, instructions, notesOf(out.story(k))));
    out.codes.push_back(std::move(code));
    out.instructions.push_back(std::move(instructions));
  }
  return out;
}

std::string settingFlags(const lang::Source& kernel) {
  std::string flags;
  for (const lang::Parameter& p : kernel.parameters)
    flags += (flags.empty() ? "--set " : ",") + p.name + "=" + p.textOf(p.value);
  return flags;
}

std::string dumpName(const PassStages& stages) {
  const auto* const kernel = std::get_if<OfKernelText>(&stages.origin);
  return (kernel == nullptr ? stages.tile.name : nameOf(kernel->source)) + "__" + toString(stages.machine.isa.level);
}

std::string kernelStem(const PassStages& stages, std::size_t kernel) {
  const std::string number = std::to_string(kernel);
  return (number.size() < 2 ? "k0" : "k") + number + "_" + stages.vectors[kernel].name;
}

std::string kernelSymbol(const PassStages& stages, std::size_t kernel) {
  return dumpName(stages) + "__" + kernelStem(stages, kernel);
}

}  // namespace cubejit
