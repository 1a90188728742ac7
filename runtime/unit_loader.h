// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the kernels of emulated units become callable: the same arrows as a TileProgram's kernels, by the backend asked for.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "codegen/vector/program.h"
#include "cubejit/options.h"
#include "emulation/load_code.h"
#include "emulation/unit_code.h"
#include "runtime/loaded_code.h"

namespace cubejit {

/// Kernels and what executes them; `callable` refers to the rest. Not to be moved.
struct LoadedKernels {
  KernelSet callable;
  std::vector<Kernel> kernels;
  std::vector<VectorProgram> vectors;  ///< legal for the ISA
  LoadedCode loaded;
};

/// Kernels of one operand type; `code` refers to the rest. Not to be moved.
struct LoadedUnits {
  UnitCode code;
  LoadedKernels units;
  Options options;
  std::mutex mutex;
  struct Loads {
    LoadCode code;
    LoadedKernels kernels;
  };
  std::list<Loads> loads;  ///< made so far, one a shape
};

/// Errors: those of the stages, and a missing LLVM component.
Result<std::unique_ptr<LoadedUnits>> loadUnits(DType operand, const Options& options);

}  // namespace cubejit
