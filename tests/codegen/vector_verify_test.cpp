// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks whether each kind of malformed program is refused, with the rule and the instruction in the message.
#include "codegen/vector/verify.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "tests/support/random_vector_program.h"

namespace cubejit {
namespace {

VectorProgram good() {
  VectorProgram p;
  p.name = "good";
  p.isa = avx512Isa();
  p.constants = {std::vector<std::int32_t>(16, 1)};
  p.code = {{.op = VOp::kArg, .dst = 0, .imm = 0},                                    // 0
            {.op = VOp::kArg, .dst = 1, .imm = 4},                                    // 1
            {.op = VOp::kMaskRange, .dst = 1, .imm = 2 | 5 << 8},                     // 2
            {.op = VOp::kConst, .dst = 3, .imm = 0},                                  // 3
            {.op = VOp::kLoop, .dst = 1},                                             // 4
            {.op = VOp::kLoad, .dst = 0, .mask = 1, .mem = {0, 64}},                  // 5
            {.op = VOp::kFma, .dst = 0, .src1 = 0, .src2 = 3},                        // 6
            {.op = VOp::kPermute2, .dst = 4, .src1 = 3, .src2 = 0, .src3 = 3},        // 7
            {.op = VOp::kPrefetch, .mem = {0, 0}, .imm = 1},                          // 8
            {.op = VOp::kShuffleBlocks, .dst = 5, .src1 = 0, .src2 = 3, .imm = 255},  // 9
            {.op = VOp::kAddImm, .dst = 0, .src1 = 0, .imm = 4},                      // 10
            {.op = VOp::kEndLoop},                                                    // 11
            {.op = VOp::kStore, .src1 = 0, .mem = {0, 0}}};                           // 12
  p.comments = {{0, "start"}, {13, "end"}};
  return p;
}

struct BadCase {
  const char* name;
  std::function<void(VectorProgram&)> spoil;
  const char* rule;
};

std::vector<BadCase> badCases() {
  return {
      {"vectorTooHigh", [](auto& p) { p.code[6].src1 = 32; },
       "instruction 6 `fma v0, v32, v3`: src1 32 is not in [0, 32)"},
      {"vectorTooHighForAvx2",
       [](auto& p) {
         p.isa = avx2Isa();
         p.constants = {std::vector<std::int32_t>(8, 1)};
         p.code[9].imm = 3;
         p.code[6].dst = 16;
       },
       "dst 16 is not in [0, 16)"},
      {"unfencedStream", [](auto& p) { p.code.push_back({.op = VOp::kStoreStream, .src1 = 0, .mem = {0, 0}}); },
       "no fence.nt follows"},
      {"fencePerhapsSkipped",
       [](auto& p) {
         p.code[10] = {.op = VOp::kStreamFence};
         p.code[8] = {.op = VOp::kStoreStream, .src1 = 0, .mem = {0, 0}};
       },
       "instruction 8 `store.nt [s0], v0`: no fence.nt follows"},
      {"negativeSource", [](auto& p) { p.code[6].src2 = -1; }, "src2 -1 is not in"},
      {"scalarTooHigh", [](auto& p) { p.code[0].dst = 12; }, "dst 12 is not in [0, 12)"},
      {"maskZero", [](auto& p) { p.code[2].dst = 0; }, "dst 0 is not in [1, 8)"},
      {"maskTooHigh", [](auto& p) { p.code[5].mask = 8; }, "mask 8 is not in [1, 8)"},
      {"extraSource", [](auto& p) { p.code[5].src1 = 0; }, "src1 is given but means nothing"},
      {"extraMemory", [](auto& p) { p.code[6].mem = {0, 8}; }, "a memory operand is given but means nothing"},
      {"extraImmediate", [](auto& p) { p.code[6].imm = 1; }, "immediate 1 is not in [0, 0]"},
      {"missingBase", [](auto& p) { p.code[12].mem = {}; }, "mem.base -1 is not in"},
      {"maskOnUnmaskedOp", [](auto& p) { p.code[3].mask = 1; }, "the op takes no mask"},
      {"argSlot", [](auto& p) { p.code[0].imm = 12; }, "immediate 12 is not in [0, 11]"},
      {"constantIndex", [](auto& p) { p.code[3].imm = 1; }, "immediate 1 is not in [0, 0]"},
      {"constantSize", [](auto& p) { p.constants[0].resize(8); }, "constant c0 has 8 words, not 16"},
      {"maskRangeBeyondLanes", [](auto& p) { p.code[2].imm = 17 << 8; }, "immediate 17 is not in [1, 16]"},
      {"maskRangeEmpty", [](auto& p) { p.code[2].imm = 5 | 5 << 8; }, "immediate 5 is not in [0, 4]"},
      {"prefetchLevel", [](auto& p) { p.code[8].imm = 4; }, "immediate 4 is not in [1, 3]"},
      {"shuffleImmediate", [](auto& p) { p.code[9].imm = 256; }, "immediate 256 is not in [0, 255]"},
      {"loopNotClosed",
       [](auto& p) {
         p.code.erase(p.code.begin() + 11);
         p.comments.clear();
       },
       "loop is never closed"},
      {"loopNotOpen", [](auto& p) { p.code[4] = p.code[11]; }, "no loop is open"},
      {"counterClobbered", [](auto& p) { p.code[10].dst = 1; }, "writes the counter of the loop at 4"},
      {"counterReused",
       [](auto& p) {
         p.code[5] = p.code[4];
         p.code[6] = p.code[11];
       },
       "writes the counter of the loop at 4"},
      {"outerCounterClobbered",
       [](auto& p) {
         p.code[5] = {.op = VOp::kLoop, .dst = 0};
         p.code[6] = {.op = VOp::kAddImm, .dst = 1, .src1 = 1, .imm = 4};
         p.code[7] = p.code[11];
       },
       "writes the counter of the loop at 4"},
      {"vectorUndefined", [](auto& p) { p.code[6].src1 = 9; }, "src1 is read before it is written"},
      {"accumulatorUndefined", [](auto& p) { p.code[6].dst = 9; }, "dst is read before it is written"},
      {"scalarUndefined", [](auto& p) { p.code[5].mem.base = 7; }, "mem.base is read before it is written"},
      {"maskUndefined", [](auto& p) { p.code[5].mask = 2; }, "mask is read before it is written"},
      {"counterUndefined", [](auto& p) { p.code[4].dst = 5; }, "dst is read before it is written"},
      {"permuteOntoHighTable",
       [](auto& p) {
         p.code[7].src3 = 4;
         p.code[3].dst = 4;
         p.code[7].src1 = 0;
         p.code[6].src2 = 4;
         p.code[9].src2 = 4;
       },
       "dst is src3"},
      {"commentOrder", [](auto& p) { p.comments = {{3, "a"}, {2, "b"}}; }, "comment \"b\" at 2"},
      {"commentBeyond", [](auto& p) { p.comments = {{14, "a"}}; }, "beyond the code"},
      {"unknownOp", [](auto& p) { p.code[6].op = static_cast<VOp>(200); }, "instruction 6: no such op"},
      {"vectorBits",
       [](auto& p) {
         p.isa.vectorBits = 64;
         p.constants.clear();
       },
       "vectorBits 64"},
  };
}

TEST(VectorVerify, AcceptsWellFormedPrograms) {
  EXPECT_TRUE(verify(good()).ok());
  std::mt19937 rng(3);
  for (const HostIsa& isa : {avx2Isa(), avx512Isa()}) {
    for (int n = 0; n < 100; ++n) {
      const Status status = verify(randomVectorProgram(rng, isa, {}));
      EXPECT_TRUE(status.ok()) << status.error().message;
    }
  }
}

TEST(VectorVerify, RefusesEachKindOfMalformedProgram) {
  for (const BadCase& bad : badCases()) {
    VectorProgram p = good();
    bad.spoil(p);
    const Status status = verify(p);
    ASSERT_FALSE(status.ok()) << bad.name;
    EXPECT_EQ(status.error().stage, Stage::kVector);
    EXPECT_NE(status.error().message.find(bad.rule), std::string::npos) << bad.name << ": " << status.error().message;
  }
}

TEST(VectorVerify, ListsEveryRule) {
  VectorProgram p = good();
  p.code[6].src1 = 9;
  p.code[10].dst = 1;
  const Status status = verify(p);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("instruction 6"), std::string::npos);
  EXPECT_NE(status.error().message.find("instruction 10"), std::string::npos);
}

}  // namespace
}  // namespace cubejit
