// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a Winograd plan must fulfil.
#include <cmath>
#include <limits>

#include "algorithms/winograd/matrices.h"
#include "algorithms/winograd/shape.h"
#include "algorithms/winograd/winograd.h"

namespace cubejit {
namespace {

void axisRules(const WinogradShape& s, int a, std::vector<std::string>& broken) {
  static constexpr const char* kNames[] = {"d", "h", "w"};
  const ConvView& v = s.view;
  const std::string name = kNames[v.oneAxisOnH && a == 1 ? 2 : a], field = std::string("tile_") + kNames[a];
  const std::int64_t taps = s.taps[static_cast<std::size_t>(a)], m = s.tile[static_cast<std::size_t>(a)];
  if (v.stride[a] > 1 && taps == 1) {
    broken.push_back("winograd needs a stride of 1 or of less than the kernel, along " + name + " it is " +
                     std::to_string(v.stride[a]) + " and the kernel " + std::to_string(v.kernel[a]));
    return;
  }
  if (taps == 1) {
    if (m != 1)
      broken.push_back(field + " = " + std::to_string(m) + " must be 1: the kernel has one tap along " + name);
    if (v.pad[a] != 0 || v.big.extent[a] != v.small.extent[a])
      broken.push_back("winograd needs no padding along " + name + ", where the kernel has one tap");
    return;
  }
  if (v.dilation[a] != 1)
    broken.push_back("winograd needs dilation 1, along " + name + " it is " + std::to_string(v.dilation[a]));
  if (m < 2 || m + taps - 1 > kMostWinogradPoints) {
    broken.push_back(field + " = " + std::to_string(m) + " must be at least 2, and with " + std::to_string(taps) +
                     " taps" + (v.stride[a] > 1 ? " (of each residue of the stride)" : "") + " give at most " +
                     std::to_string(kMostWinogradPoints) + " points (tile + taps - 1)");
  }
}

// What the problem breaks, whatever the plan.
void problemRules(const Problem& problem, const WinogradShape& s, std::vector<std::string>& broken) {
  if (problem.math == MathMode::kStrict) {
    broken.emplace_back(
        "winograd needs math = relaxed: its sums are of other products and have errors of their own; allow that "
        "(--math relaxed), or take another algorithm");
  }
  if (s.residues > kMostResidues)
    broken.push_back("winograd needs strides of at most " + std::to_string(kMostResidues) +
                     " in all, their product is " + std::to_string(s.residues));
  const std::size_t before = broken.size();
  for (int a = 0; a < 3; ++a) axisRules(s, a, broken);
  const double growth = broken.size() > before ? 0 : winogradErrorGrowth(s);
  if (growth > kMostErrorGrowth) {
    broken.push_back("tiles of " + std::to_string(s.tile[0]) + " x " + std::to_string(s.tile[1]) + " x " +
                     std::to_string(s.tile[2]) + " let rounding errors grow " + std::to_string(std::lround(growth)) +
                     " times; at most " + std::to_string(std::lround(kMostErrorGrowth)) +
                     " are allowed, smaller tiles have less");
  }
  if (s.view.taps() == 1) broken.emplace_back("winograd needs a kernel of more than one tap");
  if (s.tiled.bytes == 0 || s.patched.bytes == 0) broken.emplace_back("winograd needs tensors that are not empty");
  if (s.tiled.c0 > 0 || s.patched.c0 > 0)
    broken.emplace_back("winograd needs tensors whose channels or pixels are neighbours; reorder those in blocks");
  if (s.gather && s.view.stride.w > 1 && !s.tiled.direct())
    broken.emplace_back("winograd with a stride along w writes channels-last f32 results; reorder the others");
  if (s.view.oneAxis && !(s.tiled.direct() && s.patched.direct()))
    broken.emplace_back("winograd of a single axis reads and writes channels-last f32 tensors; reorder the others");
  Rules reach;
  for (const TensorView* t : {&s.tiled, &s.patched})
    requireReach(reach, "a tile",
                 s.points[0] * s.view.stride.d * t->dStride + s.points[1] * s.view.stride.h * t->hStride +
                     s.points[2] * s.view.stride.w * t->wStride);
  for (const bool patches : {true, false}) requireReach(reach, "the rows of a row of tiles", panelBytes(s, patches));
  for (std::string& rule : reach.take()) broken.push_back(std::move(rule));
}

// Registers of a block, and points of a panel, which are reached by displacements. `rows`: rows of tiles that a panel holds.
template <class Plan>
void blockRules(const WinogradShape& s, const Plan& plan, std::int64_t rows, const Machine& m,
                std::vector<std::string>& broken) {
  MicrokernelRegisters sums;
  sums.accumulators = plan.registerRows * plan.registerVectors;
  sums.vectorsB = plan.registerVectors;
  Rules registers;
  requireRegisters(registers, sums, m.isa, "register_rows x register_vectors");
  for (std::string& rule : registers.take()) broken.push_back(std::move(rule));
  const double channels = static_cast<double>(
                   s.residues * (s.tiled.channels + s.patched.channels + plan.registerVectors * m.isa.lanes() + 64)),
               tiles = static_cast<double>(rows) * static_cast<double>(s.tilesOfRow),
               reach =
                   static_cast<double>(s.volume()) * channels * 4.5 *
                   std::max(tiles + 16.0, static_cast<double>(s.residues * (s.tiled.channels + s.patched.channels)));
  if (reach > static_cast<double>(std::numeric_limits<std::int32_t>::max() / 2)) {
    broken.emplace_back("panels or filters span " + std::to_string(static_cast<std::int64_t>(std::min(reach, 9e18))) +
                        " bytes, more than a displacement reaches; lower cache_rows, or take another algorithm");
  }
}

void note(const std::vector<std::string>& broken, Rules& rules) {
  for (const std::string& rule : broken) rules.require(false, rule);
}

template <class Plan>
std::vector<std::string> brokenByProblem(const Problem& core) {
  std::vector<std::string> broken;
  const Dhw kernel = winogradShape(core, Plan{}).view.kernel;
  Plan plan;
  plan.tileD = kernel.d > 1 ? 2 : 1;
  plan.tileH = kernel.h > 1 ? 2 : 1;
  plan.tileW = kernel.w > 1 ? 2 : 1;
  problemRules(core, winogradShape(core, plan), broken);
  return broken;
}

}  // namespace

void winogradRules(const Problem& core, const WinogradDataPlan& plan, const Machine& m, Rules& rules) {
  std::vector<std::string> broken;
  const WinogradShape s = winogradShape(core, plan);
  problemRules(core, s, broken);
  if (plan.perTask && plan.cacheRows < s.rows)
    broken.push_back("cache_rows = " + std::to_string(plan.cacheRows) + " must be all " + std::to_string(s.rows) +
                     " rows of tiles when per_task is true: a task has all of its channels");
  blockRules(s, plan, plan.perTask ? s.rows : plan.cacheRows, m, broken);
  note(broken, rules);
}

void winogradRules(const Problem& core, const WinogradWeightsPlan& plan, const Machine& m, Rules& rules) {
  std::vector<std::string> broken;
  const WinogradShape s = winogradShape(core, plan);
  problemRules(core, s, broken);
  const std::int64_t vectors = divUp(s.view.big.channels, m.isa.lanes());
  if (vectors % plan.registerVectors != 0) {
    broken.push_back("register_vectors = " + std::to_string(plan.registerVectors) + " must divide the " +
                     std::to_string(vectors) + " vectors of the big tensor's channels");
  }
  if (plan.bufferC && plan.reductionParts != 1)
    broken.emplace_back("reduction_parts must be 1 when buffer_c is true: a task has all products of its part of dw");
  blockRules(s, plan, plan.bufferC ? s.rows : plan.cacheRows, m, broken);
  note(broken, rules);
  requireShortSums(rules, pointSums(s, plan), plan.reductionParts);
}

std::vector<std::string> winogradApplies(const Problem& core, Pass pass) {
  return pass == Pass::kDx ? brokenByProblem<WinogradDataPlan>(core) : brokenByProblem<WinogradWeightsPlan>(core);
}

}  // namespace cubejit
