// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that types and layouts survive the way through flags, and that unknown ones are all named.
#include <gmock/gmock.h>

#include <random>

#include "runtime/text/problem_text.h"
#include "runtime/verify/random_problem.h"

namespace cubejit {
namespace {

TEST(FormatText, NamesForAllAndForOne) {
  Problem p;
  ASSERT_TRUE(applyFormats(p, "dw=f32,bf16", "nc1hwc0,w=fractal_z").ok());
  EXPECT_EQ(formatOf(p, TensorId::kDy).dtype, DType::kBf16);
  EXPECT_EQ(formatOf(p, TensorId::kDw).dtype, DType::kF32);
  EXPECT_EQ(formatOf(p, TensorId::kX).layout, Layout::kNdc1hwc0);
  EXPECT_EQ(formatOf(p, TensorId::kW).layout, Layout::kFractalZ3d);
  EXPECT_EQ(formatOf(p, TensorId::kDw).layout, Layout::kNcdhw) << "an activation's layout is not the weights'";
  Problem hf32;
  ASSERT_TRUE(applyFormats(hf32, "hf32", "").ok());
  EXPECT_EQ(formatOf(hf32, TensorId::kX).dtype, DType::kHf32);
  EXPECT_EQ(formatOf(hf32, TensorId::kDx).dtype, DType::kF32);
}

TEST(FormatText, BlocksMayHaveASize) {
  Problem p;
  ASSERT_TRUE(applyFormats(p, "bf16,dy=f32", "ndc1hwc32,x=nc1hwc8,dx=ndhwc").ok());
  EXPECT_EQ(formatOf(p, TensorId::kDy).c0, 32);
  EXPECT_EQ(formatOf(p, TensorId::kDy).dtype, DType::kF32);
  EXPECT_EQ(formatOf(p, TensorId::kX).c0, 8);
  EXPECT_EQ(formatOf(p, TensorId::kX).dtype, DType::kBf16);
  EXPECT_EQ(formatOf(p, TensorId::kX).layout, Layout::kNdc1hwc0);
  EXPECT_EQ(formatOf(p, TensorId::kDx).layout, Layout::kNdhwc);
  EXPECT_EQ(formatOf(p, TensorId::kDx).c0, 0);
  EXPECT_EQ(layoutText(p), "ndc1hwc0,dy=ndc1hwc32,x=ndc1hwc8,dx=ndhwc,y=ndc1hwc32");
  Problem weights;
  ASSERT_TRUE(applyFormats(weights, "", "w=fractal_z_3d:8").ok());
  EXPECT_EQ(formatOf(weights, TensorId::kW).c0, 8);
  for (const char* wrong : {"ndc1hwc", "ndc1hwc-8", "ndc1hwc8x", "ndc1hwc99999"})
    EXPECT_FALSE(applyFormats(p, "", wrong).ok()) << wrong;
}

TEST(FormatText, ReadsBackWhatItWrites) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 200; ++i) {
    Problem p = randomProblem(random), back = p;
    randomFormats(random, p, true, true);
    ASSERT_TRUE(applyFormats(back, dtypeText(p), layoutText(p)).ok());
    for (const TensorId t : kTensorIds) {
      EXPECT_EQ(formatOf(back, t).dtype, formatOf(p, t).dtype) << dtypeText(p);
      if (t == TensorId::kDb) continue;
      EXPECT_EQ(formatOf(back, t).layout, formatOf(p, t).layout) << layoutText(p);
      EXPECT_EQ(formatOf(back, t).c0, formatOf(p, t).c0) << layoutText(p);
    }
  }
}

TEST(FormatText, EveryUnknownNameIsNamed) {
  Problem p;
  const Status s = applyFormats(p, "f8,dz=f32", "w=zigzag");
  ASSERT_FALSE(s.ok());
  for (const char* word : {"f8", "dz", "zigzag", "fractal_z_3d", "bf16"})
    EXPECT_THAT(s.error().message, testing::HasSubstr(word));
}

}  // namespace
}  // namespace cubejit
