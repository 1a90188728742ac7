// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the matrix view of a pass. See the header for the view itself.
#include "algorithms/cube/work.h"

#include <map>

namespace cubejit {
namespace {

// Lists of depths longer than this cost more to make than the plan they would refine.
constexpr std::int64_t kMostDepths = 1 << 16;

double volume(const Dhw& v) { return static_cast<double>(v.d) * static_cast<double>(v.h) * static_cast<double>(v.w); }

// Kernel depths that meet the unfolded operand for depth `at` of dx.
std::int32_t meetsOf(const CubeWork& w, std::int64_t at) {
  std::int32_t count = 0;
  for (std::int64_t k = 0; k < w.kernel.d; ++k) {
    const std::int64_t reach =
        w.spread ? at + w.pad.d - k * w.dilation.d : at * w.stride.d + k * w.dilation.d - w.pad.d;
    if (reach < 0 || (w.spread && reach % w.stride.d != 0)) continue;
    count += (w.spread ? reach / w.stride.d : reach) < w.image.d ? 1 : 0;
  }
  return count;
}

DepthKinds kindsOf(const std::vector<std::int32_t>& meets) {
  DepthKinds kinds;
  std::map<std::int64_t, std::size_t> kindOfValue;
  for (const std::int32_t m : meets) kindOfValue.emplace(m, 0);
  const std::size_t width = (kindOfValue.size() + DepthKinds::kMost - 1) / DepthKinds::kMost;
  std::size_t at = 0;
  for (auto& [value, kind] : kindOfValue) {
    kind = at++ / width;
    if (kind == kinds.meets.size()) kinds.meets.push_back(value);
    kinds.meets.back() = value;
  }
  kinds.counts.assign(kinds.meets.size(), 0);
  DepthKinds::Counts below{};
  for (const std::int32_t m : meets) {
    const std::size_t kind = kindOfValue[m];
    kinds.kindOf.push_back(static_cast<std::uint8_t>(kind));
    kinds.below.push_back(below);
    ++below[kind];
    ++kinds.counts[kind];
  }
  return kinds;
}

DepthKinds listDepths(const CubeWork& w) {
  const bool dx = w.pass == Pass::kDx;
  if (w.depths > kMostDepths || w.kernel.d > kMostDepths) {
    DepthKinds all;
    all.meets = {dx ? w.kernel.d : 1};
    all.counts = {w.depths};
    return all;
  }
  std::vector<std::int32_t> meets;
  for (std::int64_t d = 0; d < w.pixels.d; ++d) {
    if (dx) {
      meets.push_back(meetsOf(w, d));
      continue;
    }
    for (std::int64_t k = 0; k < w.kernel.d; ++k) {
      const std::int64_t at = d * w.stride.d + k * w.dilation.d - w.pad.d;
      meets.push_back(at >= 0 && at < w.image.d ? 1 : 0);
    }
  }
  return kindsOf(meets);
}

}  // namespace

DType cubeOperandOf(const Problem& p, const Machine& m) {
  const DType asked = formatOf(p, TensorId::kDy).dtype;
  const MatrixProduct* step = m.npu.cube.product(asked);
  return step == nullptr ? asked : step->operand;
}

CubeWork cubeWorkOf(const Problem& p, Pass pass, const Machine& machine, CubeKernels kernels) {
  const DType type = cubeOperandOf(p, machine);
  CubeWork w;
  w.pass = pass;
  w.type = type;
  w.c0 = 32 / byteSize(type);
  w.elementBytes = byteSize(type);
  w.resultBytes = pass == Pass::kDw ? 4 : byteSize(formatOf(p, TensorId::kDx).dtype);  // dW is summed in memory, in f32
  w.kernels = kernels;
  w.batch = p.batch;
  const Dhw big = p.transposed ? p.out : p.in, small = p.transposed ? p.in : p.out;
  const std::int64_t bigChannels = p.transposed ? p.cout : p.cin, smallChannels = p.transposed ? p.cin : p.cout;
  w.groups = realGroups(bigChannels / p.groups, smallChannels / p.groups, p.groups, w.c0);
  w.smallBlocks = ceilDiv(w.groups.together * (smallChannels / p.groups), w.c0);
  w.kernel = p.kernel;
  w.stride = p.stride;
  w.dilation = p.dilation;
  w.pad = p.padBefore;
  w.tapsHw = p.kernel.h * p.kernel.w;
  const bool dx = pass == Pass::kDx;
  w.spread = dx && !p.transposed;
  w.pixels = w.spread ? big : small;
  w.image = w.spread ? small : big;
  w.blocks = w.spread ? w.smallBlocks : w.groups.blocksC;
  if (dx) {
    const std::int64_t results = w.spread ? w.groups.blocksC : w.smallBlocks;
    w.gemm = Mkn{w.pixels.h * w.pixels.w, w.blocks * w.blockUnit(), results * w.c0};
  } else {
    w.gemm = Mkn{w.groups.blocksN * 16, w.pixels.h * w.pixels.w, w.blocks * w.blockUnit()};
  }
  w.depths = dx ? w.pixels.d : w.pixels.d * w.kernel.d;
  w.depthKinds = listDepths(w);
  const double blockBytes =
      static_cast<double>(p.batch) * static_cast<double>(w.groups.count) * static_cast<double>(w.c0 * w.elementBytes);
  const double bigBytes = blockBytes * static_cast<double>(w.groups.blocksC) * volume(big);
  const double smallBytes = blockBytes * static_cast<double>(w.smallBlocks) * volume(small);
  const double weights = static_cast<double>(w.groups.count) * static_cast<double>(w.groups.blocksC * w.c0) *
                         static_cast<double>(w.groups.blocksN * 16) * volume(p.kernel);
  w.readBytes =
      dx ? (w.spread ? smallBytes : bigBytes) + weights * static_cast<double>(w.elementBytes) : bigBytes + smallBytes;
  w.writtenBytes = dx ? (w.spread ? bigBytes : smallBytes) : weights * 4;
  return w;
}

}  // namespace cubejit
