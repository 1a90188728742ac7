// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a Winograd plan must fulfil.
#include <limits>

#include "algorithms/kit/memory_hints.h"
#include "algorithms/winograd/shape.h"
#include "algorithms/winograd/winograd.h"

namespace cubejit {
namespace {

void axisRules(const WinogradShape& s, int a, std::vector<std::string>& broken) {
  static constexpr const char* kNames[] = {"d", "h", "w"};
  const std::string name = kNames[a], field = "winograd_" + name;
  const ConvView& v = s.view;
  const std::int64_t taps = v.kernel[a], m = s.tile[static_cast<std::size_t>(a)];
  if (v.stride[a] != 1)
    broken.push_back("lanes = winograd needs stride 1, along " + name + " it is " + std::to_string(v.stride[a]));
  if (taps == 1) {
    if (m != 1)
      broken.push_back(field + " = " + std::to_string(m) + " must be 1: the kernel has one tap along " + name);
    if (v.pad[a] != 0 || v.big.extent[a] != v.small.extent[a])
      broken.push_back("lanes = winograd needs no padding along " + name + ", where the kernel has one tap");
    return;
  }
  if (v.dilation[a] != 1)
    broken.push_back("lanes = winograd needs dilation 1, along " + name + " it is " + std::to_string(v.dilation[a]));
  if (m < 2 || m + taps - 1 > kMostWinogradPoints) {
    broken.push_back(field + " = " + std::to_string(m) + " must be at least 2, and with " + std::to_string(taps) +
                     " taps give at most " + std::to_string(kMostWinogradPoints) + " points (tile + taps - 1)");
  }
}

std::vector<std::string> brokenRules(const Problem& problem, const TilingPlan& plan, const Machine& m) {
  std::vector<std::string> broken;
  if (problem.math != MathMode::kRelaxed) {
    broken.emplace_back(
        "lanes = winograd needs math = relaxed: its sums are of other products and have errors of their own; allow "
        "that "
        "(--math relaxed), or take other lanes");
  }
  if (plan.gradient == Gradient::kDb) {
    broken.emplace_back("lanes = winograd computes dx and dw");
    return broken;
  }
  const WinogradShape s = winogradShape(problem, plan);
  for (int a = 0; a < 3; ++a) axisRules(s, a, broken);
  if (s.view.taps() == 1) broken.emplace_back("lanes = winograd needs a kernel of more than one tap");
  if (s.tiled.bytes == 0 || s.patched.bytes == 0)
    broken.emplace_back("lanes = winograd needs tensors that are not empty");
  if (!s.tiled.direct() || !s.patched.direct())
    broken.emplace_back("lanes = winograd reads and writes channels-last f32 tensors; stage the others");
  const std::int64_t needed = plan.baseRows * plan.baseVectors + plan.baseVectors + 1,
                     there = usableRegisters(m, false);
  if (needed > there) {
    broken.push_back("vector registers (base_rows x base_vectors + base_vectors + 1): needs " + std::to_string(needed) +
                     ", there are " + std::to_string(there) + "; shrink the base block");
  }
  const std::int64_t vectors = divUp(s.view.big.channels, m.isa.lanes());
  if (plan.gradient == Gradient::kDw && plan.baseVectors > 0 && vectors % plan.baseVectors != 0) {
    broken.push_back("base_vectors = " + std::to_string(plan.baseVectors) + " must divide the " +
                     std::to_string(vectors) + " vectors of lane channels");
  }
  if (plan.gradient == Gradient::kDx && plan.panelB && plan.panelH < s.rows)
    broken.push_back("panel_h = " + std::to_string(plan.panelH) + " must be all " + std::to_string(s.rows) +
                     " rows of tiles when panel_b is true: a task has all of its channels");
  if (plan.gradient == Gradient::kDw && plan.panelC && plan.cores.reduction != 1)
    broken.emplace_back("core_reduction must be 1 when panel_c is true: a task has all products of its part of dw");
  // Points of a panel are reached by displacements.
  const double channels =
                   static_cast<double>(s.tiled.channels + s.patched.channels + plan.baseVectors * m.isa.lanes() + 64),
               tiles = static_cast<double>(plan.panelB || plan.panelC ? s.rows : plan.panelH) *
                       static_cast<double>(s.tilesOfRow),
               reach = static_cast<double>(s.volume()) * channels * 4.5 *
                       std::max(tiles + 16.0, static_cast<double>(s.tiled.channels + s.patched.channels));
  if (reach > static_cast<double>(std::numeric_limits<std::int32_t>::max() / 2)) {
    broken.emplace_back(
        "panels or filters span " + std::to_string(static_cast<std::int64_t>(reach)) +
        " bytes, more than a displacement reaches; lower panel_h, panels of tasks only, or take other lanes");
  }
  return broken;
}

}  // namespace

void winogradRules(const Problem& core, const TilingPlan& plan, const Machine& machine, Rules& rules) {
  requireDotProducts(rules, core, plan, machine, false);
  requireNoHints(rules, plan);
  rules.require(!plan.firstTouch, "first_touch must be false: only dw with lanes = channels or swapped has it");
  for (const std::string& rule : brokenRules(core, plan, machine)) rules.require(false, rule);
}

std::vector<std::string> winogradApplies(const Problem& core, Gradient gradient, const Machine& machine) {
  TilingPlan plan;
  plan.gradient = gradient;
  plan.lanes = LaneRole::kWinograd;
  return brokenRules(core, plan, machine);
}

}  // namespace cubejit
