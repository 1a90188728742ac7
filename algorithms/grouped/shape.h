// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the sizes that candidates and costs of lane-wise plans share: who gives the lanes, how many groups fit a vector.
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithms/grouped/groups_of_vector.h"
#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/rates.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"

namespace cubejit {

/// Whether a tensor of a plan with group cells has a panel, or is used where it lies.
enum class CellPanel : std::uint8_t { kNever, kMay, kMust };

/// Of what is multiplied: elements of 16 bits are converted wherever they are read, in a panel once. Depthwise kernels read them
/// about once. Blocked tensors have their channels side by side already.
inline CellPanel operandPanel(const TensorView& t, bool depthwise) {
  if (t.c0 > 0) return CellPanel::kNever;
  if (!t.directForVectors()) return CellPanel::kMust;
  return t.direct() || depthwise ? CellPanel::kNever : CellPanel::kMay;
}

struct CellPanels {
  CellPanel a = CellPanel::kNever;  ///< the tensor whose channels are permuted
  CellPanel b = CellPanel::kNever;  ///< dW: the one whose channels are lanes
  CellPanel c = CellPanel::kNever;  ///< dX: the result, converted as it is stored unless that takes many instructions
};

struct CellsShape {
  ConvView view;
  std::int64_t laneChannels = 1,
               cellChannels = 1;          ///< per group: of the tensor that gives the lanes, of the permuted one
  std::int64_t perBlock = 0, blocks = 0;  ///< groups in a vector; vectors
  bool permuted = false;
  bool bigIsCell = false;      ///< dw: the big tensor is the permuted one
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

/// `dotProducts`: a cell channel is a pair of channels.
inline CellsShape cellsShape(const Problem& p, Gradient gradient, std::int64_t lanes, bool dotProducts) {
  CellsShape s;
  s.view = makeConvView(p, gradient);
  const ConvView& v = s.view;
  s.result = v.bigIsX ? v.big : v.small;
  s.operand = v.bigIsX ? v.small : v.big;
  if (gradient == Gradient::kDw) {
    s.bigIsCell = v.small.channels <= lanes &&
                  (v.big.channels > lanes || v.big.channels == 1 || v.big.channels < v.small.channels);
    s.laneChannels = s.bigIsCell ? v.small.channels : v.big.channels;
    s.cellChannels = s.bigIsCell ? v.big.channels : v.small.channels;
  } else {
    s.laneChannels = s.result.channels;
    s.cellChannels = s.operand.channels / (dotProducts ? 2 : 1);
  }
  const bool lanesAreBig = gradient == Gradient::kDw ? !s.bigIsCell : v.bigIsX;
  s.perBlock = cellsInBlocks(cellsOfVector(lanes, s.laneChannels, s.cellChannels), lanes, lanesAreBig ? v.big : v.small,
                             lanesAreBig ? v.small : v.big, dotProducts);
  s.blocks = s.perBlock > 0 ? divUp(v.groups, s.perBlock) : 0;
  s.permuted = s.laneChannels != 1 || s.cellChannels != 1;
  return s;
}

inline CellPanels cellPanels(const CellsShape& s, Gradient gradient, const Machine& machine, bool dotProducts) {
  const ConvView& v = s.view;
  const bool depthwise = v.big.channels == 1 && v.small.channels == 1;
  if (gradient == Gradient::kDw)
    return {operandPanel(s.bigIsCell ? v.big : v.small, depthwise),
            operandPanel(s.bigIsCell ? v.small : v.big, depthwise)};
  const bool rounds = roundsByIntegers(s.result.dtype, machine.isa);
  CellPanels panels;
  panels.a = !dotProducts                                 ? operandPanel(s.operand, depthwise && !rounds)
             : s.operand.channelsLast || s.operand.c0 > 0 ? CellPanel::kNever
                                                          : CellPanel::kMust;  // pairs are words
  const bool inPlace = s.result.c0 > 0 || (s.result.directForVectors() && !rounds);
  panels.c = inPlace ? CellPanel::kNever : CellPanel::kMust;
  return panels;
}

}  // namespace cubejit
