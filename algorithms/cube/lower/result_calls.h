// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which calls bring a base block from L0C to memory: dx in its layout and type, or sums of dW. A chip without a fixpipe does so by
// way of UB, 16 columns at a time.
#pragma once

#include "algorithms/cube/block_stream.h"
#include "algorithms/cube/lower/cube_streams.h"
#include "algorithms/cube/lower/cube_sums.h"
#include "algorithms/cube/lower/listed_moves.h"
#include "algorithms/lower_task.h"

namespace cubejit {

/// Brings, or adds, `rows` x `columns` of a block at byte `l0c` to where the result's stream begins.
void storeBlock(const Machine& machine, const CubeStreams& streams, const BlockPitches& result, std::int64_t rows,
                std::int64_t columns, std::int64_t l0c, int lanes, CallSequence& calls);

class ResultCalls {
 public:
  /// `add`: dX is summed by several tasks.
  ResultCalls(const CubeJob& job, const CubeTensors& tensors, const CubeStreams& streams, const CubeSums& sums,
              bool add, int lanes);

  /// Stores the block at byte `l0c`. A block that nothing contributes to is written as zero, or left alone where blocks are added.
  void store(const CoreTask& task, const CubeBlock& block, std::int64_t l0c, CallSequence& calls) const;

 private:
  /// Columns [first, first + count) of the block; their sums lie at `from`, rows 64 bytes apart.
  void storeDx(const CoreTask& task, const CubeBlock& block, std::int64_t first, std::int64_t count, StreamPlace from,
               std::int64_t fractalPitch, CallSequence& calls) const;
  void addDw(const CoreTask& task, const CubeBlock& block, std::int64_t first, std::int64_t count, StreamPlace from,
             CallSequence& calls) const;

  const CubeJob& job_;
  const CubeWork& w_;
  const CubeTensors& t_;
  const CubeStreams& s_;
  const CubeSums& sums_;
  const bool add_;
  const int lanes_;
};

}  // namespace cubejit
