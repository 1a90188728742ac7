// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how post-ops become expressions, which calls they are part of, and how biases are laid out for both.
#include "algorithms/kit/lower/epilogue.h"

#include <algorithm>
#include <string>
#include <utility>

#include "algorithms/kit/lower/data_gradient.h"
#include "algorithms/kit/panel_pitch.h"
#include "codegen/tile/matrix.h"

namespace cubejit {
namespace {

using Op = ExpressionOp;
using Value = ExpressionValue;

constexpr std::int64_t kPieceElements = 16384;  // of a task that fills; they stay in the L1 and L2 caches
constexpr std::int64_t kRowElements = 256;      // of several pixels, finished as one row

std::string shortText(const PostOps& post) {
  std::string text;
  if (post.bias) text += "_bias";
  if (post.add) text += "_add";
  if (post.activation != Activation::kNone) text += std::string("_") + toString(post.activation);
  return text;
}

// A move to the result, taken apart: what brings f32 to a panel of rows (unless they are zeros), and what is done from there.
struct Finishing {
  std::optional<Kernel> inward;
  Map out;
  std::int64_t panelBytes = 0;
};
Finishing finishingOf(const OneOf<Copy, Transpose> auto& m) {
  auto inward = m;
  const MatrixLines stored = targetOf(m);
  const std::int64_t cols = stored.columns - m.padCols;
  inward.to = Element::kF32;
  inward.dstPitch = panelPitch(cols * 4);
  inward.padCols = 0;
  Map out{.rows = stored.lines,
          .cols = cols,
          .srcPitch = inward.dstPitch,
          .dstPitch = m.dstPitch,
          .padCols = m.padCols,
          .to = m.to};
  if constexpr (OneOf<decltype(inward), Copy>) {
    inward.streamingStore = false;
    out.streamingStore = m.streamingStore;
  }
  return {inward, out, stored.lines * inward.dstPitch};
}
Finishing finishingOf(const LaneReduce& m) {
  const std::int64_t pitch = panelPitch(m.rows * 4);
  return {m, {.rows = 1, .cols = m.rows, .srcPitch = pitch, .dstPitch = 4}, pitch};
}
// Other kernels do not store results of f32.
Finishing finishingOf(const OneOf<Contract, TileProduct, Fill, Accumulate, Map> auto&) { return {}; }

}  // namespace

Expression expressionOf(const PostOps& post) {
  Expression f;
  Value v = Value::element();
  if (post.bias) v = f.then(Op::kAdd, v, Value::d());
  if (post.add) v = f.then(Op::kAdd, v, Value::e());
  const Value zero = Value::constant(0), alpha = Value::constant(post.alpha), beta = Value::constant(post.beta);
  switch (post.activation) {
    case Activation::kNone: break;
    case Activation::kRelu: f.then(Op::kMax, zero, v); break;
    case Activation::kLeakyRelu:
      if (post.alpha == 0)  // a maximum would leave -infinity, which times 0 is NaN
        f.then(Op::kAdd, v, f.then(Op::kAbs, f.then(Op::kMin, zero, v)));
      else  // where alpha is above 1, the smaller of both is what is scaled
        f.then(post.alpha <= 1 ? Op::kMax : Op::kMin, f.then(Op::kMul, alpha, v), v);
      break;
    case Activation::kClip: f.then(Op::kMin, beta, f.then(Op::kMax, alpha, v)); break;
  }
  return f;
}

Expression slopeOf(const PostOps& post) {
  Expression f;
  const Value v = Value::element(), y = Value::d(), zero = Value::constant(0);
  switch (post.activation) {
    case Activation::kNone: break;
    case Activation::kRelu: f.then(Op::kSelectLe0, y, zero, v); break;
    case Activation::kLeakyRelu: f.then(Op::kSelectGt0, y, v, f.then(Op::kMul, Value::constant(post.alpha), v)); break;
    case Activation::kClip: {
      const Value below = f.then(Op::kAdd, f.then(Op::kMul, y, Value::constant(-1)), Value::constant(post.beta)),
                  inside = f.then(Op::kSelectLe0, below, zero, v);
      f.then(Op::kSelectLe0, f.then(Op::kAdd, y, Value::constant(-post.alpha)), zero, inside);
      break;
    }
  }
  return f;
}

void Epilogue::begin(const TensorView& result, std::int64_t groups, int buffer) {
  result_ = buffer;
  if (!any()) return;
  const std::int64_t channels = result.channels * groups, bytes = b_.bufferAt(buffer).bytes;
  padded_ = !result.channelsLast && result.c0 > 0 && channels % result.c0 != 0;
  each_ = result.channelsLast ? channels : result.c0 > 0 ? result.c0 : 1;
  blocks_ = (channels + each_ - 1) / each_;
  if (result.blockStride == result.c0 * byteSize(result.dtype) && result.c0 > 0)
    each_ *= std::exchange(blocks_, 1);           // blocks side by side are one
  pitch_ = each_ == 1 ? lanes_ : each_ + lanes_;  // vectors are read whole, from any channel on
  element_ = storedElement(result.dtype);
  b_.extendName(shortText(ops_.post));
  if (ops_.post.add) b_.setResidual(buffer, b_.addTensor(TensorId::kZ, bytes));
  if (!ops_.post.bias) return;
  biasBuffer_ = b_.addTensor(TensorId::kB, ops_.biases * elementBytes(element_));
  biases_ = b_.addBuffer("biases", Buffer::Use::kShared, 0);
}

void Epilogue::enterPhase() {
  scratch_ = -1;
  bias_ = biases_ < 0 ? -1 : b_.addStream("bias", biases_);
}

std::int64_t Epilogue::biasAt(std::int64_t channel) const {
  return bias_ < 0 ? 0 : (channel / each_ * pitch_ + channel % each_) * 4;
}

void Epilogue::attach(Contract& contract) const {
  contract.epilogue = expressionOf(ops_.post);
  contract.label.text += shortText(ops_.post);
}

void Epilogue::finish(Call& call) const {
  if (any()) call.d = bias_;
}

int Epilogue::scratchStream() {
  if (scratchBuffer_ < 0) scratchBuffer_ = b_.addBuffer("unfinished", Buffer::Use::kPrivate, 0);
  if (scratch_ < 0) scratch_ = b_.addStream("unfinished", scratchBuffer_);
  return scratch_;
}

Map Epilogue::mapOf(Map map, StoredChannels channels) {
  map.lanes = lanes_;
  map.f = expressionOf(ops_.post);
  map.label = "post_ops";
  if (!ops_.post.bias) return map;
  if (channels == StoredChannels::kColumns && each_ > 1) {
    map.dColumn = 4;
    pitch_ = std::max(pitch_, blocks_ == 1 ? map.cols : 0);
  }
  if (channels == StoredChannels::kLines && map.rows > 1) map.dRow = each_ == 1 ? pitch_ * 4 : 4;
  return map;
}

std::vector<Node> Epilogue::storing(Call call, StoredChannels channels) {
  std::vector<Node> nodes;
  if (any()) {
    Call before = call;
    before.c = scratchStream();
    for (std::size_t i = 0; i < call.variants.size(); ++i) {
      Variant& v = call.variants[i];
      if (v.kernel < 0) continue;
      Finishing finishing = std::visit([](const auto& k) { return finishingOf(k); }, b_.kernelAt(v.kernel));
      before.variants[i].kernel = b_.addKernel(*finishing.inward);
      Map& out = finishing.out;
      const std::int64_t pixels = out.cols / each_;
      if (channels == StoredChannels::kColumns && blocks_ == 1 && each_ > 1 && out.rows == 1 && pixels > 1) {
        // Pixels side by side: rows of a few, which all begin with the first channel.
        const std::int64_t few = divisorAtMost(pixels, std::max<std::int64_t>(1, kRowElements / each_));
        out.rows = pixels / few;
        out.cols = few * each_;
        out.srcPitch = out.cols * 4;
        out.dstPitch = out.cols * elementBytes(out.to);
        out.streamingStore = false;
      }
      v.kernel = b_.addKernel(mapOf(out, channels));
      std::int64_t& bytes = b_.bufferAt(scratchBuffer_).bytes;
      bytes = std::max(bytes, finishing.panelBytes);
    }
    nodes.push_back(callNode(std::move(before)));
    call.a = scratch_;
    call.d = bias_;
    call.name = "post_ops";
  }
  nodes.push_back(callNode(std::move(call)));
  return nodes;
}

// Pixels that lie side by side: a row each, of a block's channels; of a block of one channel they are one row.
void Epilogue::fill(const Problem& problem) {
  if (!any()) return addZeroPhase(b_, result_, b_.bufferAt(result_).bytes, lanes_);
  const Dhw& e = problem.in;
  const std::int64_t all = problem.batch * e.volume(), left = problem.cin % each_,
                     pixels = blocks_ == 1 ? all
                              : each_ == 1 ? e.volume()
                                           : e.h * e.w,
                     block = pixels * each_, size = elementBytes(element_),
                     piece = std::max<std::int64_t>(1, std::min(pixels, kPieceElements / each_));
  b_.beginPhase("post_ops");
  enterPhase();
  const int sink = b_.addStream("result", result_), images = b_.addAxis("image"), blocks = b_.addAxis("block", 2),
            pieces = b_.addAxis("piece", 2);
  for (std::int64_t i = 0; i < all / pixels; ++i) b_.addStep(images, {{sink, i * blocks_ * block * size}});
  for (std::int64_t i = 0; i < blocks_; ++i)
    b_.addStep(blocks, {{sink, i * block * size}, toChannel(i * each_)}, left > 0 && i + 1 == blocks_ ? 1 : 0);
  for (std::int64_t i = 0; i < pixels; i += piece)
    b_.addStep(pieces, {{sink, i * each_ * size}}, i + piece <= pixels ? 0 : 1);
  Call call{"post_ops", sink, -1, sink, {blocks, pieces}, {}};
  call.d = bias_;
  for (const bool cut : {false, true}) {
    for (const std::int64_t count : {piece, pixels % piece}) {
      Variant v;
      if (count > 0 && (!cut || left > 0)) {
        Map m{.rows = each_ == 1 ? 1 : count,
              .cols = each_ == 1 ? count
                      : cut      ? left
                                 : each_,
              .dstPitch = (each_ == 1 ? count : each_) * size,
              .padCols = cut ? each_ - left : 0,
              .zeros = true,
              .to = element_};
        v.kernel = b_.addKernel(mapOf(m, each_ == 1 ? StoredChannels::kNone : StoredChannels::kColumns));
      }
      call.variants.push_back(v);
    }
  }
  b_.phase().parallelAxes = {images, blocks, pieces};
  b_.phase().body.push_back(callNode(std::move(call)));
  b_.phase().workCycles = static_cast<double>(all * blocks_ * each_) * 8 / 24;
}

void Epilogue::end() {
  if (biases_ < 0) return;
  b_.bufferAt(biases_).bytes = blocks_ * pitch_ * 4;
  const std::size_t first = b_.phases();
  addBiases();
  b_.movePhasesToFront(first);
}

void Epilogue::addBiases() {
  b_.beginPhase("biases");
  const int from = b_.addStream("b", biasBuffer_), into = b_.addStream("biases", biases_);
  const std::int64_t size = elementBytes(element_);
  const auto add = [&](const Kernel& kernel, const std::vector<int>& axes) {
    for (Node& node :
         nest(axes, {callNode(Call{"biases", from, -1, into, {}, {Variant{b_.addKernel(kernel), -1, false}}})}))
      b_.phase().body.push_back(std::move(node));
  };
  const Copy copy{.lanes = lanes_, .from = element_, .label = "biases"};
  const auto matrix = [&](std::int64_t rows, std::int64_t cols) {
    Copy m = copy;
    m.rows = rows;
    m.cols = cols;
    m.srcPitch = each_ * size;
    m.dstPitch = pitch_ * 4;
    return m;
  };
  if (each_ == 1) {
    add(Transpose{.lanes = lanes_,
                  .rows = pitch_,  // of the same biases
                  .cols = blocks_,
                  .dstPitch = pitch_ * 4,
                  .from = element_,
                  .label = "biases"},
        {});
  } else if (blocks_ == 1 && !padded_) {  // again and again
    const std::int64_t times = pitch_ / ops_.biases, rest = pitch_ % ops_.biases;
    if (times > 0) add(matrix(1, ops_.biases), {b_.addUniformAxis("copy", times, {{into, ops_.biases * 4}})});
    if (rest > 0) {
      const int last = b_.addAxis("rest");
      b_.addStep(last, {{into, times * ops_.biases * 4}});
      add(matrix(1, rest), {last});
    }
  } else {  // channels that only fill up a block get 0
    const std::int64_t full = ops_.biases / each_, left = ops_.biases % each_;
    if (full > 0) add(matrix(full, each_), {});
    if (left > 0) {
      const int last = b_.addAxis("rest");
      b_.addStep(last, {{from, full * each_ * size}, {into, full * pitch_ * 4}});
      Copy m = matrix(1, left);
      m.padCols = each_ - left;
      add(m, {last});
    }
  }
}

}  // namespace cubejit
