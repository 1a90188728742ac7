// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: are the operations and bytes of kernels those that their statements have, whatever tiles and edges they are cut into?
#include "codegen/tile/work.h"

#include <gtest/gtest.h>

#include "codegen/lang/lower.h"
#include "codegen/lang/parse.h"

namespace cubejit {
namespace {

TileProgram programOf(const std::string& body, IsaLevel level = IsaLevel::kAvx512) {
  const auto source = lang::parse("cubejit kernel 1\nkernel k\n" + body, {});
  EXPECT_TRUE(source.ok()) << source.error().message;
  auto program = lang::lower(*source, isaOf(level));
  EXPECT_TRUE(program.ok()) << program.error().message;
  return std::move(program).value();
}
KernelWork sumOf(const std::vector<KernelWork>& all) {
  KernelWork sum;
  for (const KernelWork& w : all) {
    sum.calls += w.calls;
    sum.flops += w.flops;
    sum.readBytes += w.readBytes;
    sum.writtenBytes += w.writtenBytes;
    sum.pairs |= w.pairs;
  }
  return sum;
}

TEST(TileWork, SumsOfProducts) {
  for (const int mr : {1, 4, 6}) {
    const KernelWork w =
        sumOf(workOf(programOf("input A f32 [13, 7]\ninput B f32 [7, 37]\noutput C f32 [13, 37]\nindex p in 7\n"
                               "parallel j in 37 by 32\n  loop i in 13 by " +
                               std::to_string(mr) + "\n    C[i, j] = relu(sum[p](A[i, p] * B[p, j]))\n")));
    const std::int64_t tiles = (13 + mr - 1) / mr;
    EXPECT_EQ(w.flops, 2 * 13 * 37 * 7 + 13 * 37) << mr;
    EXPECT_EQ(w.writtenBytes, 4 * 13 * 37) << mr;
    EXPECT_EQ(w.readBytes, 4 * (2 * 13 * 7 + tiles * 7 * 37)) << mr << ": A by each tile of columns, B by each of rows";
    EXPECT_FALSE(w.pairs);
  }
}

TEST(TileWork, DotProductsCountTheirMembers) {
  const std::string body =
      "input A bf16 [8, 6]\ninput B bf16 [6, 32]\noutput C f32 [8, 32]\nindex p in 6\nindex j in 32\n"
      "loop i in 8 by 8\n  C[i, j] = sum[p](A[i, p] * B[p, j])\n";
  const KernelWork dots = sumOf(workOf(programOf(body, IsaLevel::kAvx512Bf16)));
  EXPECT_TRUE(dots.pairs);
  EXPECT_EQ(dots.flops, 2 * 8 * 32 * 6);
  EXPECT_EQ(dots.readBytes, 2 * (8 * 6 + 6 * 32));
  EXPECT_EQ(dots.writtenBytes, 4 * 8 * 32);
}

TEST(TileWork, WhatNothingIsMultipliedByIsOneOperation) {
  for (const std::string how : {"sum", "max"}) {
    const KernelWork w = sumOf(workOf(programOf(
        "input X f32 [9, 37]\noutput Y f32 [37]\nindex i in 9\nindex j in 37\nY[j] = " + how + "[i](X[i, j])\n")));
    EXPECT_EQ(w.flops, 9 * 37) << how;
    EXPECT_EQ(w.readBytes, 4 * 9 * 37) << how;
    EXPECT_EQ(w.writtenBytes, 4 * 37) << how;
  }
}

TEST(TileWork, ElementByElement) {
  const KernelWork w =
      sumOf(workOf(programOf("input X f32 [10, 20]\ninput S f16 [10, 20]\noutput Y bf16 [10, 20]\nindex j in 20\n"
                             "parallel i in 10 by 4\n  Y[i, j] = X[i, j] * 3 + S[i, j]\n")));
  EXPECT_EQ(w.flops, 2 * 10 * 20);
  EXPECT_EQ(w.readBytes, (4 + 2) * 10 * 20);
  EXPECT_EQ(w.writtenBytes, 2 * 10 * 20);
}

TEST(TileWork, WhatIsReadTwiceInACallCountsOnce) {
  Map map;
  map.rows = 3;
  map.cols = 16;
  map.srcPitch = 32;  // half of a row is the next one's
  map.dstPitch = 64;
  map.f.then(ExpressionOp::kFma, ExpressionValue::element(), ExpressionValue::element(), ExpressionValue::element());
  EXPECT_EQ(workOf(map, nullptr, false), (KernelWork{1, 3 * 16 * 2, 2 * 32 + 64, 3 * 64}));
}

TEST(TileWork, SharedBytesAreOfBuffersThatOthersSee) {
  const TileProgram program = programOf(
      "input A f32 [13, 7]\ninput B f32 [7, 32]\noutput C f32 [13, 32]\nindex p in 7\nindex j in 32\n"
      "parallel i in 13 by 4\n  let turned[p, j] = B[p, j]\n  C[i, j] = sum[p](A[i, p] * turned[p, j])\n");
  const std::vector<KernelWork> all = workOf(program);
  std::int64_t copied = 0, summed = 0;
  for (std::size_t k = 0; k < all.size(); ++k)
    (std::holds_alternative<Contract>(program.kernels[k]) ? summed : copied) += all[k].sharedBytes;
  EXPECT_EQ(copied, 4 * 7 * 32) << "each task copies the same B";
  EXPECT_EQ(summed, 4 * (13 * 7 + 13 * 32)) << "what is a task's own does not count";
}

}  // namespace
}  // namespace cubejit
