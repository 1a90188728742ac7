// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the pixels a weight gradient sums over are cut into chunks, and which of a chunk's pixels each kernel tap uses.
// A chunk is what one visit of a tile of dW sums up before the next tile's turn, so that its operands stay in cache.
// Leaves the instructions to lower_weights.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/kit/column_runs.h"
#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/range.h"

namespace cubejit {

/// Pixels of the small tensor: images x depths x rows x columns.
struct PixelChunk {
  Range n, d, h, w;
  bool first = false;  ///< the first of its reduction split: accumulators start from zero
  int cls = 0;         ///< chunks of one class differ only by where they start
};

/// The small positions o, relative to `own.lo`, with 0 <= o*stride + k*dilation - pad < bigExtent.
Range validPixels(const Range& own, std::int64_t k, std::int64_t stride, std::int64_t dilation, std::int64_t pad,
                  std::int64_t bigExtent);

/// The big positions a range of small positions may read, unclipped origin and clipped range.
struct BigRange {
  std::int64_t origin = 0;
  Range clipped;
};
BigRange bigRange(const Range& own, std::int64_t kernel, std::int64_t stride, std::int64_t dilation, std::int64_t pad,
                  std::int64_t bigExtent);

struct ChunkSizes {
  std::int64_t images = 1, depths = 1, rows = 1,
               columns = 1;  ///< at most; a size below the extent forces 1 on the sizes before it
};

struct ChunkList {
  std::vector<PixelChunk> chunks;
  int classes = 0;
  std::vector<int> representative;  ///< a chunk of each class
};

/// All chunks, images first; `splits` contiguous groups of them are summed apart (each group's first chunk is marked).
ChunkList makeChunks(const ConvView& view, const ChunkSizes& sizes, std::int64_t splits);

/// Runs of the chunk's columns for the taps k0 .. k0+taps along W, relative to the chunk and the block.
std::vector<ColumnRun> columnRuns(const ConvView& view, const PixelChunk& chunk, std::int64_t k0, std::int64_t taps);

}  // namespace cubejit
