// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the C header of a pass generated ahead of time: kernels and tables as declarations, the phases as plain C loops.
// A C or C++ program includes it, links the object beside it, and needs nothing of this library.
#pragma once

#include <string>
#include <vector>

#include "codegen/tile/program.h"
#include "cubejit/host_isa.h"

namespace cubejit {

/// How C sees an input or output.
struct CTensor {
  const char* type = "float";  ///< of an element
  std::string about;           ///< what it is, for the comment at the top
};

struct CHeaderInput {
  const TileProgram& program;
  std::vector<CTensor> tensors;  ///< of the program's inputs and outputs, in order
  HostIsa isa;
  std::string prefix;              ///< of every name, see aotPrefix
  std::string version;             ///< of the generator
  std::vector<std::string> about;  ///< lines for the comment at the top: how the header was made
  bool objectPerKernel = false;    ///< each kernel is in an object of its own, beside that of the tables
};

std::string cHeader(const CHeaderInput& input);

}  // namespace cubejit
