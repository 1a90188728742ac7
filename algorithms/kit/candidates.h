// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how candidates are made of what an algorithm takes: once with as few reorders as it needs, once with all.
#pragma once

#include <vector>

#include "algorithms/algorithm.h"
#include "algorithms/kit/reorder.h"

namespace cubejit {

/// `takes(tensor)`: whether it may stay as it is; `candidates(core, machine)`: plans of the core problem. The second group is of plain or
/// channels-last tensors of f32.
template <class Plan, class Takes, class Make>
std::vector<CandidatesOf<Plan>> fewAndAll(const Problem& asked, const Machine& machine, const Takes& takes,
                                          const Make& candidates) {
  const Reorders all = reordersToCore(asked, Plan::kPass), few = reordersFor(Plan::kPass, takes);
  std::vector<CandidatesOf<Plan>> out;
  if (few != all) out.push_back({few, candidates(coreProblem(asked, Plan::kPass, few), machine)});
  out.push_back({all, candidates(coreProblem(asked, Plan::kPass, all), machine)});
  return out;
}

}  // namespace cubejit
