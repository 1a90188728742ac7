// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the public face of planning for NPUs: what a plan for one pass is, what it is expected to cost, and which rules a plan
// of the caller's breaks. Leaves running it to others. All functions are pure and may be called from many threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cubejit/export.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"
#include "cubejit/problem.h"
#include "cubejit/result.h"

namespace cubejit {

/// Whose kernels are to run a plan. Each asks for what the one before does, and for more.
enum class CubeKernels : std::uint8_t {
  kOwn,      ///< this library's programs: all that a core can do
  kAscendC,  ///< the kernel classes of Ascend C, as they are emulated: rows of the image staged whole, one base block along m and n in L1
  /// The vendor's own, on a chip: plans in the conventions of what its GetTiling fills. L0A and L0B double, L0C single; for dX the whole
  /// sum and base.n columns in a task, m fastest; for dW m fastest where a task has more rows than columns, else n; no groups;
  /// chips of the Atlas A2 and A3 series. Source: the documentation of the two tiling structs, and published tilings.
  kVendor
};

struct NpuPlanOptions {
  bool explain = false;  ///< fill `candidates`, `refusedBy` and `better` of the report; plans several times
  CubeKernels kernels = CubeKernels::kOwn;
  Mkn singleShape;                  ///< extents of a task that are given; 0 = free
  std::optional<BlockOrder> order;  ///< of base blocks, if it is given
  /// Plan for extents as they are, whether or not they follow from one another. They must be at least 1 and less than 2^32, and
  /// planes less than 2^40.
  bool trustExtents = false;
};

/// One buffer of a core.
struct BufferUse {
  std::string buffer;  ///< "L0A", "L0B", "L0C", "L1" or "UB"
  std::int64_t usedBytes = 0, capacityBytes = 0;
};

/// Core cycles of all cores together, in one of the pipes that run side by side.
struct PipeUse {
  std::string pipe;  ///< "cube", "l1_to_l0", "gm_to_l1", "l0c_to_gm", "fill"
  double cycles = 0;
};

struct NpuCandidate {
  TilingPlan plan;
  double predictedCycles = 0, slowestCore = 0;
  std::string bound;
};

struct NpuReport {
  TilingPlan plan;
  double predictedCycles = 0;  ///< of the slowest core, or of memory if that takes longer
  double predictedMicroseconds = 0;
  double memoryCycles = 0;  ///< the chip's memory
  double memoryBytes = 0;   ///< that it reads and writes: each tensor once, and what L2 does not hold again
  std::string bound;        ///< the pipe that takes the longest, or "memory"
  std::int64_t tasks = 0;
  std::vector<double> coreCycles;    ///< of each core of the chip
  double cubeShare = 0;              ///< of all core cycles, those in which the cube works
  double usefulShare = 0;            ///< of the cube's products, those the pass needs; the rest are zeros and padding
  double bytesIn = 0, bytesOut = 0;  ///< between memory or L2 and the cores
  std::vector<BufferUse> buffers;
  std::vector<PipeUse> pipes;
  std::vector<NpuCandidate> candidates;  ///< the cheapest, best first
  std::int64_t legal = 0, refused = 0;   ///< candidates; without `explain` those that could win
  std::vector<std::string> refusedBy;    ///< each rule that refused some, with the values of one
  std::vector<std::string> better;       ///< what would make it faster, and by how much
};

/// The best plan for dx or dw of a problem on an NPU. Errors: the problem's own rules, the chip's limits and types (kUnsupported),
/// or that no plan fits (kNoFeasiblePlan), each with values and a fix.
CUBEJIT_API Result<NpuReport> planOnNpu(const Problem& problem, Pass pass, const Machine& machine,
                                        const NpuPlanOptions& options = {});

/// What a plan of the caller's is expected to cost. It must be legal.
CUBEJIT_API Result<NpuReport> reportOnNpu(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                                          CubeKernels kernels = CubeKernels::kOwn);

/// Every rule a plan of the caller's breaks: for buffers the name, both byte counts and the field to change. Empty = legal.
/// Precondition: the problem is legal and within the chip's limits, or the rules it breaks are returned.
CUBEJIT_API std::vector<std::string> checkOnNpu(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                                                CubeKernels kernels = CubeKernels::kOwn);

}  // namespace cubejit
