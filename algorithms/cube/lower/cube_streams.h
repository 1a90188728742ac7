// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the program of a chip's core refers to: its buffers, the tensors, and beside them what stands for the cube's registers.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/cube/job.h"
#include "algorithms/kit/lower/builder.h"
#include "codegen/tile/element.h"
#include "cubejit/index_map.h"
#include "cubejit/problem.h"

namespace cubejit {

/// Which tensors a job reads and writes. The image is what is unfolded; the other operand is w (dX) or the small tensor (dW).
struct CubeTensors {
  TensorId image = TensorId::kDy, other = TensorId::kW, result = TensorId::kDx;
  IndexMap imageMap, otherMap, resultMap;
};
CubeTensors tensorsOf(const CubeJob& job);
/// The tensors, where operands lie otherwise than the job's problem has them.
CubeTensors tensorsOf(const CubeJob& job, const IndexMap& image, const IndexMap& other);

/// Buffers of a program of cubes, by their numbers in it.
struct CubeBuffers {
  int image = -1, other = -1, result = -1;
  int l1 = -1, l0a = -1, l0b = -1, l0c = -1, ub = -1;
  int unfolded = -1, aWords = -1, bWords = -1;
  std::int64_t panels = 0;  ///< as in CubeStreams; set before addCoreBuffers()
};
/// Bytes of the words that the cube reads in a step along k.
struct PanelBytes {
  explicit PanelBytes(const CubeJob& job);
  std::int64_t a = 0, b = 0;
};
/// Steps along k of a task's block, if what the cube reads in them fits the host's L2; else 1.
std::int64_t panelsOfBlock(const CubeJob& job);
/// Names the units of a core in the program.
void addCoreUnits(ProgramBuilder& b);
/// Adds those of a core and its units; buffers are of the chip's sizes. `kept`: of L1 and L0C, which blocks share.
void addCoreBuffers(ProgramBuilder& b, const CubeJob& job, Buffer::Use kept, CubeBuffers& buffers);

/// Where the taps of one kernel depth lie in a tensor of weights.
inline std::vector<std::int64_t> offsetsOfTaps(const IndexMap& weights, const CubeWork& work) {
  std::vector<std::int64_t> offsets;
  for (std::int64_t tap = 0; tap < work.tapsHw; ++tap)
    offsets.push_back(weights.along(3, tap / work.kernel.w) + weights.along(4, tap % work.kernel.w));
  return offsets;
}

/// Streams of the phase that the cubes work in; each begins where its buffer does.
struct CubeStreams {
  int image = -1, other = -1;
  int result = -1;  ///< dX: dx. dW: the sums
  int l1 = -1, l0a = -1, l0b = -1, l0c = -1, ub = -1;
  int unfolded = -1;  ///< runs of an image on their way to L0B, which the chip's load unit holds itself
  int aWords = -1,
      bWords = -1;  ///< what the cube has read from L0A, [k1][m][c0], and from L0B, [n1][k1][c0][16], as f32
  /// So many of each lie behind each other, and are kept until as many others have been read. 0: there is room for one, which is not kept.
  std::int64_t panels = 0;
};
/// Adds them to a phase.
CubeStreams addStreams(ProgramBuilder& b, const CubeTensors& tensors, const CubeBuffers& buffers, const char* result);

/// How moves convert elements of a tensor: HF32 is f32 in memory.
inline Element elementInMemory(DType type) { return byteSize(type) == 4 ? Element::kF32 : elementOf(type); }
/// How moves copy elements of that size.
inline Element wordOf(std::int64_t bytes) { return bytes == 4 ? Element::kF32 : Element::kHalf; }

/// The distance of neighbours along an axis that is not split; 0 if there is one coordinate only.
inline std::int64_t strideOf(const IndexMap& map, std::size_t axis) {
  return map.extent[axis] > 1 ? map.along(axis, 1) - map.along(axis, 0) : 0;
}

}  // namespace cubejit
