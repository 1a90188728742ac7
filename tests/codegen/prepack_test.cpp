// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: is everything that depends on weights alone found, and nothing else?
#include "codegen/tile/prepack.h"

#include <gtest/gtest.h>

#include "algorithms/lower.h"
#include "tests/support/host.h"
#include "tests/support/operands.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

Result<TileProgram> programOf(const Problem& p, Pass pass, WeightsUse weights) {
  const Machine machine = hostOf(IsaLevel::kAvx512);
  CUBEJIT_TRY(choice, choosePlan(p, pass, machine, false, weights));
  return lower(p, choice.plan, machine);
}

std::vector<std::string> packingPhases(const TileProgram& program) {
  const Prepack prepack = prepackOf(program);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < program.phases.size(); ++i) {
    if (prepack.phases[i]) names.push_back(program.phases[i].name);
  }
  return names;
}

TEST(Prepack, PackingAndStagingOfWeights) {
  Problem p = squareProblem(2, 32, 48, 14);
  auto program = programOf(p, Pass::kDx, WeightsUse::kKept);
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(packingPhases(*program), std::vector<std::string>{"pack_weights"});
  EXPECT_TRUE(prepackOf(*program).complete);

  p.formats[static_cast<std::size_t>(TensorId::kW)] = TensorFormat{DType::kF32, Layout::kFractalZ3d};
  program = programOf(p, Pass::kDx, WeightsUse::kKept);
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_GE(packingPhases(*program).size(), 2U) << "what undoes the blocks, and what packs";
  EXPECT_TRUE(prepackOf(*program).complete);
}

TEST(Prepack, OtherGradientsHaveNone) {
  for (const Pass pass : {Pass::kDw, Pass::kDb}) {
    const auto program = programOf(squareProblem(2, 32, 48, 14), pass, WeightsUse::kKept);
    ASSERT_TRUE(program.ok());
    EXPECT_TRUE(packingPhases(*program).empty());
    for (const bool kept : prepackOf(*program).buffers) EXPECT_FALSE(kept);
  }
}

// Without images dw is zero, in its own type through a buffer of the workspace: no weights made that.
TEST(Prepack, ZerosAreNotWeights) {
  Problem p = squareProblem(2, 32, 48, 14);
  p.dtype = DType::kBf16;
  p.batch = 0;
  for (const Pass pass : {Pass::kDx, Pass::kDw, Pass::kDb}) {
    const auto program = programOf(p, pass, WeightsUse::kKept);
    ASSERT_TRUE(program.ok()) << program.error().message;
    EXPECT_TRUE(pass == Pass::kDx || packingPhases(*program).empty()) << toString(pass);
  }
}

// A phase that adds dy to what weights became takes the phase before it along: its buffer is not the weights' alone.
TEST(Prepack, SharedBuffersTakePhasesAlong) {
  TileProgram program;
  program.buffers = {{"w", Buffer::Use::kInput, 64, {}, true},
                     {"dy", Buffer::Use::kInput, 64, {}},
                     {"sum", Buffer::Use::kShared, 64, {}}};
  program.kernels = {Move{MoveKind::kCopy, 16, 1, 16, 64, 64, 0, false, "copy"}};
  const auto phase = [](const char* name, int from) {
    Phase out;
    out.name = name;
    out.streams = {{"from", from, 0}, {"to", 2, 0}};
    out.body = {Node{-1, {}, Call{"copy", 0, -1, 1, {}, {Variant{0, -1, false}}}}};
    return out;
  };
  program.phases = {phase("weights", 0)};
  EXPECT_EQ(packingPhases(program).size(), 1U);
  EXPECT_TRUE(prepackOf(program).buffers[2]);
  program.phases.push_back(phase("activations", 1));
  EXPECT_TRUE(packingPhases(program).empty());
  EXPECT_FALSE(prepackOf(program).buffers[2]);
  EXPECT_FALSE(prepackOf(program).complete);
}

}  // namespace
}  // namespace cubejit
