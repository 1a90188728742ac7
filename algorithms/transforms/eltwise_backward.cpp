// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the pieces: tensors of one layout are lines of elements, whatever that is.
#include "algorithms/transforms/eltwise_backward.h"

#include <string>
#include <utility>

#include "algorithms/kit/lower/data_gradient.h"
#include "algorithms/kit/lower/epilogue.h"
#include "cubejit/index_map.h"

namespace cubejit {
namespace {

constexpr std::int64_t kEltwisePieceElements = 8192;  // three rows of them stay in an L2 cache

}  // namespace

Status slopeApplies(const Problem& p) {
  const TensorFormat dy = formatOf(p, TensorId::kDy), y = formatOf(p, TensorId::kY);
  const std::string which = "post_ops = " + toString(p.postOps) + ": ";
  std::string broken;
  const auto fail = [&](const std::string& rule) { broken += (broken.empty() ? "" : "\n") + which + rule; };
  const bool blocked = y.layout == Layout::kNdc1hwc0;
  if (dy.strided())
    fail("dy has strides; backward passes multiply it by the slope, element by element, so it must be dense, as y is");
  else if (dy.layout != y.layout || (blocked && dy.blockChannels() != y.blockChannels()))
    fail(std::string("dy is ") + toString(dy.layout) + ", y is " + toString(y.layout) +
         (blocked ? " with blocks of " + std::to_string(y.blockChannels()) : "") +
         "; backward passes multiply dy by the slope, element by element, so they must lie alike");
  if (p.postOps.activation == Activation::kLeakyRelu && !(p.postOps.alpha >= 0))
    fail("a negative slope cannot be read off y; backward passes need one from 0 on");
  if (broken.empty()) return Unit{};
  return Error{ErrorCode::kUnsupported, Stage::kPlan, broken};
}

TileProgram eltwiseBackwardProgram(const Problem& p, int lanes) {
  ProgramBuilder b(std::string("dy_") + toString(p.postOps.activation) + "_backward");
  const Element from = storedElement(formatOf(p, TensorId::kDy).dtype),
                result = storedElement(formatOf(p, TensorId::kY).dtype);
  const std::int64_t elements = formatBytes(p, TensorId::kDy) / elementBytes(from);
  const int dy = b.addBuffer("from", Buffer::Use::kInput, formatBytes(p, TensorId::kDy)),
            to = b.addBuffer("to", Buffer::Use::kOutput, formatBytes(p, TensorId::kDy)),
            y = b.addBuffer("y", Buffer::Use::kInput, formatBytes(p, TensorId::kY));
  b.bufferAt(dy).element = b.bufferAt(to).element = from;
  b.bufferAt(y).element = result;
  b.beginPhase("eltwise_backward");
  const int source = b.addStream("dy", dy), sink = b.addStream("to", to), results = b.addStream("y", y);
  const int pieces = b.addAxis("piece", 2);
  Call call{"eltwise_backward", source, -1, sink, {pieces}, {Variant{}, Variant{}}};
  call.d = results;
  for (std::int64_t i = 0; i < elements; i += kEltwisePieceElements) {
    b.addStep(pieces,
              {{source, i * elementBytes(from)}, {sink, i * elementBytes(from)}, {results, i * elementBytes(result)}},
              i + kEltwisePieceElements <= elements ? 0 : 1);
  }
  const std::int64_t counts[] = {elements >= kEltwisePieceElements ? kEltwisePieceElements : 0,
                                 elements % kEltwisePieceElements};
  for (std::size_t i = 0; i < 2; ++i) {
    if (counts[i] == 0) continue;
    call.variants[i].kernel = b.addKernel(Map{.lanes = lanes,
                                              .rows = 1,
                                              .cols = counts[i],
                                              .from = from,
                                              .to = from,
                                              .f = slopeOf(p.postOps),
                                              .d = result,
                                              .dColumn = elementBytes(result),
                                              .label = "eltwise_backward"});
  }
  b.phase().parallelAxes = {pieces};
  b.phase().body.push_back(callNode(std::move(call)));
  b.phase().workCycles = static_cast<double>(elements) * 12 / 24;
  return b.finish();
}

}  // namespace cubejit
