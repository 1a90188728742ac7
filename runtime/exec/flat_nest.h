// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what of a phase's nests is known before it runs: loops whose steps do not depend on the task become lists of calls, with
// all that a call needs in one place. Leaves the rest of the loops, and calling, to launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "codegen/tile/program.h"

namespace cubejit {

/// An axis, its steps as arrays.
struct FlatAxis {
  std::vector<std::int64_t> delta, repeatDelta;  ///< [step][stream]
  std::vector<int> cls;
  std::vector<std::int64_t> repeat;
  int windowAxis = -1;
  std::vector<Window> windows;
  int steps() const { return static_cast<int>(cls.size()); }
};

/// A call of a list: what its step, or those of the loops it was in, add.
struct CallStep {
  std::int64_t a = 0, b = 0, c = 0, d = 0, aRepeat = 0, bRepeat = 0, cRepeat = 0, dRepeat = 0, repeat = 1;
  std::size_t variant = 0;
  std::size_t site = 0;  ///< index into FlatNode::sites
};

/// (axis, multiplier): the classes that are counted, and what each weighs.
using ClassWeights = std::vector<std::pair<int, int>>;

/// A call of the phase, and the classes that loops around the list choose.
struct FlatCallSite {
  int call = -1;
  ClassWeights outer;
};

/// A list of calls, with `perStep` of them for each step of `axis`, or, without an axis, one behind the other; or, if there are no
/// sites, a loop around `body`; or, without an axis, `body` once: all of it, or the node that the classes choose.
struct FlatNode {
  int axis = -1;
  ClassWeights weights;             ///< of a choice
  std::vector<std::size_t> chosen;  ///< of a choice: by the number of the classes, a node of `body`
  std::vector<FlatNode> body;
  std::vector<FlatCallSite> sites;
  std::vector<CallStep> steps;
  std::size_t perStep = 1;
  bool list() const { return !sites.empty(); }
};

/// At most so many calls are in a list with an axis.
constexpr std::size_t kMostSites = 4;

struct FlatNests {
  std::vector<FlatAxis> axes;
  std::vector<const Call*> calls;  ///< of the phase, in order; sites index them
  std::vector<FlatNode> body;
};

/// Precondition: the phase is well formed (tile/verify). It must live as long as the result.
FlatNests flatten(const Phase& phase);

}  // namespace cubejit
