// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the host in an NPU's terms, and what its cores reach. Rates were measured on one core with simple loops in registers and
// over buffers of 24 KiB to 256 MiB (see docs/howto/add_a_machine_or_isa.md).
#include "cubejit/machine.h"

namespace cubejit {

Rates ratesOf(HostCore core) {
  // Zen4, 3.7 GHz: a zmm FMA a cycle (two ymm), L2 31, L3 17 at 8 MiB, DRAM 6.5 bytes a cycle; one line of each pixel comes from L3 at
  // 115 GB/s, all of them at 140.
  Rates r;
  if (core == HostCore::kZen4) return r;
  // Zen3, 3.1 to 3.2 GHz: two ymm FMAs, two loads or broadcasts and a store a cycle, L2 31 to 33, L3 17 to 25, DRAM 5.2 to 5.8 bytes a
  // cycle: Zen4's rates but for lines of many planes (4 cycles from L2, 8 to 12 from L3, where lines side by side take 2 and 3).
  if (core == HostCore::kZen3) {
    r.planeLines = 2.0;
    r.lateColumns = 1.2;  // 10 tiles of 9 and 12 sums each for four layers of 64 to 512 channels, 3x3: 0.5 to 1.8
    return r;
  }
  // Golden Cove's line as Xeons have it (a Xeon 6 with 2 MiB of L2, 3.8 to 4.1 GHz): two zmm FMAs a cycle, but a dot product every second;
  // two loads of zmm or three broadcasts and a store, L1 110, L2 46, L3 7 at 4 to 64 MiB, DRAM 3.4 bytes a cycle.
  if (core == HostCore::kGoldenCove) {
    r.fmaPerCycle = 2.0;
    r.dotPerCycle = 0.5;
    r.halfVectors = 1.0;
    r.vectorLoadCycles = 0.5;
    r.vectorStoreCycles = 1.0;
    r.broadcastCycles = 0.33;
    r.l1BytesPerCycle = 110;
    r.l2BytesPerCycle = 46;
    r.l3BytesPerCycle = 7;
    r.dramBytesPerCycle = 3.4;
    // One line of every 512 bytes comes from L2 at 73 GB/s, two at 174, all at 187; from L3 at 9.5, 14 and 28. 1.2 to 3 were tried.
    r.lonelyLines = 2.0;
    // As Zen5's: dW of 49 layers in f32 is 1.07 times as fast as with Zen4's (0.53 to 1.9), y and dX are not slower.
    r.exposedLoads = 0.3;
    r.l1Share = 1.0;
    return r;
  }
  // Zen5 with 512-bit data paths, 3.7 to 3.9 GHz: two zmm FMAs or dot products a cycle and two loads of any width (a tile of 28 rows
  // by one vector reaches 1.8, the others 2.0), L1 128, L2 37 to 47, L3 30 at 8 MiB, DRAM 9 bytes a cycle.
  r.fmaPerCycle = r.dotPerCycle = 2.0;
  r.halfVectors = 1.0;
  r.vectorLoadCycles = 0.5;
  r.vectorStoreCycles = 1.0;
  r.l1BytesPerCycle = 120;
  r.l2BytesPerCycle = 43;
  r.l3BytesPerCycle = 27;
  r.dramBytesPerCycle = 9;
  // These fit 17,000 plans of dW measured in turn with their problems' usual ones (f32, channels last, what tuning tried).
  r.exposedLoads = 0.3;
  r.l1Share = 1.0;
  r.sumCycles = 5.0;
  r.lateLines = 0.12;
  // Boxes of 9 pixels by 3 vectors and 7 by 4 do not wait (dX, 9,000 plans of dense layers in f32 and bf16).
  r.missBuffers = 32;
  // One line of every 512 bytes comes from L3 at 53 GB/s, two at 85, all at 107.
  r.lonelyLines = 2.0;
  // A loop of 13x2 tiles takes no longer if it forms its pairs; 5,000 plans of dW, cleaned as those above, fit best with this.
  r.pairCycles = 0.15;
  // Tiles of 13x2 store 1x1 layers of 512 to 2048 channels as fast as tiles of 8x3.
  r.crowdedStores = 0;
  r.copyCycles = 2.0;
  r.transposeCycles = 4.0;
  return r;
}

Machine hostMachine(const HostIsa& isa, int cores, std::int64_t l1dBytes, std::int64_t l2Bytes, std::int64_t l3Bytes,
                    HostCore core) {
  Machine m;
  m.name = "host";
  m.cores = cores;
  m.isa = isa;
  m.core = core;
  m.rates = ratesOf(core);
  m.buffers.l0aBytes = m.buffers.l0bBytes = l1dBytes > 0 ? l1dBytes : 32 * 1024;
  m.buffers.l0cBytes = static_cast<std::int64_t>(isa.vectorRegs) * isa.vectorBits / 8;
  m.buffers.l1Bytes = l2Bytes > 0 ? l2Bytes : 1024 * 1024;
  m.buffers.l2Bytes = l3Bytes > 0 ? l3Bytes : 32 * 1024 * 1024;
  return m;
}

}  // namespace cubejit
