// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the rates that candidates and costs of spatial plans go by, each measured as its comment says. Leaves
// those of several rooms to the kit.
#pragma once

#include <cstdint>

#include "algorithms/kit/rates.h"

namespace cubejit {

/// Broadcasts of data beyond L2, bytes a cycle: one line at a time (measured on 1x1 layers with 1 MB of weights).
constexpr double kBroadcastBytesPerCycle = 2.0;
/// Distance of channel planes from which reading a few rows of each costs a TLB miss and an unforeseen line.
constexpr std::int64_t kFarPlaneBytes = 2 * 1024 * 1024;

}  // namespace cubejit
