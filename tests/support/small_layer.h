// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the layer that tests of rules break, and the machines they break it on.
#pragma once

#include "tests/support/host.h"

namespace cubejit {

inline const Machine kAvx512 = hostOf(IsaLevel::kAvx512);
inline const Machine kAvx2 = hostOf(IsaLevel::kAvx2);

/// Two images of 8x8 pixels, 32 channels to 32, padded so that results are as large; kernel x kernel taps.
inline Problem convolution(Layout layout, std::int64_t kernel = 3) {
  Problem p;
  p.rank = 2;
  p.batch = 2;
  p.cin = p.cout = 32;
  p.in = p.out = Dhw{1, 8, 8};
  p.kernel = Dhw{1, kernel, kernel};
  p.padBefore = p.padAfter = Dhw{0, kernel / 2, kernel / 2};
  p.layout = layout;
  return p;
}

}  // namespace cubejit
