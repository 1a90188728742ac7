// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides relations and weight strides of a data gradient, and the small pieces every lowering shares.
#include "algorithms/kit/lower/data_gradient.h"

#include <algorithm>

#include "algorithms/kit/adjoint.h"
#include "algorithms/kit/weight_order.h"

namespace cubejit {

DataGradient makeDataGradient(const Problem& problem, OneAxis axis) {
  DataGradient g;
  g.view = makeConvView(problem, Pass::kDx, axis);
  const ConvView& v = g.view;
  g.gather = v.bigIsX;
  g.result = g.gather ? v.big : v.small;
  g.operand = g.gather ? v.small : v.big;
  for (int a = 0; a < 3; ++a) {
    AxisRelation& r = g.relation[static_cast<std::size_t>(a)];
    r = AxisRelation{g.gather, g.result.extent[a], g.operand.extent[a], v.kernel[a], v.stride[a], v.dilation[a],
                     v.pad[a]};
    g.hasGaps = g.hasGaps || leavesGaps(r, residueClasses(r));
  }
  g.taps = v.taps();
  g.weightElement = elementOf(formatOf(problem, TensorId::kW).dtype);
  const WeightOrder w = weightOrder(problem, TensorId::kW);
  g.wGroup = w.group;
  g.wReduced = g.gather ? w.small : w.big;
  g.wResult = g.gather ? w.big : w.small;
  g.wTap = v.oneAxisOnH ? Dhw{w.tap.d, w.tap.w, w.tap.w} : w.tap;
  g.weightBytes = w.bytes;
  return g;
}

// More would only be more steps to plan.
constexpr std::int64_t kMostZeroPieces = 1 << 14;

void addZeroPhase(ProgramBuilder& b, int buffer, std::int64_t bytes, int lanes) {
  // 16-bit tensors may end in the middle of a word.
  const Element element = bytes % 4 == 0 ? Element::kF32 : Element::kHalf;
  const std::int64_t size = elementBytes(element), elements = bytes / size;
  std::int64_t block = 16384;
  while (elements / block > kMostZeroPieces) block *= 2;
  b.beginPhase("zero");
  const int dst = b.addStream("dst", buffer);
  const int axis = b.addAxis("piece", 2);
  Call call{"zero", dst, -1, dst, {axis}, {Variant{}, Variant{}}};
  const auto zero = [&](std::int64_t count, int cls) {
    call.variants[static_cast<std::size_t>(cls)].kernel = b.addKernel(Fill{.lanes = lanes,
                                                                           .rows = 1,
                                                                           .cols = count,
                                                                           .dstPitch = count * size,
                                                                           .element = element,
                                                                           .label = "zero_" + std::to_string(count)});
  };
  for (std::int64_t i = 0; i + block <= elements; i += block) b.addStep(axis, {{dst, i * size}}, 0);
  if (elements >= block) zero(block, 0);
  if (elements % block != 0) {
    b.addStep(axis, {{dst, elements / block * block * size}}, 1);
    zero(elements % block, 1);
  }
  b.phase().parallelAxes = {axis};
  b.phase().body.push_back(callNode(std::move(call)));
  b.phase().workCycles = static_cast<double>(bytes) / 24.0;
}

std::string problemLabel(const Problem& p, Pass pass) {
  const auto dims = [](const Dhw& v) {
    return std::to_string(v.d) + "x" + std::to_string(v.h) + "x" + std::to_string(v.w);
  };
  std::string s = toString(pass);
  s += p.transposed ? "_t_" : "_";
  const TensorFormat operand = formatOf(p, inputOf(pass));
  s += toString(operand.dtype) + std::string("_n");
  s += std::to_string(p.batch) + "c" + std::to_string(p.cin) + "k" + std::to_string(p.cout);
  if (p.groups > 1) s += "g" + std::to_string(p.groups);
  s += "_" + dims(p.in) + "_k" + dims(p.kernel) + "_s" + dims(p.stride) + "_p" + dims(p.padBefore);
  if (p.dilation != Dhw{1, 1, 1}) s += "_d" + dims(p.dilation);
  return s + "_" + toString(operand.layout);
}

}  // namespace cubejit
