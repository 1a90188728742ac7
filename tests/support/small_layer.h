// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the layer that tests of rules break, and the machines they break it on.
#pragma once

#include "tests/support/host.h"
#include "tests/support/layers.h"

namespace cubejit {

inline const Machine kAvx512 = hostOf(IsaLevel::kAvx512);
inline const Machine kAvx2 = hostOf(IsaLevel::kAvx2);

/// Two images of 8x8 pixels, 32 channels to 32, padded so that results are as large; kernel x kernel taps.
inline Problem convolution(Layout layout, std::int64_t kernel = 3) {
  return inLayout(layout, squareProblem(2, 32, 32, 8, kernel));
}

}  // namespace cubejit
