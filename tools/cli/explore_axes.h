// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what `--vary` may name, and its ranges. Leaves the grid of them to runtime/explore/grid.
#pragma once

#include <string>
#include <vector>

#include "cubejit/machine.h"
#include "cubejit/result.h"
#include "runtime/explore/grid.h"

namespace cubejit::cli {

/// Axes of `FIELD=A..B` (doubling, and B), `FIELD=A..B:STEP` and `FIELD=V,V,...`; sizes in bytes take K, M and G. Every mistake is
/// reported, with the field.
Result<std::vector<VariedNumber>> parseAxes(const std::vector<std::string>& texts, const Machine& base);

}  // namespace cubejit::cli
