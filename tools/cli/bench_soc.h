// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what `bench --soc` measures: how fast this host emulates a chip, beside its own passes of the same problem and data.
#pragma once

#include "request.h"

namespace cubejit::cli {

/// Behind a row of either bench whose samples show that something else ran, as races of tuning judge it.
inline constexpr const char* kDisturbed = "  disturbed: measure again";

/// Prints a row a problem and pass; returns the exit code.
int benchSoc(const RequestFlags& flags, const Request& request, double minSeconds, int minSamples);

}  // namespace cubejit::cli
