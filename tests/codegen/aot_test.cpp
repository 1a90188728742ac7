// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/aot/c_header.h"
#include "codegen/aot/tables.h"
#include "codegen/tile/workspace.h"
#include "tests/support/small_tile_program.h"

namespace cubejit {
namespace {

TEST(AotTables, HoldListsStepsAndVariants) {
  const TileProgram p = smallTileProgram();
  const AotTables t = aotTables(p);
  EXPECT_EQ(t.lists, std::vector<std::int64_t>{0});
  EXPECT_EQ((std::vector<std::int64_t>(t.words.begin(), t.words.begin() + 4)), (std::vector<std::int64_t>{1, 0, 0, 8}));
  // The second step of the phase "pack": class 0, once, x + 144, panel + 128.
  const std::int64_t step = t.axes[0][0].steps + stepWords(p.phases[0]);
  EXPECT_EQ((std::vector<std::int64_t>(t.words.begin() + step, t.words.begin() + step + 4)),
            (std::vector<std::int64_t>{0, 1, 144, 128}));
  const std::int64_t variant = t.variants[1][0] + 3;
  EXPECT_EQ((std::vector<std::int64_t>(t.words.begin() + variant, t.words.begin() + variant + 3)),
            (std::vector<std::int64_t>{0, 0, 1}));
  EXPECT_EQ(workspaceOf(p).bytes.shared, 8 * 32 + 64);
  EXPECT_EQ(aotPrefix("dx-1.2"), "dx_1_2");
  EXPECT_EQ(aotPrefix("1x"), "k_1x");
}

// Those of smallTileProgram().
const std::vector<CTensor> kSmallTensors{{"float", "8 rows of 9"}, {"float", "10 rows of 8"}};

TEST(CHeader, DeclaresWhatTheObjectHas) {
  const TileProgram program = smallTileProgram();
  const std::string text = cHeader({program, kSmallTensors, avx2Isa(), "small", "1.2.3", {"made by a test"}});
  for (const char* part :
       {"#ifndef SMALL_H", "void small_k00(const small_args*);", "extern const int64_t small_tables[];",
        "extern const float small_ramp[];", "static inline void small_run(const float* x, float* dx, void* workspace)",
        "#define SMALL_PHASES 2", "small_phase1", "made by a test", "x: 8 rows of 9, 288 bytes, read",
        "dx: 10 rows of 8, 320 bytes, written"}) {
    EXPECT_THAT(text, testing::HasSubstr(part));
  }
}

// A header whose test of the CPU is too weak lets a program die of an unknown instruction.
TEST(CHeader, AsksTheCpuForAllThatKernelsMayUse) {
  const TileProgram program = smallTileProgram();
  const auto text = [&](const HostIsa& isa, bool perKernel) {
    return cHeader({program, kSmallTensors, isa, "small", "1.2.3", {}, perKernel});
  };
  EXPECT_THAT(text(avx512Bf16Isa(), false), testing::HasSubstr("__builtin_cpu_supports(\"avx512bf16\")"));
  EXPECT_THAT(text(avx512Isa(), false), testing::Not(testing::HasSubstr("avx512bf16")));
  for (const HostIsa& isa : {neonIsa(), sve256Isa()})
    EXPECT_THAT(text(isa, true), testing::Not(testing::HasSubstr("__builtin_cpu_supports")));
  EXPECT_THAT(text(sve256Isa(), true), testing::HasSubstr("#include <sys/auxv.h>"));
  EXPECT_THAT(text(neonIsa(), true), testing::HasSubstr("small.o and the k*.o beside it"));
  EXPECT_THAT(text(avx2Isa(), false), testing::Not(testing::HasSubstr("k*.o")));
}

}  // namespace
}  // namespace cubejit
