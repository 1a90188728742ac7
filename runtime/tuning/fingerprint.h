// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which machines may share measurements. Leaves detecting caches and instruction sets to host.
#pragma once

#include <string>

#include "cubejit/machine.h"

namespace cubejit {

/// CPU vendor, family, model and stepping, then what plans are made for, e.g. "AuthenticAMD-25-17-1/avx512/2x/32K-1024K-32768K":
/// ISA level, cores, L1d, L2 and L3. Two machines with one fingerprint are taken to be as fast.
std::string machineFingerprint(const Machine& machine);

}  // namespace cubejit
