// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how many random cases a test has time for.
#pragma once

namespace cubejit {

/// How many times as long a test takes as it does without a sanitizer.
#ifdef CUBEJIT_SANITIZED
inline constexpr int kTimesAsLong = 10;
#else
inline constexpr int kTimesAsLong = 1;
#endif

/// So many, or fewer by as much as each takes longer.
constexpr int casesOf(int all) { return (all + kTimesAsLong - 1) / kTimesAsLong; }

}  // namespace cubejit
