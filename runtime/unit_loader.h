// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the kernels of emulated units become callable: the same arrows as a TileProgram's kernels, by the backend asked for.
#pragma once

#include <memory>
#include <vector>

#include "codegen/vector/program.h"
#include "cubejit/options.h"
#include "emulation/unit_code.h"
#include "runtime/loaded_code.h"

namespace cubejit {

/// Kernels of one operand type; `code` refers to the rest. Not to be moved.
struct LoadedUnits {
  UnitCode code;
  std::vector<Kernel> kernels;
  std::vector<VectorProgram> vectors;  ///< legal for the ISA
  LoadedCode loaded;
};

/// Errors: those of the stages, and a missing LLVM component.
Result<std::unique_ptr<LoadedUnits>> loadUnits(DType operand, const Options& options);

}  // namespace cubejit
