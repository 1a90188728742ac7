// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what dw's last cast is specialised on where taps are neighbours in dw, and the move of the first IR it then is: c0 channels
// at all taps of a depth, turned. Leaves casting by other layouts to out_code.
#pragma once

#include <cstdint>

#include "codegen/tile/program.h"

namespace cubejit {

struct CastShape {
  std::int64_t taps = 1, channels = 16;
  std::int64_t tapPitch = 0;      ///< bytes from a tap's sums to the next one's
  std::int64_t channelPitch = 0;  ///< bytes from a channel's taps in dw to the next one's
  DType type = DType::kF32;       ///< of dw
  friend bool operator==(const CastShape& a, const CastShape& b) = default;
};

/// As many taps as one kernel turns; more are cast one by one.
inline constexpr std::int64_t kMostTurnedTaps = 64;

inline Kernel castKernel(const CastShape& shape, int lanes) {
  Move m;
  m.kind = MoveKind::kTranspose;
  m.lanes = lanes;
  m.rows = shape.taps;
  m.cols = shape.channels;
  m.srcPitch = shape.tapPitch;
  m.dstPitch = shape.channelPitch;
  m.to = byteSize(shape.type) == 4 ? Element::kF32 : elementOf(shape.type);
  m.label = "cast_taps";
  return m;
}

}  // namespace cubejit
