// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what one call tells about a program's loops and addresses: its scalar part is walked once, with the arguments of that
// call, so that nothing has to be written down beside the program and nothing can disagree with it.
// Leaves to codegen/annotate what the addresses mean.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/vector/program.h"

namespace cubejit {

/// Arguments of the call that is walked. Pointers are not needed: addresses are told relative to them.
struct TraceArgs {
  std::vector<std::int64_t> list;  ///< as kernels read it: counts per section, then segments
  std::int64_t sections = 0;
  std::int64_t repeat = 1, aRepeat = 0, bRepeat = 0, cRepeat = 0, accumulate = 0, dRepeat = 0;
};

/// Where a loop's count comes from.
enum class TripSource : std::uint8_t { kConstant, kRepeat, kAccumulate, kSegments, kOuter, kUnknown };

struct LoopFact {
  std::int32_t begin = 0, end = 0;  ///< instructions kLoop and kEndLoop
  int parent = -1;                  ///< enclosing loop, -1 = none
  TripSource source = TripSource::kUnknown;
  int section = -1;        ///< kSegments, kOuter: of the list
  std::int64_t trips = 0;  ///< in the walked call (kOuter: of its section's first segment)
};

/// What a pointer is relative to.
enum class PointerBase : std::uint8_t { kNone, kA, kB, kC, kD, kList };

struct AccessFact {
  PointerBase base = PointerBase::kNone;
  std::int64_t offset = 0;  ///< bytes, in the first iteration of every enclosing loop
  struct Step {
    int loop = -1;
    std::int64_t bytes = 0;
  };
  std::vector<Step> steps;  ///< loops whose second iteration moves the address, outermost first
};

struct Trace {
  std::vector<LoopFact> loops;                      ///< in the order of their kLoop
  std::vector<int> loopOf;                          ///< per instruction: innermost loop that holds it, -1 = none
  std::vector<std::optional<AccessFact>> accesses;  ///< per instruction with a memory operand that could be followed
};

/// Precondition: verify(program) is ok. Loops the call does not enter are walked once all the same, so that they are described.
Trace trace(const VectorProgram& program, const TraceArgs& args);

}  // namespace cubejit
