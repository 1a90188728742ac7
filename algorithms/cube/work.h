// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a pass is to a cube: its matrix extents, the unfolded operand, and which depths meet.
// Leaves to plans how it is cut.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cubejit/index_map.h"
#include "cubejit/machine.h"
#include "cubejit/mkn.h"
#include "cubejit/npu.h"
#include "cubejit/problem.h"
#include "tiling/rounding.h"

namespace cubejit {

/// Depths by how many kernel depths meet the unfolded operand there. Tasks at depths of one kind cost the same.
struct DepthKinds {
  static constexpr std::size_t kMost = 8;
  using Counts = std::array<std::int32_t, kMost>;
  std::vector<std::int64_t>
      meets;  ///< of each kind; kinds beyond kMost share one with a neighbour, at the larger value
  std::vector<std::int64_t> counts;  ///< depths of each kind
  std::vector<std::uint8_t> kindOf;  ///< of each depth; empty: all are of kind 0
  std::vector<Counts> below;         ///< [d][kind]: depths below d of that kind
};

/// One pass of a legal problem as matrix products, one for each image, real group and depth.
///
/// dX: M = pixels of one depth of dx, N = its channels, K = channels of dy x taps of one depth, once for each kernel depth that
/// meets one of dy. The unfolded operand is dy (operand A), spread by the stride with zeros in between, or, for a transposed convolution,
/// read with the stride.
/// dW: M = channels of the small tensor, N = channels of the big one x taps of one depth, K = pixels of one depth of the small
/// tensor. The unfolded operand is the big tensor (operand B). One task for each pair of a depth and a kernel depth.
struct CubeWork {
  Pass pass = Pass::kDx;
  DType type = DType::kF16;
  std::int64_t c0 = 16, elementBytes = 2, resultBytes = 2;
  bool spread = true;  ///< the unfolded operand is spread by the stride (dX of an ordinary convolution)
  CubeKernels kernels = CubeKernels::kOwn;
  std::int64_t batch = 1;
  RealGroups groups;  ///< inner = the big tensor's channels, outer = the small one's
  std::int64_t smallBlocks =
      1;       ///< blocks of c0 channels of the small tensor in a real group; groups.blocksC of the big one
  Dhw pixels;  ///< dX: extent of dx. dW: extent of the small tensor
  Dhw image;   ///< extent of the unfolded operand
  Dhw kernel, stride, dilation, pad;
  std::int64_t tapsHw = 1;
  Mkn gemm;                 ///< of one depth; dX: k of one kernel depth
  std::int64_t blocks = 1;  ///< channel blocks of the unfolded operand in a real group
  std::int64_t depths = 1;  ///< depths that tasks are made for: of dx, or of the small tensor times those of the kernel
  /// For each depth (dX) how many kernel depths meet the unfolded operand; for each depth and kernel depth (dW) whether they do, 1 or 0.
  /// Too many depths to list are all taken to meet everything.
  DepthKinds depthKinds;
  double readBytes = 0, writtenBytes = 0;  ///< of the tensors in memory, channels padded to blocks

  /// Whether rows of the unfolded operand are staged whole.
  bool wholeRows() const { return kernels != CubeKernels::kOwn; }
  /// Columns of N (dW) or rows of K (dX) that one channel block of the unfolded operand gives.
  std::int64_t blockUnit() const { return tapsHw * c0; }
  /// Pixels along one row: what M (dX) or K (dW) of a task is a multiple of, or less than.
  std::int64_t row() const { return pixels.w; }
};

/// Precondition: `problem` passed checkProblem; `pass` is dx or dw; batch > 0.
/// The type comes from the problem: that of dy, in the width the machine's cube has of hf32.
CubeWork cubeWorkOf(const Problem& problem, Pass pass, const Machine& machine, CubeKernels kernels = CubeKernels::kOwn);

/// What the machine's cube multiplies for a problem: the type of dy, in the width the cube has of hf32.
DType cubeOperandOf(const Problem& problem, const Machine& machine);

}  // namespace cubejit
