// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that every candidate plan with groups side by side lowers to kernels that fit the registers of its ISA, that kernels multiply
// exactly the pairs inside the tensors, and that the program touches every result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "algorithms/grouped/grouped.h"
#include "algorithms/lower.h"
#include "codegen/vectorize.h"
#include "tests/support/host.h"
#include "tests/support/layers.h"
#include "tests/support/plan_fields.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

Problem grouped(std::int64_t groups, std::int64_t in, std::int64_t out, Dhw kernel, Dhw stride, Layout layout) {
  const Dhw pad{kernel.d / 2, kernel.h / 2, kernel.w / 2};
  return ofGroups(groups, inLayout(layout, problemOf(2, groups * in, groups * out, {3, 11, 20}, kernel, pad, stride)));
}

// Multiply-accumulates of all lanes that count, by walking the program as a machine would.
class Counter {
 public:
  explicit Counter(const TileProgram& program) : program_(program) {}

  std::int64_t count() {
    for (const Phase& phase : program_.phases) {
      classes_.assign(phase.axes.size(), 0);
      task(phase, 0);
    }
    return uses_;
  }

 private:
  void task(const Phase& phase, std::size_t depth) {
    if (depth == phase.parallelAxes.size()) {
      for (const Node& node : phase.body) walk(phase, node, 1);
      return;
    }
    const auto axis = static_cast<std::size_t>(phase.parallelAxes[depth]);
    for (const AxisStep& step : phase.axes[axis].steps) {
      classes_[axis] = step.cls;
      task(phase, depth + 1);
    }
  }

  void walk(const Phase& phase, const Node& node, std::int64_t repeat) {
    if (node.axis < 0) {
      call(phase, node.call, repeat);
      return;
    }
    const auto index = static_cast<std::size_t>(node.axis);
    const Axis& axis = phase.axes[index];
    Window window{0, static_cast<int>(axis.steps.size())};
    if (axis.windowAxis >= 0)
      window = axis.windows[static_cast<std::size_t>(classes_[static_cast<std::size_t>(axis.windowAxis)])];
    for (int i = window.begin; i < window.end; ++i) {
      const AxisStep& step = axis.steps[static_cast<std::size_t>(i)];
      classes_[index] = step.cls;
      for (const Node& child : node.body) walk(phase, child, repeat * step.repeat);
    }
  }

  void call(const Phase& phase, const Call& call, std::int64_t repeat) {
    std::size_t number = 0;
    for (int axis : call.classAxes) {
      number = number * static_cast<std::size_t>(phase.axes[static_cast<std::size_t>(axis)].classes) +
               static_cast<std::size_t>(classes_[static_cast<std::size_t>(axis)]);
    }
    ASSERT_LT(number, call.variants.size());
    const Variant& variant = call.variants[number];
    if (variant.kernel < 0) return;
    const auto* contract = std::get_if<Contract>(&program_.kernels[static_cast<std::size_t>(variant.kernel)]);
    if (contract == nullptr) return;
    const SegmentList& list = program_.lists[static_cast<std::size_t>(variant.list)];
    ASSERT_EQ(list.size(), contract->sections.size());
    for (std::size_t s = 0; s < list.size(); ++s) {
      std::int64_t uses = 0;
      for (const Step& step : contract->sections[s].steps) {
        for (const AOperand& a : step.a) uses += static_cast<std::int64_t>(a.uses.size());
      }
      for (const Segment& segment : list[s]) uses_ += repeat * segment.outer * uses;
    }
  }

  const TileProgram& program_;
  std::vector<int> classes_;
  std::int64_t uses_ = 0;
};

std::int64_t pairsInside(const Problem& p) {
  std::int64_t pairs = p.batch;
  for (int a = 0; a < 3; ++a) {
    std::int64_t along = 0;
    for (std::int64_t o = 0; o < p.out[a]; ++o) {
      for (std::int64_t k = 0; k < p.kernel[a]; ++k) {
        const std::int64_t i = o * p.stride[a] + k * p.dilation[a] - p.padBefore[a];
        along += i >= 0 && i < p.in[a] ? 1 : 0;
      }
    }
    pairs *= along;
  }
  return pairs;
}

