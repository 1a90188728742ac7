// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what random problems and data look like: every geometry, small enough for the reference; integers, so that f32 sums
// are exact in any order and results can be compared for equality.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "cubejit/problem.h"

namespace cubejit {

/// A legal problem of at most `maxMultiplyAdds`. The same generator state gives the same problem on every machine.
Problem randomProblem(std::mt19937_64& random, double maxMultiplyAdds = 2e6);

/// Gives every tensor a random type, layout or both; inputs sometimes strides.
void randomFormats(std::mt19937_64& random, Problem& problem, bool types, bool layouts);

/// Post-ops of y that its format allows; often none of some sort.
void randomPostOps(std::mt19937_64& random, Problem& problem);

/// Makes it one for algorithms of other products than the definition's (Winograd): relaxed math, dilation 1, 2 to 7 taps (3D: 5) or none along each
/// axis, and smaller strides, up to 2 (1D: 3).
void fitRelaxedMath(std::mt19937_64& random, Problem& problem);

/// Integers in [-4, 4], thinned when `summands` of their products would no longer add up exactly in f32.
std::vector<float> randomIntegers(std::mt19937_64& random, std::int64_t count, double summands);

/// Reals like N(0, 1), without denormals.
std::vector<float> randomReals(std::mt19937_64& random, std::int64_t count);

}  // namespace cubejit
