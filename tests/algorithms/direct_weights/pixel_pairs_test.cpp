// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks which pixels are pairs, and which rows a weight gradient reads.
#include "algorithms/direct_weights/pixel_pairs.h"

#include <gtest/gtest.h>

#include "algorithms/direct_weights/condensed_view.h"

namespace cubejit {
namespace {

// Pairs of pixels overlap unless columns are always taken two by two from the first on.
TEST(PixelPairs, ApartOnlyWhereDotProductsStart) {
  Problem p;
  p.rank = 2;
  p.cin = p.cout = 32;
  p.in = p.out = Dhw{1, 8, 8};
  p.dtype = DType::kBf16;
  const auto spacing = [&](bool big) { return wordSpacing(makeConvView(p, Pass::kDw), PixelPairs::kColumns, big); };
  EXPECT_EQ(spacing(true), 2) << "1x1: a line";
  EXPECT_EQ(spacing(false), 2);
  p.layout = Layout::kNcdhw;
  EXPECT_EQ(spacing(true), 1) << "plain tensors are turned";
  p.layout = Layout::kNdc1hwc0;
  EXPECT_EQ(spacing(true), 2);
  p.kernel = Dhw{1, 3, 1};
  p.padBefore = p.padAfter = Dhw{0, 1, 0};
  EXPECT_EQ(spacing(true), 2) << "rows of eight";
  p.in.w = p.out.w = 7;
  EXPECT_EQ(spacing(true), 1) << "a pair would end in the next row";
  p.in.w = p.out.w = 8;
  p.kernel.w = 3;
  p.padBefore.w = p.padAfter.w = 1;
  EXPECT_EQ(spacing(true), 1) << "taps start everywhere";
  p.kernel = Dhw{1, 1, 1};
  p.padBefore = p.padAfter = Dhw{0, 0, 0};
  p.stride = Dhw{1, 2, 2};
  p.out = Dhw{1, 4, 4};
  EXPECT_EQ(spacing(true), 4);
  EXPECT_EQ(spacing(false), 2);
}

TEST(PixelPairs, AreOfImagesWhereTheirNumberIsEven) {
  Problem p;
  p.rank = 2;
  p.cin = p.cout = 32;
  p.in = Dhw{1, 8, 8};
  p.out = Dhw{1, 4, 4};
  p.stride = Dhw{1, 2, 2};
  p.dtype = DType::kBf16;
  p.layout = Layout::kNdhwc;
  for (const std::int64_t images : {1, 2, 3, 6}) {
    p.batch = images;
    const ConvView v = makeConvView(p, Pass::kDw);
    EXPECT_EQ(pixelPairs(v, false), PixelPairs::kNone);
    const PixelPairs pairs = pixelPairs(v, true);
    EXPECT_EQ(pairs, images % 2 == 0 ? PixelPairs::kImages : PixelPairs::kColumns) << images;
    const ConvView words = wordView(v, pairs);
    EXPECT_EQ(words.batch * imagesOfWord(pairs), images);
    EXPECT_EQ(words.big.nStride, v.big.nStride * imagesOfWord(pairs));
    EXPECT_EQ(words.small.nStride, v.small.nStride * imagesOfWord(pairs));
  }
  const ConvView v = makeConvView(p, Pass::kDw);
  EXPECT_EQ(wordSpacing(v, PixelPairs::kImages, true), 2) << "columns between strides are not read";
  EXPECT_EQ(wordSpacing(v, PixelPairs::kImages, false), 1);
  p.in = Dhw{1, 2896, 2896};
  EXPECT_EQ(pixelPairs(makeConvView(p, Pass::kDw), true), PixelPairs::kImages);
  p.in.h = 2897;
  EXPECT_EQ(pixelPairs(makeConvView(p, Pass::kDw), true), PixelPairs::kColumns) << "over 512 MiB an image";
}

TEST(CondensedView, HasOnlyTheRowsThatOneTapReads) {
  Problem p;
  p.rank = 3;
  p.cin = p.cout = 32;
  p.in = Dhw{5, 9, 8};
  p.out = Dhw{3, 5, 4};
  p.stride = Dhw{2, 2, 2};
  p.layout = Layout::kNdhwc;
  const ConvView all = makeConvView(p, Pass::kDw), v = condensed(all);
  EXPECT_EQ(v.big.extent, (Dhw{3, 5, 8}));
  EXPECT_EQ(v.stride, (Dhw{1, 1, 2}));
  EXPECT_EQ(v.big.dStride, 2 * all.big.dStride);
  EXPECT_EQ(v.big.hStride, 2 * all.big.hStride);
  EXPECT_TRUE(all.big.denseRows());
  EXPECT_FALSE(v.big.denseRows());
  p.kernel.h = 3;
  p.padBefore.h = p.padAfter.h = 1;
  EXPECT_EQ(condensed(makeConvView(p, Pass::kDw)).big.extent, (Dhw{3, 9, 8})) << "three taps read every row";
  p.kernel.h = 1;
  p.padBefore.h = p.padAfter.h = 0;
  p.layout = Layout::kNcdhw;
  EXPECT_EQ(condensed(makeConvView(p, Pass::kDw)).big.extent, p.in);
}

}  // namespace
}  // namespace cubejit
