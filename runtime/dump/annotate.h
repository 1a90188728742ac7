// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what each instruction of a program touches: the addresses of one example call, followed to elements of tensors.
// Leaves the wording to codegen/explain.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/tile/origin.h"
#include "codegen/tile/program.h"
#include "codegen/vector/program.h"
#include "codegen/vector/trace.h"
#include "runtime/dump/elements.h"

namespace cubejit {

/// What one memory operand touches in the example call, in the first iteration of every loop around it.
struct Touch {
  PointerBase base = PointerBase::kNone;
  Place place;           ///< in memory
  bool padding = false;  ///< zeros that stand for no element
  int buffer = -1;       ///< whose element it is: a tensor, or the workspace buffer the trail ended in
  bool isTensor = false;
  ElementPlace at;  ///< of lane 0; if isTensor
  int lanes = 1;  ///< elements along laneAxis, laneStride apart; 1 if it is a scalar, or if the lanes are not in a row
  int laneAxis = -1;
  std::int64_t laneStride = 1;
  struct Move {
    int loop = -1;
    int axis = -1;
    std::int64_t by = 0;
  };
  std::vector<Move> moves;  ///< how the element changes with the index of a loop
};

/// A register that holds results while a contract runs.
struct AccumulatorFact {
  int reg = -1;
  Touch result;
};

/// Everything known about one kernel, for listings, pages and headers.
struct Annotation {
  KernelUse use;
  Trace trace;
  std::vector<std::optional<Touch>> touches;  ///< per instruction
  std::vector<AccumulatorFact> accumulators;  ///< of a contract, in the order of registers
};

/// Arguments of the example call of kernel `kernel`.
TraceArgs exampleArgs(const TileProgram& program, int kernel, const KernelUse& use);

/// `vectors` are the (legalised) programs of `program`'s kernels, one each.
std::vector<Annotation> annotate(const TensorElements& elements, const TileProgram& program,
                                 const std::vector<VectorProgram>& vectors);

}  // namespace cubejit
