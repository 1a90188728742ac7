// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how fast memory is called on this machine: the slope of a roofline.
#pragma once

#include "cubejit/result.h"

namespace cubejit {

/// GB/s that `threads` threads read together from buffers larger than the caches, measured now (some `milliseconds`).
Result<double> measureReadBandwidth(int threads, int milliseconds = 60);

}  // namespace cubejit
