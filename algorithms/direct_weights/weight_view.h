// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a weight gradient with lanes of channels is planned, costed and lowered over: the rows it reads, and words of pairs
// where it has dot products or tiles. Leaves reduction blocks and tiles to the plan.
#pragma once

#include "algorithms/direct_weights/condensed_view.h"
#include "algorithms/direct_weights/pixel_pairs.h"

namespace cubejit {

struct WeightView {
  ConvView asked;  ///< as the problem says
  PixelPairs pairs = PixelPairs::kNone;
  ConvView words;  ///< only what is read; images and pixels are those of words

  /// Images of `words` in a reduction block of `images` of the problem.
  std::int64_t blockImages(std::int64_t images) const {
    return (images + imagesOfWord(pairs) - 1) / imagesOfWord(pairs);
  }
};

inline WeightView weightView(const Problem& problem, bool dotProducts, bool matrixUnit = false) {
  WeightView view{makeConvView(problem, Pass::kDw), PixelPairs::kNone, {}};
  view.pairs = matrixUnit ? PixelPairs::kColumns : pixelPairs(view.asked, dotProducts);
  view.words = wordView(condensed(view.asked), view.pairs);
  return view;
}

}  // namespace cubejit
