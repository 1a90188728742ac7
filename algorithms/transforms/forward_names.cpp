// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what of a program is a name.
#include "algorithms/transforms/forward_names.h"

#include <algorithm>
#include <variant>

#include "algorithms/kit/adjoint.h"
#include "algorithms/kit/lower/data_gradient.h"

namespace cubejit {
namespace {

void rename(std::string& name) { name = inForwardWords(name); }

void renameCalls(std::vector<Node>& nodes) {
  for (Node& node : nodes) {
    rename(node.call.name);
    renameCalls(node.body);
  }
}

}  // namespace

TileProgram inForwardNames(TileProgram program, const Problem& problem) {
  const std::string adjoint = problemLabel(adjointOf(problem), Pass::kDx);
  program.name = problemLabel(problem, Pass::kY) + program.name.substr(std::min(adjoint.size(), program.name.size()));
  for (Buffer& buffer : program.buffers) {
    rename(buffer.name);
  }
  for (Kernel& kernel : program.kernels) {
    std::visit([](auto& k) { rename(k.label.text); }, kernel);
  }
  for (Phase& phase : program.phases) {
    rename(phase.name);
    for (Stream& stream : phase.streams) rename(stream.name);
    for (Axis& axis : phase.axes) rename(axis.name);
    renameCalls(phase.body);
  }
  return program;
}

}  // namespace cubejit