// The program of a legal plan, all of whose kernels can be vectorised.
TileProgram lowered(const Problem& p, const TilingPlan& plan, const Machine& machine) {
  EXPECT_THAT(checkPlan(p, plan, machine), testing::IsEmpty());
  Result<TileProgram> program = lower(p, plan, machine);
  if (!program.ok()) {
    ADD_FAILURE() << program.error().message;
    return {};
  }
  for (const Kernel& kernel : program->kernels) {
    const Result<VectorProgram> vectors = vectorize(kernel, machine.isa);
    EXPECT_TRUE(vectors.ok()) << program->name << ": " << vectors.error().message;
  }
  return std::move(*program);
}

TEST(LowerGrouped, DepthwiseUsesSixteenBitsWhereTheyLie) {
  for (const auto& [level, type] : {std::pair{IsaLevel::kAvx2, DType::kF16},
                                    {IsaLevel::kAvx512, DType::kF16},
                                    {IsaLevel::kAvx512Bf16, DType::kBf16}}) {
    const Machine machine = hostOf(level);
    for (const Dhw kernel : {Dhw{1, 3, 3}, Dhw{1, 1, 1}, Dhw{1, 7, 7}}) {
      Problem p = grouped(21, 1, 1, kernel, Dhw{1, 1, 1}, Layout::kNdhwc);
      p.dtype = type;
      for (const Pass pass : {Pass::kDx, Pass::kDw}) {
        const auto plans = proposedPlans("grouped", p, pass, machine);
        ASSERT_FALSE(plans.empty());
        for (const TilingPlan& plan : plans) {
          if (plan.reorders.dy || plan.reorders.x) continue;
          for (const char* panel : {"pack_a", "pack_b"}) EXPECT_NE(fieldOf(plan, panel), 1);
          const TileProgram program = lowered(p, plan, machine);
          EXPECT_EQ(Counter(program).count(),
                    pairsInside(p) * ((p.groups + machine.isa.lanes() - 1) / machine.isa.lanes()));
        }
      }
    }
  }
}

// Reduction blocks at the upper and the lower edge leave out other taps than those between; blocks of as many taps still share a kernel.
TEST(LowerGrouped, ReductionBlocksShareAKernel) {
  const Problem p = grouped(16, 4, 4, Dhw{1, 3, 3}, Dhw{1, 1, 1}, Layout::kNdhwc);
  const Machine machine = hostOf(IsaLevel::kAvx512);
  for (GroupedWeightsPlan plan : groupedWeightsCandidates(p, machine)) {
    plan.reduction = {1, 1, 3};
    const TileProgram program = lowered(p, plan, machine);
    std::set<std::size_t> sizes;
    std::size_t contracts = 0;
    for (const Kernel& kernel : program.kernels) {
      const auto* contract = std::get_if<Contract>(&kernel);
      if (contract == nullptr) continue;
      ++contracts;
      sizes.insert(contract->accumulators.size());
    }
    const auto pieces = (4 + plan.registerChannels - 1) / plan.registerChannels;  // each permutes channels of its own
    EXPECT_LE(contracts, sizes.size() * static_cast<std::size_t>(pieces));
  }
}

// Segments that the kernels of a dX walk: a row of dy each, for as many rows of results as it feeds.
std::size_t segmentsOf(const TileProgram& program) {
  std::size_t segments = 0;
  for (const SegmentList& list : program.lists) {
    std::size_t most = 0;
    for (const auto& section : list) most += section.size();
    segments = std::max(segments, most);
  }
  return segments;
}

TEST(LowerGrouped, RowsOfABlockShareWhatTheyRead) {
  const Problem p = grouped(32, 1, 1, Dhw{1, 3, 3}, Dhw{1, 1, 1}, Layout::kNdhwc);
  const Machine machine = hostOf(IsaLevel::kAvx512);
  GroupedDataPlan plan = groupedDataCandidates(p, machine).front();
  plan.registerW = 5;
  for (std::int64_t rows = 1; rows <= 4; ++rows) {
    plan.registerH = rows;
    const TileProgram program = lowered(p, plan, machine);
    EXPECT_EQ(Counter(program).count(), pairsInside(p) * 2);
    EXPECT_EQ(segmentsOf(program), static_cast<std::size_t>(rows + 2));
  }
}

