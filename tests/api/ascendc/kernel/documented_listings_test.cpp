// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of the documented listings, English and Chinese: that they compile as they stand, and that what they compute
// is the input gradient, bit by bit, in both types and both result formats, however it is dealt to cores.
#include <gtest/gtest.h>

#include "cubejit/cubejit.h"
#include "cubejit_ascendc/launch.h"
#include "cubejit_ascendc/tiling_request.h"
#include "tests/api/ascendc/kernel/listings/english_include.inc"
#include "tests/support/ascend_tasks.h"
#include "tests/support/ascend_tensors.h"
#include "tests/support/layers.h"
#include "tiling/conv_backprop/conv3d_bp_input_tiling.h"

namespace {

#define LISTING_CREATE "tests/api/ascendc/kernel/listings/english_create.inc"
#define LISTING_INITIALISE "tests/api/ascendc/kernel/listings/english_initialise.inc"
#define LISTING_SET_OPERANDS "tests/api/ascendc/kernel/listings/english_set_operands.inc"
#define LISTING_ITERATE "tests/api/ascendc/kernel/listings/english_iterate.inc"
#define LISTING_END "tests/api/ascendc/kernel/listings/english_end.inc"
#define LISTING_KERNEL englishKernel
#define LISTING_FORMAT ConvCommonApi::ConvFormat::NCDHW
#include "tests/api/ascendc/kernel/listing_kernel.inc"
#undef LISTING_CREATE
#undef LISTING_INITIALISE
#undef LISTING_SET_OPERANDS
#undef LISTING_ITERATE
#undef LISTING_END
#undef LISTING_KERNEL

#define LISTING_CREATE "tests/api/ascendc/kernel/listings/chinese_create.inc"
#define LISTING_INITIALISE "tests/api/ascendc/kernel/listings/chinese_initialise.inc"
#define LISTING_SET_OPERANDS "tests/api/ascendc/kernel/listings/chinese_set_operands.inc"
#define LISTING_ITERATE "tests/api/ascendc/kernel/listings/chinese_iterate.inc"
#define LISTING_END "tests/api/ascendc/kernel/listings/chinese_end.inc"
#define LISTING_KERNEL chineseKernel
#include "tests/api/ascendc/kernel/listing_kernel.inc"
#undef LISTING_KERNEL
#undef LISTING_FORMAT

// The page's table has gradInput in NDC1HWC0, its listing in NCDHW: the same listing with the table's format.
#define LISTING_KERNEL blockedKernel
#define NCDHW NDC1HWC0
#define LISTING_FORMAT ConvCommonApi::ConvFormat::NCDHW
#include "tests/api/ascendc/kernel/listing_kernel.inc"
#undef NCDHW

// The pages' descriptions of the types. (The English ConvType is no C++: its `using T = TYPE` redeclares its own parameter.)
namespace described {
using ConvCommonApi::ConvFormat;
using ConvCommonApi::TPosition;
#include "tests/api/ascendc/kernel/listings/chinese_conv_type.inc"
using ConvBackpropApi::CONV3D_CFG_DEFAULT;
using ConvBackpropApi::Conv3dConfig;
using ConvBackpropApi::ConvBpContext;
#include "tests/api/ascendc/kernel/listings/chinese_interface.inc"
;  // NOLINT: the page leaves it out
#include "tests/api/ascendc/kernel/listings/english_configuration.inc"
;  // NOLINT: the page leaves it out
}  // namespace described

using namespace ConvBackpropApi;  // NOLINT(google-build-using-namespace): the page's alias is written within it
template <class WEIGHT_TYPE, class INPUT_TYPE, class GRAD_OUTPUT_TYPE, class GRAD_INPUT_TYPE>
struct DescribedAlias {
#include "tests/api/ascendc/kernel/listings/english_alias.inc"
};

using cubejit::AscendCase;
using cubejit::Dhw;
using cubejit::Layout;
using cubejit::Problem;
using cubejit::problemOf;
using cubejit::TensorId;
using cubejit::ascendc::globalMemory;
using Tiling = AscendC::tiling::TConv3DBackpropInputTiling;

TEST(DocumentedListings, TheDescribedTypesAreTheOnesThatAreUsed) {
  using Position = ConvCommonApi::TPosition;
  using Format = ConvCommonApi::ConvFormat;
  using W = described::ConvType<Position::GM, Format::FRACTAL_Z_3D, half>;
  using S = described::ConvType<Position::GM, Format::ND, int32_t>;
  using Y = described::ConvType<Position::GM, Format::NDC1HWC0, half>;
  using X = described::ConvType<Position::GM, Format::NDC1HWC0, half>;
  using Made = DescribedAlias<W, S, Y, X>::Conv3DBackpropInput;
  static_assert(std::is_same_v<Made, ConvBackpropApi::Conv3DBackpropInput<W, S, Y, X>>);
  static_assert(std::is_same_v<described::Conv3DBpInputCfg<W, S, Y, X>::SrcT, half>);
  static_assert(std::is_same_v<Made::SrcT, half> && std::is_same_v<Made::DstT, half> &&
                std::is_same_v<Made::L0cT, float>);
  using Both = ConvBackpropApi::ConvType<Position::GM, Format::ND, int32_t>;
  static_assert(std::is_same_v<Both::T, int32_t> && std::is_same_v<Both::Type, int32_t>, "both pages' spellings");
}

// One gradient through a kernel, with the tiling of the documented class, changed by `change`.
template <class T, class Kernel>
void expectRight(const AscendCase& c, Layout layout, const Kernel& kernel, std::int64_t blocks,
                 void (*change)(Tiling&) = nullptr) {
  const Problem& p = c.problem;
  const auto dtype = std::is_same_v<T, half> ? ConvCommonApi::ConvDtype::FLOAT16 : ConvCommonApi::ConvDtype::BF16;
  ConvBackpropApi::Conv3DBpInputTiling tiling;
  tiling.SetWeightType(ConvCommonApi::TPosition::GM, ConvCommonApi::ConvFormat::FRACTAL_Z_3D, dtype);
  tiling.SetInputType(ConvCommonApi::TPosition::GM, ConvCommonApi::ConvFormat::NDC1HWC0, dtype);
  tiling.SetGradOutputType(ConvCommonApi::TPosition::GM, ConvCommonApi::ConvFormat::NDC1HWC0, dtype);
  tiling.SetWeightShape(p.cout, p.cin, p.kernel.d, p.kernel.h, p.kernel.w);
  tiling.SetInputShape(p.batch, p.cin, p.in.d, p.in.h, p.in.w);
  tiling.SetGradOutputShape(p.batch, p.cout, p.out.d, p.out.h, p.out.w);
  tiling.SetPadding(p.padBefore.d, p.padAfter.d, p.padBefore.h, p.padAfter.h, p.padBefore.w, p.padAfter.w);
  tiling.SetStride(p.stride.d, p.stride.h, p.stride.w);
  tiling.SetDilation(p.dilation.d, p.dilation.h, p.dilation.w);
  AscendC::tiling::Conv3DBackpropInputTilingData data;
  ASSERT_EQ(tiling.GetTiling(data), 0) << cubejit_last_error();
  if (change != nullptr) change(data.conv3DDxTiling);

  auto dy = c.pack<T>(TensorId::kDy, Layout::kNdc1hwc0, c.dy), w = c.pack<T>(TensorId::kW, Layout::kFractalZ3d, c.w);
  const Problem result = c.with(TensorId::kDx, cubejit::ascendc::kDTypeOf<T>, layout, 16);
  // Where initOutputFlag is 0 every element must be written, so it may hold anything before.
  std::vector<T> dx(static_cast<std::size_t>(indexMap(result, TensorId::kDx).elements),
                    T(data.conv3DDxTiling.initOutputFlag == 1 ? 0.0F : -77.0F));
  cubejit::ascendc::LaunchOptions options;
  options.blocks = blocks;
  const auto report =
      cubejit::ascendc::launch(options, kernel, globalMemory(w), globalMemory(dy), globalMemory(dx), &data);
  ASSERT_TRUE(report.ok()) << report.error().message;
  const auto reference = c.reference();
  std::size_t wrong = 0;
  forEachElement(result, TensorId::kDx, [&](std::size_t plain, std::size_t at) {
    if (dx[at].bits() != T(static_cast<float>(reference.dx[plain])).bits() && wrong++ < 3)
      ADD_FAILURE() << "element " << plain << ": " << static_cast<float>(dx[at]) << ", must be " << reference.dx[plain];
  });
  EXPECT_EQ(wrong, 0U);
}

// The four kernels, both types, several launches.
void expectAllRight(const AscendCase& c, void (*change)(Tiling&) = nullptr) {
  for (const std::int64_t blocks : {1, 3, 24, 50}) {
    SCOPED_TRACE("blocks " + std::to_string(blocks));
    expectRight<half>(c, Layout::kNcdhw, englishKernel<half, half, half>, blocks, change);
    expectRight<bfloat16_t>(c, Layout::kNcdhw, chineseKernel<bfloat16_t, bfloat16_t, bfloat16_t>, blocks, change);
    expectRight<half>(c, Layout::kNdc1hwc0, blockedKernel<half, half, half>, blocks, change);
    expectRight<bfloat16_t>(c, Layout::kNdc1hwc0, blockedKernel<bfloat16_t, bfloat16_t, bfloat16_t>, blocks, change);
  }
}

TEST(DocumentedListings, PlainConvolution) {
  expectAllRight(AscendCase(problemOf(2, 20, 24, {3, 7, 6}, {3, 3, 3}, {1, 1, 1})));
}
TEST(DocumentedListings, PointwiseWithoutPadding) {
  expectAllRight(AscendCase(problemOf(1, 33, 17, {2, 5, 9}, {1, 1, 1}, {0, 0, 0})));
}
TEST(DocumentedListings, KernelOfDepthAlone) {
  expectAllRight(AscendCase(problemOf(1, 40, 36, {5, 5, 8}, {3, 1, 1}, {1, 0, 0})));
}
TEST(DocumentedListings, StridedWithRowsThatReceiveNothing) {
  expectAllRight(AscendCase(problemOf(1, 16, 18, {4, 9, 10}, {2, 1, 3}, {0, 0, 1}, {2, 3, 2})));
}
TEST(DocumentedListings, StridedAndDilated) {
  expectAllRight(AscendCase(problemOf(2, 18, 5, {6, 12, 11}, {2, 3, 2}, {1, 2, 1}, {1, 2, 2}, {2, 2, 3})));
}
// Tails along every axis and many cores, by a tiling changed by hand.
TEST(DocumentedListings, TilingsChangedByHand) {
  expectAllRight(AscendCase(problemOf(1, 40, 24, {2, 9, 7}, {2, 3, 3}, {1, 1, 1})), [](Tiling& t) {
    t.singleCoreM = std::uint64_t{4} * t.wi;
    t.singleCoreCin = 32;
    t.singleCoreCin1 = 2;
    t.baseM = 16, t.baseN = 16, t.baseK = 16;
    t.stepKa = t.stepKb = 3;
    t.iterateOrder = 0;
  });
}

}  // namespace
