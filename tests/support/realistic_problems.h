// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which large convolutions tests draw: audio, images and volumes with the channels, kernels and strides that networks have, in every
// type and layout. The largest tensor has up to 2^31 elements, as likely 2^20 as 2^30.
#pragma once

#include <cstdint>
#include <random>

#include "cubejit/problem.h"

namespace cubejit {

class RealisticProblems {
 public:
  explicit RealisticProblems(std::uint64_t seed) : random_(seed) {}

  /// A legal problem.
  Problem next();
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }

 private:
  bool oneIn(std::int64_t n) { return below(n) == 0; }
  /// From least to most, as likely in every octave.
  std::int64_t logUniform(double least, double most);
  /// From least to most, in every octave as likely: a power of two, a multiple of 8, or any number.
  std::int64_t channels(std::int64_t most);
  template <std::size_t N>
  std::int64_t oneOf(const std::int64_t (&values)[N]) {
    return values[below(static_cast<std::int64_t>(N))];
  }

  void drawChannels(Problem& p, std::int64_t most);
  void drawWindow(Problem& p);
  /// Extents of the big tensor, so that it has about so many elements a channel of an image; false if there are none in range.
  bool drawExtents(Problem& p, double pixels);
  void drawFormats(Problem& p);

  std::mt19937_64 random_;
};

}  // namespace cubejit
