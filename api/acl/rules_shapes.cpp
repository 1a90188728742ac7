// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whether shapes follow from one another, for tensors with elements and for empty ones, and what a part's operators refuse.
#include <algorithm>

#include "api/acl/rules.h"

namespace cubejit::acl {
namespace {

bool sameShape(const Tensor& a, const Tensor& b) { return a.rank == b.rank && a.dims == b.dims; }

__extension__ using Wide = __int128;  // where values of the caller's are multiplied

std::string axisName(int axis) { return axis == 0 ? "D" : axis == 1 ? "H" : "W"; }

// What an ordinary convolution makes of `in` on an axis, at most INT64_MAX; 0 if the dilated kernel does not fit. A stride of at
// least 1 is given.
std::int64_t outputOf(const Problem& p, int axis, std::int64_t in) {
  const Wide room = Wide{in} + p.padBefore[axis] + p.padAfter[axis] - Wide{p.dilation[axis]} * (p.kernel[axis] - 1) - 1;
  return room < 0 ? 0 : static_cast<std::int64_t>(std::min(room / p.stride[axis] + 1, Wide{INT64_MAX}));
}

std::string axisText(const Problem& p, int a) {
  return "kernel " + std::to_string(p.kernel[a]) + ", stride " + std::to_string(p.stride[a]) + ", dilation " +
         std::to_string(p.dilation[a]) + ", padding " + std::to_string(p.padBefore[a]) + " and " +
         std::to_string(p.padAfter[a]);
}

// Extents of the output, or its gradient, against input's; transposed: the other way round.
void extents(const ConvRequest& r, const Problem& p, int code, Findings& findings) {
  const Dhw &big = p.transposed ? p.out : p.in, &small = p.transposed ? p.in : p.out;
  const char *bigName = p.transposed ? r.outputName() : "input", *smallName = p.transposed ? "input" : r.outputName();
  for (int a = 3 - p.rank; a < 3; ++a) {
    const std::int64_t expected = outputOf(p, a, big[a]);
    const Wide least = (Wide{small[a]} - 1) * p.stride[a] - p.padBefore[a] - p.padAfter[a] +
                       Wide{p.dilation[a]} * (p.kernel[a] - 1) + 1;
    if (p.transposed && r.forward()) {  // outputPadding says which of the extents it is
      const std::int64_t more = r.outputPadding->values[static_cast<std::size_t>(a - 3 + p.rank)];
      findings.require(big[a] == least + more, code, bigName,
                       axisName(a) + " = " + std::to_string(big[a]) + " must follow from input's " +
                           std::to_string(small[a]) + " (" + axisText(p, a) + ", output padding " +
                           std::to_string(more) + ")");
      continue;
    }
    bool fits = expected == small[a];
    if (p.transposed && r.part->isHost() && !fits)  // output padding may exceed the stride if the dilation is larger
      fits = big[a] >= least && big[a] < least + std::max(p.stride[a], p.dilation[a]);
    findings.require(expected > 0, code, bigName,
                     axisName(a) + " = " + std::to_string(big[a]) + " with padding is less than the dilated kernel (" +
                         axisText(p, a) + ")");
    findings.require(fits || expected == 0, code, smallName,
                     axisName(a) + " = " + std::to_string(small[a]) + " must be " + std::to_string(expected) +
                         ", which follows from " + bigName + "'s " + std::to_string(big[a]) + " (" + axisText(p, a) +
                         ")");
  }
}

// Gradients are like what they are gradients of, a bias and its gradient have a value a channel.
void likeShapes(const ConvRequest& r, Findings& findings) {
  for (const auto& [id, like] : {std::pair{TensorId::kDx, TensorId::kX}, {TensorId::kDw, TensorId::kW}}) {
    const TensorPtr &pass = r.at(id), &source = r.at(like);
    if (pass == nullptr) continue;
    findings.require(sameShape(*pass, *source), kInvalid, nameOf(id),
                     "shape " + shapeText(*pass) + " must be " + nameOf(like) + "'s, " + shapeText(*source));
  }
  const std::int64_t channels = r.output().dims[1];
  for (const TensorId id : {TensorId::kDb, TensorId::kB}) {
    const TensorPtr& bias = r.at(id);
    if (bias == nullptr) continue;
    findings.require(
        bias->rank == 1 && bias->dims[0] == channels, kInvalid, nameOf(id),
        "shape " + shapeText(*bias) + " must be [" + std::to_string(channels) + "], " + r.outputName() + "'s channels");
  }
}

void channels(const ConvRequest& r, Findings& findings) {
  const Tensor &big = r.transposed ? r.output() : r.input(), &small = r.transposed ? r.input() : r.output();
  const char *bigName = r.transposed ? r.outputName() : "input", *smallName = r.transposed ? "input" : r.outputName();
  const Tensor& w = r.weight();
  const std::string shape = shapeText(w), groups = std::to_string(r.groups);
  findings.require(small.dims[1] == w.dims[0], kInvalid, smallName,
                   "channels " + std::to_string(small.dims[1]) + " must be the weight's first extent (" + shape + ")");
  findings.require(w.dims[1] > 0, kInvalid, "weight", "second extent of " + shape + " must not be 0");
  if (w.dims[1] > 0)
    findings.require(big.dims[1] % w.dims[1] == 0 && big.dims[1] / w.dims[1] == r.groups, kInvalid, "groups",
                     groups + " times the weight's second extent (" + shape + ") must be " + bigName + "'s channels, " +
                         std::to_string(big.dims[1]));
  findings.require(w.dims[0] % r.groups == 0, kInvalid, "groups",
                   groups + " must divide the weight's first extent (" + shape + ")");
  findings.require(
      r.output().dims[0] == r.input().dims[0], kInvalid, r.outputName(),
      "N = " + std::to_string(r.output().dims[0]) + " must be input's, " + std::to_string(r.input().dims[0]));
  if (r.part->family->depthwiseMultiple && big.dims[1] == r.groups)
    findings.require(
        small.dims[1] >= r.groups && small.dims[1] % r.groups == 0, kInvalid, smallName,
        "channels " + std::to_string(small.dims[1]) + " of a depthwise convolution must be a multiple of " + groups);
}

void ranks(const ConvRequest& r, Findings& findings) {
  const Tensor &y = r.output(), &x = r.input(), &w = r.weight();
  findings.require(y.rank == w.rank && x.rank == w.rank, kInvalid, r.outputName(),
                   std::string("ranks of ") + r.outputName() + " " + shapeText(y) + ", input " + shapeText(x) +
                       " and weight " + shapeText(w) + " must be equal");
}

void extentsInRange(const ConvRequest& r, std::int64_t most, Findings& findings) {
  for (const TensorId id : {TensorId::kDy, TensorId::kX, TensorId::kW}) {
    const Tensor& t = r.tensor(id);
    const auto last = t.dims.begin() + t.rank;
    findings.require(
        std::all_of(t.dims.begin(), last, [&](std::int64_t extent) { return extent <= most; }), kInner, nameOf(id),
        "shape " + shapeText(t) + " must have extents of 1 to " + std::to_string(most) + " on " + r.part->name);
  }
}

// What it says is read by nobody, and wrong all the same if it is not the shape of the bias.
void biasSizes(const ConvRequest& r, bool required, Findings& findings) {
  if (r.forward() || (r.biasSizes == nullptr && !required)) return;
  const Tensor& w = r.weight();
  std::int64_t wanted = w.dims[0];
  if (r.transposed && __builtin_mul_overflow(w.dims[1], r.groups, &wanted)) wanted = -1;
  const bool right = r.biasSizes != nullptr && r.biasSizes->values.size() == 1 && r.biasSizes->values[0] == wanted;
  findings.require(right, kInvalid, "biasSizes",
                   (r.biasSizes == nullptr ? "null" : text(*r.biasSizes)) + " must be [" + std::to_string(wanted) +
                       "], " +
                       (r.transposed ? "groups times the weight's second extent" : "the weight's first extent") +
                       (required ? ", as a tensor is empty and gradBias is asked for" : ""));
}

void inRange(const Dhw& values, int rank, Range hw, Range d, const char* name, const Part& part, Findings& findings) {
  for (int a = 3 - rank; a < 3; ++a) {
    const Range range = a == 0 ? d : hw;
    findings.require(values[a] >= range.least && values[a] <= range.most, kInner, name,
                     axisName(a) + " = " + std::to_string(values[a]) + " must be " + std::to_string(range.least) +
                         " to " + std::to_string(range.most) + " on " + part.name);
  }
}

}  // namespace

void checkLengths(const ConvRequest& r, Findings& findings) {
  const auto rank = static_cast<std::size_t>(r.weight().rank - 2);
  const auto length = [&](const IntArray& array, const char* name, bool orFour) {
    findings.require(
        array.values.size() == rank || (orFour && rank == 2 && array.values.size() == 4), kInvalid, name,
        text(array) + " must have " + std::to_string(rank) + (orFour && rank == 2 ? " or 4" : "") + " values");
  };
  length(*r.stride, "stride", false);
  length(*r.padding, "padding", true);
  length(*r.dilation, "dilation", false);
  // Forward does not read it unless transposed.
  if (r.transposed || !r.forward()) length(*r.outputPadding, "outputPadding", !r.forward());
}

void checkShapes(const ConvRequest& r, Findings& findings) {
  const Tensor &y = r.output(), &x = r.input(), &w = r.weight();
  ranks(r, findings);
  // Forward of no images is nothing; what no page says is what y is without channels or pixels to sum.
  const bool noImages = r.forward() && x.rank > 0 && x.dims[0] == 0 && r.part->family->emptyInputs;
  findings.require(!y.empty() || noImages, kInvalid, r.outputName(),
                   "shape " + shapeText(y) + " must not be empty" + (r.forward() ? " unless N is 0" : ""));
  findings.require(!r.forward() || !x.empty() || noImages, kInvalid, "input",
                   "shape " + shapeText(x) + " must not be empty unless N is 0");
  findings.require(!w.empty(), kInvalid, "weight", "shape " + shapeText(w) + " must not be empty");
  if (findings.any()) return;
  likeShapes(r, findings);
  biasSizes(r, false, findings);
  checkLengths(r, findings);
  if (findings.any()) return;
  channels(r, findings);
  const Problem p = geometryOf(r);
  if (x.empty() && !r.forward()) return;  // step 14 judges it
  if (p.rank == 3 || r.part->isHost() || r.forward()) extents(r, p, kInvalid, findings);
  const Family& family = *r.part->family;
  findings.require(!(r.deterministic && r.mask.dw && p.rank == 3 && r.groups > 1) || family.rank5, kInvalid, "groups",
                   std::to_string(r.groups) + " with 3D and ACL_OPT_DETERMINISTIC is not supported on " + r.part->name);
}

void checkEmpty(const ConvRequest& r, Findings& findings) {
  const Tensor &y = r.output(), &x = r.input(), &w = r.weight();
  ranks(r, findings);
  if (findings.any()) return;
  biasSizes(r, r.mask.db, findings);
  if (const TensorPtr& bias = r.at(TensorId::kDb); bias != nullptr)
    findings.require(bias->rank == 1, kInvalid, "gradBias", "shape " + shapeText(*bias) + " must have 1 dimension");
  findings.require(x.empty() || !w.empty(), kInvalid, "weight",
                   "shape " + shapeText(w) + " must not be empty unless input is");
  if (r.mask.dx && x.empty())
    findings.require(x.dims[0] == 0 || x.dims[1] == 0, kInvalid, "input",
                     "shape " + shapeText(x) + ": only N or C may make a tensor empty when gradInput is asked for");
  if (!r.part->family->emptyInputs) return;
  checkLengths(r, findings);
  if (findings.any()) return;
  const Problem p = geometryOf(r);
  findings.require(w.dims[0] % r.groups == 0, kInvalid, "groups",
                   std::to_string(r.groups) + " must divide the weight's first extent (" + shapeText(w) + ")");
  const std::int64_t c = r.transposed ? y.dims[1] : x.dims[1], inner = w.dims[1];
  if (!(r.transposed && x.dims[0] == 0) && (c != 0 || inner != 0))
    findings.require(inner > 0 && c % inner == 0 && c / inner == r.groups, kInvalid, "groups",
                     std::to_string(r.groups) + " times the weight's second extent (" + shapeText(w) + ") must be " +
                         (r.transposed ? r.outputName() : "input") + "'s channels, " + std::to_string(c));
  if (r.transposed) {
    findings.require(w.dims[0] > 0 && w.dims[0] == x.dims[1], kInvalid, "weight",
                     "first extent of " + shapeText(w) + " must be input's channels, " + std::to_string(x.dims[1]));
    return;
  }
  for (int a = 3 - p.rank; a < 3; ++a)
    findings.require(outputOf(p, a, p.in[a]) > 0, kInvalid, "input",
                     axisName(a) + " = " + std::to_string(p.in[a]) + " with padding is less than the dilated kernel (" +
                         axisText(p, a) + ")");
}

void checkPart(const ConvRequest& r, DType compute, Findings& findings) {
  const Problem p = geometryOf(r);
  const Family& family = *r.part->family;
  if (r.forward()) {  // no page says more of it
    findings.require(family.forward, kInner, "product",
                     r.part->name + ", " + family.product + ", has no such operator");
    return;
  }
  findings.require(p.rank < 3 || family.rank5, kInvalid, "input",
                   "shape " + shapeText(r.input()) + ": 3D is not supported on " + r.part->name);
  if (family.groupedDwStaysHalf && r.mask.dw && r.groups > 1 && (compute == DType::kF16 || compute == DType::kBf16)) {
    const bool routed = p.rank == 2 && r.deterministic;  // 2D that runs as 3D when determinism is asked for
    findings.require(r.tensor(TensorId::kDw).dtype != ACL_FLOAT || (p.rank != 3 && !routed), routed ? kInner : kInvalid,
                     "gradWeight",
                     "FLOAT from 16-bit products with groups = " + std::to_string(r.groups) + " is not supported on " +
                         r.part->name);
  }
  if (findings.any()) return;
  findings.require(family.backward, kInner, "product", r.part->name + ", " + family.product + ", has no such operator");
  if (p.rank < 3 && !r.part->isHost()) extents(r, p, kInner, findings);
  const Ranges& ranges = p.transposed ? family.transposed : p.rank == 3 ? family.deep : family.flat;
  extentsInRange(r, ranges.mostExtent, findings);
  inRange(p.kernel, p.rank, ranges.kernelHw, ranges.kernelD, "weight", *r.part, findings);
  inRange(p.stride, p.rank, ranges.strideHw, ranges.strideD, "stride", *r.part, findings);
  inRange(p.padBefore, p.rank, ranges.padHw, ranges.padD, "padding", *r.part, findings);
  inRange(p.padAfter, p.rank, ranges.padHw, ranges.padD, "padding", *r.part, findings);
  inRange(p.dilation, p.rank, ranges.dilationHw, ranges.dilationD, "dilation", *r.part, findings);
  findings.require(r.groups <= 65535 || r.part->isHost(), kInner, "groups",
                   std::to_string(r.groups) + " must be at most 65535 on " + r.part->name);
}

}  // namespace cubejit::acl
