// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a plan is made for: cores, buffers and rates, as plain data.
#pragma once

#include <cstdint>
#include <string>

#include "cubejit/host_isa.h"

namespace cubejit {

/// Buffer capacities in bytes, in the NPU's vocabulary. On the host: l0c = vector registers, l0a/l0b = L1 data cache, l1 = L2 cache.
struct Buffers {
  std::int64_t l0aBytes = 0, l0bBytes = 0, l0cBytes = 0, l1Bytes = 0, l2Bytes = 0;
};

/// Rates the cost model needs, per core and core cycle. Measured on Zen4; sources beside the values in hostMachine().
struct Rates {
  double fmaPerCycle = 1.0;        ///< vector FMAs
  double loadsPerCycle = 2.0;      ///< scalar broadcasts; a full 512-bit vector takes two slots
  double storeBytesPerCycle = 32;  ///< into L1
  double l2BytesPerCycle = 31;     ///< out of the private L2
  double l3BytesPerCycle = 17;     ///< out of the shared L3
  double dramBytesPerCycle = 6.5;  ///< sequential read
};

/// A machine that plans are made for: the host, described with the terms an NPU is described with.
struct Machine {
  std::string name = "host";
  int cores = 1;  ///< how many cores a plan splits for; the run may use any number of threads
  Buffers buffers;
  Rates rates;
  HostIsa isa;  ///< gives the cube step: rows x (columns = lanes)
};

/// The host as a machine. `l1dBytes`, `l2Bytes`, `l3Bytes` as detected (0 = take Zen4's 32 KiB, 1 MiB, 32 MiB).
Machine hostMachine(const HostIsa& isa, int cores, std::int64_t l1dBytes, std::int64_t l2Bytes, std::int64_t l3Bytes);

}  // namespace cubejit
