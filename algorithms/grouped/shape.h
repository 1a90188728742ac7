// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the sizes that candidates and costs of grouped plans share: who gives the lanes, how many groups fit a vector.
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithms/grouped/groups_of_vector.h"
#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/rates.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"

namespace cubejit {

/// Whether a tensor of a plan with groups side by side has a panel, or is used where it lies.
enum class GroupPanel : std::uint8_t { kNever, kMay, kMust };

/// Whether the operand is copied to a panel: elements of 16 bits are converted wherever they are read, in a panel once. Depthwise kernels read them
/// about once. Blocked tensors have their channels side by side already.
inline GroupPanel operandPanel(const TensorView& t, bool depthwise) {
  if (t.c0 > 0) return GroupPanel::kNever;
  if (!t.directForVectors()) return GroupPanel::kMust;
  return t.direct() || depthwise ? GroupPanel::kNever : GroupPanel::kMay;
}

/// dX: whether results are built in a panel and moved out. Others are converted as they are stored, unless that takes many instructions.
inline bool buffersResults(const TensorView& result, const HostIsa& isa) {
  return result.c0 == 0 && (!result.directForVectors() || roundsByIntegers(result.dtype, isa));
}

struct GroupPanels {
  GroupPanel a = GroupPanel::kNever;  ///< the tensor whose channels are permuted
  GroupPanel b = GroupPanel::kNever;  ///< dW: the one whose channels are lanes
};

struct GroupedShape {
  ConvView view;
  std::int64_t vectorChannels = 1,
               permutedChannels = 1;      ///< per group: of the tensor that gives the lanes, of the permuted one
  std::int64_t perBlock = 0, blocks = 0;  ///< groups in a vector; vectors
  bool permuted = false;
  bool bigIsPermuted = false;  ///< dw: the big tensor is the permuted one
  TensorView result, operand;  ///< dx only
  /// dx: channels that a blocked result has, but the problem does not, become zero: lanes without an operand that fill the block.
  bool clearsLastBlock() const {
    return result.c0 == 0 || view.groups * result.channels % result.c0 == 0 || (!permuted && perBlock == result.c0);
  }
  /// Whether a kernel can work on several vectors side by side.
  bool spacesEvenly() const {
    return view.big.spacesEvenly(perBlock * view.big.channels) &&
           view.small.spacesEvenly(perBlock * view.small.channels);
  }
};

/// dW: whether vectors are the small tensor's channels, and the big one is permuted to them. So it is for depthwise layers, whose small
/// pixels all taps reuse, and where the small tensor's groups are wider; groups of equal width permute the small tensor, whose pixels are
/// fewer than the positions their taps reach.
inline bool permutesBig(const ConvView& v, std::int64_t lanes) {
  return v.small.channels <= lanes &&
         (v.big.channels > lanes || v.big.channels == 1 || v.big.channels < v.small.channels);
}

/// `dotProducts`: a group channel is a pair of channels.
inline GroupedShape groupedShape(const Problem& p, Pass pass, std::int64_t lanes, bool dotProducts) {
  GroupedShape s;
  s.view = makeConvView(p, pass);
  const ConvView& v = s.view;
  s.result = v.bigIsX ? v.big : v.small;
  s.operand = v.bigIsX ? v.small : v.big;
  if (pass == Pass::kDw) {
    s.bigIsPermuted = permutesBig(v, lanes);
    s.vectorChannels = s.bigIsPermuted ? v.small.channels : v.big.channels;
    s.permutedChannels = s.bigIsPermuted ? v.big.channels : v.small.channels;
  } else {
    s.vectorChannels = s.result.channels;
    s.permutedChannels = s.operand.channels / (dotProducts ? 2 : 1);
  }
  const bool lanesAreBig = pass == Pass::kDw ? !s.bigIsPermuted : v.bigIsX;
  s.perBlock = groupsInBlocks(groupsOfVector(lanes, s.vectorChannels, s.permutedChannels), lanes,
                              lanesAreBig ? v.big : v.small, lanesAreBig ? v.small : v.big, dotProducts);
  s.blocks = s.perBlock > 0 ? divUp(v.groups, s.perBlock) : 0;
  s.permuted = s.vectorChannels != 1 || s.permutedChannels != 1;
  return s;
}

inline GroupPanels groupPanels(const GroupedShape& s, Pass pass, const Machine& machine, bool dotProducts) {
  const ConvView& v = s.view;
  const bool depthwise = v.big.channels == 1 && v.small.channels == 1;
  if (pass == Pass::kDw)
    return {operandPanel(s.bigIsPermuted ? v.big : v.small, depthwise),
            operandPanel(s.bigIsPermuted ? v.small : v.big, depthwise)};
  const bool rounds = roundsByIntegers(s.result.dtype, machine.isa);
  GroupPanels panels;
  panels.a = !dotProducts                                 ? operandPanel(s.operand, depthwise && !rounds)
             : s.operand.channelsLast || s.operand.c0 > 0 ? GroupPanel::kNever
                                                          : GroupPanel::kMust;  // pairs are words
  return panels;
}

}  // namespace cubejit
