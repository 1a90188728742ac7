// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the scratch that weight-gradient accumulators live in, and the phases that combine reduction splits (in order) and
// bring the result into the caller's order.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/kit/lower/builder.h"
#include "algorithms/kit/weight_order.h"

namespace cubejit {

/// Scratch order: [split][group][lane block][row channel][tap][width] of f32.
struct WeightsScratch {
  std::int64_t groups = 1, laneBlocks = 1, rows = 1, taps = 1, width = 16, splits = 1;
  std::int64_t laneChannels = 1;    ///< real lanes a group
  int lanes = 16;                   ///< of a vector
  bool operandsTransposed = false;  ///< lanes are the small tensor's channels, rows the big one's
  Dhw kernel;                       ///< its taps
  int scratchBuffer = -1, dwBuffer = -1;
  Element dwElement = Element::kF32;
  WeightOrder dw;
  /// Bytes of dw from one row to the next, from one lane to the next.
  std::int64_t dwRow() const { return operandsTransposed ? dw.big : dw.small; }
  std::int64_t dwLane() const { return operandsTransposed ? dw.small : dw.big; }
};

inline std::int64_t groupScratchBytes(const WeightsScratch& s) { return s.laneBlocks * s.rows * s.taps * s.width * 4; }
inline std::int64_t scratchBytes(const WeightsScratch& s) { return s.groups * groupScratchBytes(s); }

/// Equal parts, one after the other in a buffer of f32.
struct AddedParts {
  int buffer = -1;
  std::int64_t parts = 1, bytes = 0;  ///< bytes of a part, a whole number of f32
  int lanes = 16;
};
/// Adds the phases that sum the parts, in order, into the first: all of them, or where they are many by groups.
void addPartsCombine(ProgramBuilder& b, const AddedParts& added);

/// Adds the combine phase (if there is more than one split) and the unpack phase.
void addWeightsUnpack(ProgramBuilder& b, const WeightsScratch& s);

struct UnpackStreams {
  int acc = -1, dw = -1;
};

/// The nodes that unpack the accumulators of one block where a task keeps them; they stand within loops over `rows` (blocks of
/// `registerRows`) and `lanes`, the axes the task sums over. Those move the accumulators' stream as the task wants, and get the deltas
/// of dw here. Their class 1 is the narrow block.
std::vector<Node> unpackBlock(ProgramBuilder& b, const WeightsScratch& s, std::int64_t registerRows,
                              UnpackStreams streams, int rows, int lanes);

/// The node of a task that unpacks all its accumulators.
Node unpackTask(ProgramBuilder& b, const WeightsScratch& s, std::int64_t registerRows, UnpackStreams streams, int rows,
                int lanes);

}  // namespace cubejit
