// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the host in an NPU's terms. Rates were measured on one Zen4 core with simple loops (see docs/design.md): a zmm FMA a
// cycle (two ymm), stores 32 bytes, L2 31, L3 17 at 8 MiB, DRAM 6.5 bytes a cycle at 3.7 GHz.
#include "cubejit/machine.h"

namespace cubejit {

Machine hostMachine(const HostIsa& isa, int cores, std::int64_t l1dBytes, std::int64_t l2Bytes, std::int64_t l3Bytes) {
  Machine m;
  m.name = "host";
  m.cores = cores;
  m.isa = isa;
  m.buffers.l0aBytes = m.buffers.l0bBytes = l1dBytes > 0 ? l1dBytes : 32 * 1024;
  m.buffers.l0cBytes = static_cast<std::int64_t>(isa.vectorRegs) * isa.vectorBits / 8;
  m.buffers.l1Bytes = l2Bytes > 0 ? l2Bytes : 1024 * 1024;
  m.buffers.l2Bytes = l3Bytes > 0 ? l3Bytes : 32 * 1024 * 1024;
  return m;
}

}  // namespace cubejit
