// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how extents of a matrix product are named: always m, k, n, never by position. Leaves what they count to its users.
#pragma once

#include <cstdint>

namespace cubejit {

/// Extents of C[m][n] += A[m][k] * B[k][n].
struct Mkn {
  std::int64_t m = 0, k = 0, n = 0;
  friend bool operator==(const Mkn& a, const Mkn& b) { return a.m == b.m && a.k == b.k && a.n == b.n; }
};

}  // namespace cubejit
