// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides one view that ordinary and transposed convolutions share, so that each gradient is planned and lowered once.
// Every convolution relates a `small` tensor (positions o) to a `big` one (positions i) by  i = o*stride + k*dilation - pad.
// Ordinary: big = x, small = y. Transposed: big = y, small = x. Weights are [small channel][big channel / groups][taps] in both.
// Pointwise problems (1x1, stride 1, no padding) are presented as one axis of pixels.
// A strided activation is channels-last or plain with gaps if its channels, or the pixels of a row, are neighbours; any other one lies in
// blocks of one channel.
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithms/kit/chains.h"
#include "algorithms/kit/range.h"
#include "cubejit/index_map.h"
#include "cubejit/problem.h"

namespace cubejit {

/// Byte distances between channels: equal ones, or those of a tensor in blocks.
struct ChannelPitch {
  std::int64_t each = 0;            ///< between neighbours (of a block)
  std::int64_t c0 = 0, blocks = 0;  ///< channels of a block (0: no blocks), bytes between blocks
  /// Bytes from channel 0 to channel `c`.
  std::int64_t to(std::int64_t c) const { return c0 > 0 ? c / c0 * blocks + c % c0 * each : c * each; }
};

/// An activation tensor: extents and byte strides.
struct TensorView {
  std::int64_t channels = 1;  ///< per group
  Dhw extent;
  std::int64_t nStride = 0, cStride = 0, dStride = 0, hStride = 0, wStride = 0;
  bool channelsLast = false;  ///< cStride is one element
  DType dtype = DType::kF32;
  std::int64_t c0 = 0, blockStride = 0;  ///< NDC1HWC0: channels of a block (0: not blocked), bytes between blocks
  std::int64_t bytes = 0;                ///< of its elements, and of what fills up blocks
  std::int64_t span = 0;                 ///< from its first element to behind its last one: of its buffer
  std::int64_t strideOf(int axis) const { return axis == 0 ? dStride : axis == 1 ? hStride : wStride; }
  ChannelPitch channelPitch() const { return {cStride, c0, blockStride}; }
  /// Bytes from channel 0 to channel `c`.
  std::int64_t channelOffset(std::int64_t c) const { return channelPitch().to(c); }
  std::int64_t groupStride() const { return channelOffset(channels); }
  /// Rows of W follow each other.
  bool denseRows() const { return hStride == extent.w * wStride; }
  /// Pieces of `each` channels are equally far apart.
  bool spacesEvenly(std::int64_t each) const { return c0 == 0 || each % c0 == 0; }
  /// Tiles of `each` channels, one after another, all lie alike: each of them is whole blocks that displacements reach, or each block
  /// is whole tiles.
  bool tilesLieAlike(std::int64_t each) const {
    constexpr std::int64_t kMostTileBytes = std::int64_t{1} << 29;
    return c0 == 0 || c0 % each == 0 || (each % c0 == 0 && channelOffset(each) <= kMostTileBytes);
  }
  /// Vectors of `lanes` channels, `each` channels of them a tile, can be read where they lie if 16-bit elements are converted on the way.
  bool vectorsInPlace(std::int64_t lanes, std::int64_t each) const {
    const bool sideBySide = channelsLast || (c0 > 0 && c0 % lanes == 0 && tilesLieAlike(each));
    return sideBySide && (dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBf16);
  }
  /// Tiles of `each` channels can be broadcast where they lie.
  bool scalarsInPlace(std::int64_t each) const { return dtype == DType::kF32 && tilesLieAlike(each); }
  /// The same for sums over channels, or pairs of bf16, `steps` of them in an iteration.
  bool sumsInPlace(bool pairs, std::int64_t steps) const {
    if (c0 == 0) return directFor(pairs);
    const std::int64_t words = pairs ? c0 / 2 : c0;
    return (pairs ? channels % 2 == 0 && c0 % 2 == 0 : dtype == DType::kF32) && words % steps == 0;
  }
  /// Vectors of results can be stored where they lie: blocks are full, so that no channel behind the last one is left as it was.
  bool resultsInPlace(std::int64_t lanes, std::int64_t each) const {
    return channelsLast || (c0 > 0 && c0 % lanes == 0 && channels % c0 == 0 && tilesLieAlike(each));
  }
  /// Channels are planes: what a panel takes is transposed.
  bool plain() const { return !channelsLast && c0 == 0; }
  /// Vectors of channels can be read and FMA operands broadcast where they lie.
  bool direct() const { return channelsLast && dtype == DType::kF32; }
  /// Vectors of channels can be read, and written, where they lie if 16-bit elements are converted on the way.
  bool directForVectors() const {
    return channelsLast && (dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBf16);
  }
  /// The same where pairs of bf16 channels are broadcast to dot products.
  bool directFor(bool dotProducts) const { return dotProducts ? channelsLast && channels % 2 == 0 : direct(); }
  /// Channels that are summed over, or pairs of them: the last one may be half empty.
  std::int64_t words(bool pairs) const { return pairs ? (channels + 1) / 2 : channels; }
};

struct ConvView {
  std::int64_t batch = 1, groups = 1;
  TensorView big, small;
  Dhw kernel, stride, dilation, pad;  ///< pad before
  bool bigIsX = true;
  bool oneAxis = false;     ///< only one axis has extent, kernel or padding: W, or H if oneAxisOnH
  bool oneAxisOnH = false;  ///< it lies on H (W = 1), so that it can be cut into cache blocks of rows
  std::int64_t taps() const { return kernel.volume(); }
  /// dW: whether reduction blocks are pieces of rows.
  bool cutsRows() const { return oneAxis || small.extent.w > kLongestRow; }
};

namespace conv_view_detail {

inline TensorView makeTensor(std::int64_t batch, std::int64_t channels, std::int64_t groups, const Dhw& extent,
                             const TensorFormat& format) {
  TensorView t;
  const std::int64_t cTotal = channels, elementBytes = byteSize(format.dtype);
  t.channels = channels / groups;
  t.extent = extent;
  t.dtype = format.dtype;
  // Around a single position channels follow each other in every order.
  const bool single = extent.volume() == 1;
  if (format.layout == Layout::kNdc1hwc0 && !(single && cTotal % format.blockChannels() == 0)) {
    t.c0 = format.blockChannels();
    t.cStride = elementBytes;
    t.wStride = t.c0 * elementBytes;
    t.hStride = extent.w * t.wStride;
    t.blockStride = extent.h * t.hStride;
    t.dStride = (cTotal + t.c0 - 1) / t.c0 * t.blockStride;
    t.nStride = extent.d * t.dStride;
    t.bytes = t.span = batch * t.nStride;
    return t;
  }
  t.channelsLast = format.layout == Layout::kNdhwc || single;
  const std::int64_t inner = t.channelsLast ? cTotal * elementBytes : elementBytes;
  t.cStride = t.channelsLast ? elementBytes : extent.volume() * elementBytes;
  t.wStride = inner;
  t.hStride = extent.w * inner;
  t.dStride = extent.h * t.hStride;
  t.nStride = cTotal * extent.volume() * elementBytes;
  t.bytes = t.span = batch * t.nStride;
  return t;
}

/// Bytes between neighbours of a strided activation. Axes of one element lie as if there were a neighbour behind what is inside of them.
struct Gaps {
  std::int64_t n = 0, c = 0, d = 0, h = 0, w = 0;
  bool channelsLast = false, apart = false;  ///< apart: neither channels nor pixels are neighbours
  bool far = false;                          ///< the pixels or rows of a step span more than displacements reach
  bool pixelsFollow = false;                 ///< all of an image are equally far apart
  bool imagesFollow = false;                 ///< and so are those of all images
};

inline Gaps gapsOf(const Problem& p, TensorId t) {
  const TensorFormat f = formatOf(p, t);
  const Dhw& e = isOfOutput(t) ? p.out : p.in;
  const std::int64_t bytes = byteSize(f.dtype), channels = isOfOutput(t) ? p.cout : p.cin;
  const auto stride = [&](std::size_t axis) { return f.strides[axis] * bytes; };
  Gaps g;
  g.c = channels > 1 ? stride(1) : bytes;
  g.w = e.w > 1 ? stride(4) : e.h > 1 ? stride(3) : e.d > 1 ? stride(2) : p.batch > 1 ? stride(0) : bytes;
  g.h = e.h > 1 ? stride(3) : e.w * g.w;
  g.d = e.d > 1 ? stride(2) : e.h * g.h;
  g.n = p.batch > 1 ? stride(0) : e.d * g.d;
  g.channelsLast = g.c == bytes && (channels > 1 || g.w != bytes);
  g.apart = !g.channelsLast && g.w != bytes;
  constexpr std::int64_t kReach = std::int64_t{1} << 29, kPixels = 256, kRows = 16;
  g.far = std::min(e.w, kPixels) * g.w > kReach || std::min(e.h, kRows) * g.h > kReach;
  g.pixelsFollow = g.h == e.w * g.w && g.d == e.h * g.h;
  g.imagesFollow = g.channelsLast && g.pixelsFollow && g.n == e.d * g.d;
  return g;
}

/// `extent`: as the view has it.
inline TensorView makeStrided(const Problem& p, TensorId id, const ConvView& v, const Dhw& extent) {
  const Gaps g = gapsOf(p, id);
  TensorView t;
  t.dtype = formatOf(p, id).dtype;
  const std::int64_t channels = isOfOutput(id) ? p.cout : p.cin, bytes = byteSize(t.dtype);
  t.channels = channels / p.groups;
  t.extent = extent;
  t.channelsLast = g.channelsLast;
  t.cStride = g.apart ? bytes : g.c;
  t.c0 = g.apart ? 1 : 0;
  t.blockStride = g.apart ? g.c : 0;
  t.wStride = g.w;
  t.hStride = v.oneAxis ? extent.w * g.w : g.h;
  t.dStride = v.oneAxis ? extent.h * t.hStride : g.d;
  t.nStride = g.n;
  t.bytes = v.batch * channels * extent.volume() * bytes;
  t.span = formatBytes(p, id);
  return t;
}

inline bool pixelsFollow(const Problem& p, TensorId t) {
  return !formatOf(p, t).strided() || gapsOf(p, t).pixelsFollow;
}
inline bool imagesFollow(const Problem& p, TensorId t) {
  const TensorFormat f = formatOf(p, t);
  return f.strided() ? gapsOf(p, t).imagesFollow : f.layout == Layout::kNdhwc;
}

inline bool isPointwise(const Problem& p) {
  const Dhw one{1, 1, 1}, zero{0, 0, 0};
  return p.kernel == one && p.stride == one && p.padBefore == zero && p.padAfter == zero && p.in == p.out;
}

inline bool hasOneAxis(const Problem& p) {
  return p.in.d == 1 && p.in.h == 1 && p.out.d == 1 && p.out.h == 1 && p.kernel.d == 1 && p.kernel.h == 1 &&
         p.padBefore.d == 0 && p.padBefore.h == 0;
}

inline void moveLineToH(Dhw& v, std::int64_t neutral) {
  v.h = v.w;
  v.w = neutral;
}

/// The number of equal rows of whole vectors that so many pixels are cut into: enough for the cores that there are, but long rows, as short ones
/// are slower (Zen 4: rows of 512 pixels of 64 channels take three times as long).
inline std::int64_t equalRows(std::int64_t pixels) {
  constexpr std::int64_t kMostRows = 64, kShortestRow = 4096, kLanes = 16;
  for (std::int64_t rows = std::min(kMostRows, pixels / kShortestRow); rows > 1; --rows) {
    if (pixels % (rows * kLanes) == 0) return rows;
  }
  return 1;
}

/// How many images of a batch are taken as planes of one: a batch of millions would be an axis of as many steps, two axes have thousands.
inline std::int64_t imagesAsPlanes(const Problem& p) {
  constexpr std::int64_t kManyImages = 1 << 16, kMostPlanes = 1 << 12;
  const bool flat = p.in.d == 1 && p.out.d == 1 && p.kernel.d == 1 && p.padBefore.d == 0 && p.padAfter.d == 0;
  return flat && p.batch > kManyImages ? divisorAtMost(p.batch, kMostPlanes) : 1;
}

}  // namespace conv_view_detail

/// Where a view has the axis of a problem that has only one.
enum class OneAxis : std::uint8_t {
  kOnW,
  kOnH,    ///< so that it can be cut into cache blocks of rows
  kInRows  ///< on W, but pixels of 1x1 layers that follow each other are equal rows on H and W, so that there are tasks for all cores
};

/// The view of a gradient of a legal problem.
inline ConvView makeConvView(const Problem& p, Pass pass, OneAxis axis = OneAxis::kOnW) {
  namespace detail = conv_view_detail;
  ConvView v;
  v.batch = p.batch;
  v.groups = p.groups;
  v.kernel = p.kernel;
  v.stride = p.stride;
  v.dilation = p.dilation;
  v.pad = p.padBefore;
  v.bigIsX = !p.transposed;
  const TensorId xId = pass == Pass::kDx ? TensorId::kDx : TensorId::kX, yId = TensorId::kDy;
  const TensorFormat ofX = formatOf(p, xId), ofY = formatOf(p, yId);
  Dhw in = p.in, out = p.out;
  const std::int64_t planes = detail::imagesAsPlanes(p);
  v.oneAxis = detail::hasOneAxis(p) && planes == 1;
  // Planes of blocked tensors do not follow each other.
  const bool blocked = ofX.layout == Layout::kNdc1hwc0 || ofY.layout == Layout::kNdc1hwc0;
  if (detail::isPointwise(p) && p.batch > 0 && !(blocked && p.in.d > 1) && detail::pixelsFollow(p, xId) &&
      detail::pixelsFollow(p, yId)) {
    const bool imagesTouch = detail::imagesFollow(p, xId) && detail::imagesFollow(p, yId);
    in = out = Dhw{1, 1, p.in.volume() * (imagesTouch ? p.batch : 1)};
    if (imagesTouch) v.batch = 1;
    v.oneAxis = imagesTouch || planes == 1;
    const std::int64_t rows =
        axis == OneAxis::kInRows && !ofX.strided() && !ofY.strided() ? detail::equalRows(in.w) : 1;
    if (rows > 1) {
      in = out = Dhw{1, rows, in.w / rows};
      v.oneAxis = false;
    }
  }
  if (axis == OneAxis::kOnH && v.oneAxis) {
    for (Dhw* extent : {&in, &out, &v.kernel, &v.stride, &v.dilation}) detail::moveLineToH(*extent, 1);
    detail::moveLineToH(v.pad, 0);
    v.oneAxisOnH = true;
  }
  // Steps that are never taken end at the tensor, so that a giant one costs nothing.
  for (int a = 0; a < 3; ++a) {
    if ((v.bigIsX ? out : in)[a] == 1) v.stride[a] = std::min(v.stride[a], (v.bigIsX ? in : out)[a]);
    if (v.kernel[a] == 1) v.dilation[a] = 1;
  }
  TensorView x =
      ofX.strided() ? detail::makeStrided(p, xId, v, in) : detail::makeTensor(v.batch, p.cin, p.groups, in, ofX);
  TensorView y =
      ofY.strided() ? detail::makeStrided(p, yId, v, out) : detail::makeTensor(v.batch, p.cout, p.groups, out, ofY);
  if (planes > 1 && v.batch > 1) {
    v.batch /= planes;
    v.stride.d = 1;
    for (TensorView* t : {&x, &y}) {
      t->extent.d = planes;
      t->dStride = t->nStride;
      t->nStride *= planes;
    }
  }
  v.big = v.bigIsX ? x : y;
  v.small = v.bigIsX ? y : x;
  return v;
}

}  // namespace cubejit