TEST(LowerGrouped, DotProductsTakeTwoChannelsAtOnce) {
  const Machine machine = hostOf(IsaLevel::kAvx512Bf16);
  for (const auto& [in, out] : {std::pair<int, int>{2, 2}, {4, 4}, {8, 8}, {1, 2}, {3, 6}}) {
    for (const Layout layout : {Layout::kNdhwc, Layout::kNcdhw}) {
      Problem p = grouped(21, in, out, Dhw{1, 3, 3}, Dhw{1, 2, 2}, layout);
      EXPECT_TRUE(groupedDotCandidates(p, machine).empty()) << "f32";
      p.dtype = DType::kBf16;
      const auto plans = groupedDotCandidates(p, machine);
      ASSERT_FALSE(plans.empty());
      for (const GroupedDataPlan& plan : plans) {
        EXPECT_EQ(plan.packA, layout == Layout::kNcdhw);
        const std::int64_t perBlock = std::min(16 / in, 32 / (out / 2)), blocks = (p.groups + perBlock - 1) / perBlock;
        EXPECT_EQ(Counter(lowered(p, plan, machine)).count(), pairsInside(p) * blocks * out / 2);
      }
      p.dtype = DType::kF16;
      EXPECT_TRUE(groupedDotCandidates(p, machine).empty());
    }
  }
  Problem odd = grouped(21, 3, 3, Dhw{1, 3, 3}, Dhw{1, 1, 1}, Layout::kNdhwc);
  odd.dtype = DType::kBf16;
  EXPECT_TRUE(groupedDotCandidates(odd, machine).empty());
}

TEST(LowerGrouped, CandidatesFitRegistersAndMultiplyOnlyPairsInside) {
  int programs = 0;
  for (const IsaLevel level : {IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    const Machine machine = hostOf(level);
    for (const auto& [in, out] : {std::pair<int, int>{1, 1}, {2, 2}, {4, 4}, {8, 8}, {1, 2}, {2, 1}, {3, 3}}) {
      for (const Dhw stride : {Dhw{1, 1, 1}, Dhw{1, 2, 2}}) {
        for (const Dhw kernel : {Dhw{1, 3, 3}, Dhw{3, 3, 3}, Dhw{1, 1, 13}}) {
          for (const Layout layout : {Layout::kNdhwc, Layout::kNcdhw}) {
            const Problem p = grouped(21, in, out, kernel, stride, layout);
            ASSERT_TRUE(groupedApplies(p, machine));
            for (const Pass pass : {Pass::kDx, Pass::kDw}) {
              const std::vector<TilingPlan> plans = proposedPlans("grouped", p, pass, machine);
              ASSERT_FALSE(plans.empty());
              const TilingPlan& plan = plans[static_cast<std::size_t>(programs) % plans.size()];
              Result<TileProgram> program = lower(p, plan, machine);
              ASSERT_TRUE(program.ok()) << program.error().message;
              ++programs;
              for (const Kernel& kernelValue : program->kernels) {
                const Result<VectorProgram> vectors = vectorize(kernelValue, machine.isa);
                EXPECT_TRUE(vectors.ok()) << program->name << ": " << vectors.error().message;
              }
              const std::int64_t lanes = machine.isa.lanes();
              const std::int64_t vectorChannels = pass == Pass::kDx ? in : std::max(in, out),
                                 group = in * out / vectorChannels;
              const std::int64_t perBlock = std::min(lanes / vectorChannels, 2 * lanes / group),
                                 blocks = (p.groups + perBlock - 1) / perBlock;
              EXPECT_EQ(Counter(*program).count(), pairsInside(p) * blocks * group) << program->name;
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(programs, 2 * 7 * 2 * 3 * 2 * 2);
}

}  // namespace
}  // namespace cubejit
