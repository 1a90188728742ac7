// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a plan is made for: cores, buffers, units and rates, as plain data. The host and every NPU are rows of it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "cubejit/export.h"
#include "cubejit/host_isa.h"
#include "cubejit/matrix_unit.h"

namespace cubejit {

/// Buffer capacities in bytes, in the NPU's vocabulary. On the host: l0c = vector registers, l0a/l0b = L1 data cache, l1 = L2 cache.
struct Buffers {
  std::int64_t l0aBytes = 0, l0bBytes = 0, l0cBytes = 0, l1Bytes = 0, l2Bytes = 0;
  std::int64_t ubBytes = 0;  ///< unified buffer: the vector unit's
  std::int64_t btBytes = 0;  ///< bias table; 0 = there is none
  std::int64_t fbBytes = 0;  ///< the fixpipe's parameters; 0 = there is none
};

/// Cores whose rates were measured. Any other is planned for with those of Zen4.
enum class HostCore : std::uint8_t { kZen3, kZen4, kZen5, kGoldenCove };
constexpr const char* toString(HostCore c) {
  switch (c) {
    case HostCore::kZen3: return "Zen 3";
    case HostCore::kZen5: return "Zen 5";
    case HostCore::kGoldenCove: return "Golden Cove";
    case HostCore::kZen4: break;
  }
  return "Zen 4";
}

/// Rates the cost model needs, per core and core cycle. The defaults are Zen4's; sources beside the rows in ratesOf().
struct Rates {
  double fmaPerCycle = 1.0;        ///< FMAs of whole (512-bit) vectors
  double dotPerCycle = 1.0;        ///< dot products of whole vectors of bf16 pairs, two multiply-adds a lane
  double halfVectors = 2.0;        ///< vectors of half the width (AVX2) that take the cycles of a whole one
  double vectorLoadCycles = 1.0;   ///< from L1, a whole vector within a line
  double vectorStoreCycles = 2.0;  ///< into L1, a whole vector
  double broadcastCycles = 0.5;    ///< from L1, a scalar to all lanes
  double l1BytesPerCycle = 60;     ///< out of L1, while FMAs are computed
  double l2BytesPerCycle = 31;     ///< out of the private L2
  double l3BytesPerCycle = 17;     ///< out of the shared L3
  double dramBytesPerCycle = 6.5;  ///< sequential read
  double exposedLoads = 0.0;       ///< share of the loads' cycles that FMAs beside them do not hide
  double l1Share = 0.7;            ///< share of L1 that data may take and be found there again
  double sumCycles = 3.0;          ///< a visit of a tile of dW: loading and storing one of its vectors of sums
  double lateLines = 1.0;          ///< how much a tile of dW waits for lines from beyond L1, in what Zen4 waits
  double lateColumns = 0.0;      ///< cycles that a tile of dW with several taps along W waits for a line from beyond L1
  double lonelyLines = 1.2;      ///< how much longer lines far apart take from beyond L2 than lines side by side
  double planeLines = 0.0;       ///< how long a kernel waits for a line of one of many channel planes beyond L1, in
                                 ///< what it takes side by side
  double missBuffers = 24;       ///< lines that come into L1 at once; a box of dX with more lines of results waits
  double crowdedStores = 20;     ///< storing a vector of many at distances of 2 KiB and its multiples
  double pairCycles = 0.5;       ///< forming a vector of bf16 pairs beside dot products (Zen4: estimated)
  double copyCycles = 3.0;       ///< a whole vector from one place near the core to another
  double transposeCycles = 7.0;  ///< the same as part of a transpose of 16 x 16
};
CUBEJIT_API Rates ratesOf(HostCore core);

/// Bytes each path moves in a core cycle, per core. 0 = the chip has no such path.
struct PathRates {
  double ddrRead = 0, ddrWrite = 0;  ///< memory, a core's share
  double l2Read = 0, l2Write = 0;    ///< L2 to and from a core
  double l1ToL0a = 0, l1ToL0b = 0;
  double l1ToUb = 0, ubToL1 = 0;
  double l0cToUb = 0;  ///< also the rate at which a fixpipe reads L0C
  double ubToL2 = 0, ubToDdr = 0;
};

/// What a chip's load unit takes of a convolution. They are limits of the chip, not of the arithmetic.
struct LoadLimits {
  static constexpr std::int64_t kNone = std::numeric_limits<std::int32_t>::max();
  std::int64_t strideHw = kNone, strideD = kNone;
  std::int64_t dilationHw = kNone, dilationD = kNone;
  std::int64_t pad = kNone;  ///< each of the six
  std::int64_t kernelHw = kNone;
};

/// What a core of an NPU has.
struct NpuCore {
  std::string product;           ///< the vendor's name for the cards that carry it
  int architecture = 0;          ///< the vendor's number of the core's generation; 0 = not stated
  int vectorCores = 0;           ///< separate ones of the chip; 0 = a vector unit within each core
  double mhz = 0;                ///< of the cube
  std::int64_t memoryBytes = 0;  ///< 0 = not stated
  std::int64_t vectorBytes = 0;  ///< per core cycle
  bool fixpipe = false;          ///< L0C can be converted on its way to memory; without, results pass through UB
  MatrixUnit cube;
  PathRates paths;
  LoadLimits limits;
};

/// A machine that plans are made for: the host, described with the terms an NPU is described with, or an NPU.
struct Machine {
  std::string name = "host";
  int cores = 1;  ///< how many cores a plan splits for; the run may use any number of threads
  Buffers buffers;
  HostCore core = HostCore::kZen4;  ///< of the host: the one whose rates these are
  Rates rates;                      ///< of the host
  HostIsa isa;                      ///< of the host: gives the cube step, rows x (columns = lanes)
  NpuCore npu;                      ///< of an NPU

  /// Whether programs for it are run by imitating its core: it is an NPU. Each of them has a cube.
  bool isEmulated() const { return !npu.cube.products.empty(); }
  /// Null: it multiplies with vectors alone.
  const MatrixUnit* matrixUnit() const { return isEmulated() ? &npu.cube : isa.matrixUnit(); }
  bool hasMatrixUnit() const { return matrixUnit() != nullptr; }
};

/// The host as a machine. `l1dBytes`, `l2Bytes`, `l3Bytes` as detected (0 = take Zen4's 32 KiB, 1 MiB, 32 MiB).
CUBEJIT_API Machine hostMachine(const HostIsa& isa, int cores, std::int64_t l1dBytes, std::int64_t l2Bytes,
                                std::int64_t l3Bytes, HostCore core = HostCore::kZen4);

}  // namespace cubejit
