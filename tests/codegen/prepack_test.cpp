// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: is everything that depends on kept inputs alone found, and nothing else? Programs of convolutions are asked in
// tests/algorithms/lowered_programs_test.cpp.
#include "codegen/tile/prepack.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cubejit {
namespace {

std::vector<std::string> packingPhases(const TileProgram& program) {
  const Prepack prepack = prepackOf(program);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < program.phases.size(); ++i) {
    if (prepack.phases[i]) names.push_back(program.phases[i].name);
  }
  return names;
}

// A phase that adds dy to what weights became takes the phase before it along: its buffer is not the weights' alone.
TEST(Prepack, SharedBuffersTakePhasesAlong) {
  TileProgram program;
  program.buffers = {{"w", Buffer::Use::kInput, 64, {}, true},
                     {"dy", Buffer::Use::kInput, 64, {}},
                     {"sum", Buffer::Use::kShared, 64, {}}};
  program.kernels = {Copy{.rows = 1, .cols = 16, .srcPitch = 64, .dstPitch = 64, .label = "copy"}};
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
