// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how many random cases a test has time for, and how much time what it runs.
#pragma once

namespace cubejit {

/// So many, or a tenth of them under a sanitizer, with which each takes ten times as long.
constexpr int casesOf(int all) {
#ifdef CUBEJIT_SANITIZED
  return (all + 9) / 10;
#else
  return all;
#endif
}

/// Time for what a test lets run for so long, ten times as much under a sanitizer.
constexpr double secondsOf(double usual) { return usual * (casesOf(10) == 1 ? 10 : 1); }

}  // namespace cubejit
