// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the sizes that candidates and costs of lane-wise plans share: who gives the lanes, how many groups fit a vector.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cubejit/conv_view.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"
#include "tiling/host_shape.h"

namespace cubejit {

/// Whether both tensors of a plan with group cells are used where they lie; panels are for both or for none. Elements of 16 bits
/// are converted wherever they are read: that pays if they are read once for all they take part in, not once for each channel. Dot
/// products take pairs as they are.
inline bool cellsInPlace(const ConvView& v, Gradient gradient, const Machine& machine, bool dotProducts) {
  if (v.big.direct() && v.small.direct()) return true;
  const TensorView &result = v.bigIsX ? v.big : v.small, &operand = v.bigIsX ? v.small : v.big;
  if (dotProducts) return operand.channelsLast && result.directForVectors();
  const bool rounds = gradient == Gradient::kDx && roundsByIntegers(result.dtype, machine.isa);
  const bool depthwise = v.big.channels == 1 && v.small.channels == 1;
  return depthwise && v.big.directForVectors() && v.small.directForVectors() && !rounds;
}

struct CellsShape {
  ConvView view;
  std::int64_t laneChannels = 1,
               cellChannels = 1;          ///< per group: of the tensor that gives the lanes, of the permuted one
  std::int64_t perBlock = 0, blocks = 0;  ///< groups in a vector; vectors
  bool permuted = false;
  bool bigIsCell = false;      ///< dw: the big tensor is the permuted one
  TensorView result, operand;  ///< dx only
};

/// `dotProducts`: a cell channel is a pair of channels.
inline CellsShape cellsShape(const Problem& p, Gradient gradient, std::int64_t lanes, bool dotProducts) {
  CellsShape s;
  s.view = makeConvView(p, gradient);
  const ConvView& v = s.view;
  s.result = v.bigIsX ? v.big : v.small;
  s.operand = v.bigIsX ? v.small : v.big;
  if (gradient == Gradient::kDw) {
    const bool lanesAreBig = v.small.channels > lanes ||
                             (v.big.channels <= lanes && v.big.channels != 1 && v.big.channels >= v.small.channels);
    s.bigIsCell = !lanesAreBig;
    s.laneChannels = lanesAreBig ? v.big.channels : v.small.channels;
    s.cellChannels = lanesAreBig ? v.small.channels : v.big.channels;
  } else {
    s.laneChannels = s.result.channels;
    s.cellChannels = s.operand.channels / (dotProducts ? 2 : 1);
  }
  s.perBlock = std::min(lanes / std::max<std::int64_t>(1, s.laneChannels),
                        2 * lanes / std::max<std::int64_t>(1, s.cellChannels));
  s.blocks = s.perBlock > 0 ? divUp(v.groups, s.perBlock) : 0;
  s.permuted = s.laneChannels != 1 || s.cellChannels != 1;
  return s;
}

}  // namespace cubejit
