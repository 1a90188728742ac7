// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how strategies are compared without hardware: on the measurements that a store or its JSON lines hold.
#pragma once

#include <string>

namespace cubejit::cli {

/// Prints, per strategy, how far the best plan found after so many trials is behind the best recorded; returns the exit code.
int simulate(const std::string& path, bool json, const std::string& typed);

}  // namespace cubejit::cli
