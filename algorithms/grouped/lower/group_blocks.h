// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how small groups share a vector: each group's channels lie side by side, a block is as many whole groups as fit.
// Lane l of a block is channel l % laneChannels of group l / laneChannels in the `lane` tensor; the other (`group`) tensor's channel
// j of every group is brought to those lanes by a permutation. For dot products a group channel is a pair of channels. Leaves which
// tensor is which to the lowerings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/lower/builder.h"

namespace cubejit {

struct GroupLanes {
  int lanes = 16;  ///< of a vector
  std::int64_t groups = 1;
  std::int64_t vectorChannels = 1;    ///< channels per group of the tensor whose channels are lanes
  std::int64_t permutedChannels = 1;  ///< channels per group of the permuted tensor
  std::int64_t perBlock = 0;          ///< groups in a block; 0 = a group does not fit
  std::int64_t blocks = 0;
  std::int64_t secondPitch = 0;  ///< bytes from a permuted operand's first vector to its second one; 0 = it follows

  /// Grouped in blocks of class 0 (full) or 1 (the last, shorter one); 0 if there is no such block.
  std::int64_t groupsOf(int cls) const { return cls == 1 ? groups % perBlock : groups >= perBlock ? perBlock : 0; }
  int classOf(std::int64_t block) const { return classOfUnit(block, 1); }
  bool depthwise() const { return vectorChannels == 1 && permutedChannels == 1; }

  /// Blocks that one kernel works on are a unit: `width` neighbours, fewer in the last one.
  std::int64_t units(std::int64_t width) const { return (blocks + width - 1) / width; }
  /// Grouped of each block of the units of class 0 (full) or 1 (the last, smaller one); empty if there is no such unit.
  std::vector<std::int64_t> groupsOfUnit(int cls, std::int64_t width) const;
  int classOfUnit(std::int64_t unit, std::int64_t width) const {
    return (unit + 1) * width * perBlock <= groups ? 0 : 1;
  }
  LaneRange usedLanes(std::int64_t groups) const;
  /// Packed weights of a block, in bytes, are [tap][group channel][lanes].
  std::int64_t tapBytes() const { return permutedChannels * lanes * 4; }
};

/// Grouped of each of a unit's blocks, in a kernel's name.
std::string unitLabel(const std::vector<std::int64_t>& groups);

GroupLanes makeGroupLanes(int lanes, std::int64_t groups, std::int64_t vectorChannels, std::int64_t permutedChannels);
/// The same for tensors that may be blocked; `pairs`: a group channel is two channels.
GroupLanes makeGroupLanes(int lanes, std::int64_t groups, const TensorView& lane, const TensorView& group, bool pairs);

/// The operand "channel j of every group, on all of the group's lanes" at `offset`, without uses; adds its table to the microkernel,
/// whose `vectorsA` is known.
AOperand groupOperand(const GroupLanes& lanes, std::int64_t groups, std::int64_t j, std::int64_t offset,
                      Contract& contract);

/// Where weight (group, group channel j, lane channel, tap) lies: bytes between neighbours.
/// Pairs of bf16 are packed as one word (unpacked are f32 only): the second member lies `pairPitch` behind the first.
struct GroupWeights {
  std::int64_t groupPitch = 0, permutedPitch = 0, vectorPitch = 0;
  Dhw kernel, tap;
  std::int64_t pairPitch = 0;
};

/// Adds the phase weights -> [block][tap][group channel][lanes] (idle lanes zero), and the one that goes back.
void addGroupPack(ProgramBuilder& b, const GroupLanes& lanes, const GroupWeights& weights, int weightBuffer,
                  int packedBuffer);
void addGroupUnpack(ProgramBuilder& b, const GroupLanes& lanes, const GroupWeights& weights, int packedBuffer,
                    int weightBuffer);

}  // namespace cubejit
