// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which machines may share measurements. Leaves detecting caches and instruction sets to host.
#pragma once

#include <string>

#include "cubejit/machine.h"

namespace cubejit {

/// CPU vendor, family, model and stepping, then what plans are made for, e.g. "AuthenticAMD-25-17-1/avx512/2x/32K-1024K-32768K":
/// ISA level, cores, L1d, L2 and L3. Two machines with one fingerprint are taken to be as fast. Of an NPU, whose cycles are
/// modelled: "model/", its name and a digest of its numbers.
std::string machineFingerprint(const Machine& machine);

/// The fingerprint of the time in which this host emulates an NPU (its `isa` is the host's): "emulated/", the chip as above, fast or faithful, the host.
std::string emulationFingerprint(const Machine& chip, bool elideCopies);

/// machineFingerprint() of the machine that plans of a fingerprint are made for: the chip's own of an emulation's, else the same.
std::string planningFingerprint(const std::string& fingerprint);

}  // namespace cubejit
