// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which two pixels are the members of a word when a weight gradient's panels hold pairs of bf16, and which pixels of a
// tensor have such a word: every one, or only those that dot products take.
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithms/kit/conv_view.h"

namespace cubejit {

enum class PixelPairs : std::uint8_t {
  kNone,
  kImages,  ///< a pixel, and the same one of the next image
  kColumns  ///< a pixel, and the one that the next position along W uses
};

/// Code reaches a word's second member by a displacement of 32 bits on top of a row's.
constexpr std::int64_t kMostImageBytes = std::int64_t{1} << 29;

/// Pairs of images have no odd ones out, at the ends of rows or where only some taps reach, and panels hold each element once.
/// An odd number of images (one, above all) leaves columns to be paired, and so do images beyond kMostImageBytes.
inline PixelPairs pixelPairs(const ConvView& v, bool dotProducts) {
  if (!dotProducts) return PixelPairs::kNone;
  const bool even = v.batch > 0 && v.batch % 2 == 0, near = std::max(v.big.nStride, v.small.nStride) <= kMostImageBytes;
  return even && near ? PixelPairs::kImages : PixelPairs::kColumns;
}

/// Images that a reduction block of words takes at once.
constexpr std::int64_t imagesOfWord(PixelPairs pairs) { return pairs == PixelPairs::kImages ? 2 : 1; }

/// The view as dot products see it: pairs of images are one, so that nStride goes from pair to pair.
inline ConvView wordView(ConvView v, PixelPairs pairs) {
  const std::int64_t images = imagesOfWord(pairs);
  v.batch /= images;
  v.big.nStride *= images;
  v.small.nStride *= images;
  return v;
}

/// Columns from a pair's first member to its second.
inline std::int64_t pairColumns(const ConvView& words, bool big) { return big ? words.stride.w : 1; }

/// Bytes between them, or between the images' pixels.
inline std::int64_t pairBytes(const ConvView& words, PixelPairs pairs, bool big) {
  const TensorView& t = big ? words.big : words.small;
  return pairs == PixelPairs::kImages ? t.nStride / imagesOfWord(pairs) : pairColumns(words, big) * t.wStride;
}

/// Pixels of the tensor from one word's first member to the next word's. With one tap along W and no padding in front, columns are
/// always taken from the first on: only every `stride`-th of the big tensor, and two by two if columns are paired. Wide kernels
/// start from every pixel, and plain tensors are transposed pixel by pixel: 1.
inline std::int64_t wordSpacing(const ConvView& v, PixelPairs pairs, bool big) {
  if (pairs == PixelPairs::kNone) return 1;
  const TensorView& t = big ? v.big : v.small;
  const bool transposed = !t.channelsLast && t.c0 == 0;
  const std::int64_t columns = pairs == PixelPairs::kColumns ? 2 : 1, spacing = columns * (big ? v.stride.w : 1);
  if (v.kernel.w != 1 || v.pad.w != 0 || transposed || spacing > 16 || 16 % spacing != 0) return 1;
  if (v.oneAxis) return spacing == columns ? spacing : 1;
  return t.extent.w % spacing == 0 ? spacing : 1;
}

}  // namespace cubejit
