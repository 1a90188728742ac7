// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides, call by call, what becomes of those that store y. Cursors over biases follow those over y; steps that a kernel repeats are taken
// one by one where a call becomes two.
#include "algorithms/transforms/post_ops.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/kit/lower/builder.h"
#include "algorithms/kit/lower/data_gradient.h"
#include "algorithms/kit/panel_pitch.h"
#include "algorithms/transforms/bias_panel.h"
#include "algorithms/transforms/result_channels.h"
#include "codegen/tile/caller_buffers.h"
#include "codegen/tile/matrix.h"

namespace cubejit {
namespace {

constexpr std::int64_t kPieceElements =
    16384;  // of a task that finishes elements; both ends stay in the L1 and L2 caches

// A move to y, taken apart: what brings f32 to a panel of rows so many bytes apart (unless they are zeros), and what is done from there.
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
  if constexpr (OneOf<decltype(inward), Copy>) inward.streamingStore = false;
  Map out{.rows = stored.lines,
          .cols = cols,
          .srcPitch = inward.dstPitch,
          .dstPitch = m.dstPitch,
          .padCols = m.padCols,
          .to = m.to};
  if constexpr (OneOf<decltype(inward), Copy>) out.streamingStore = m.streamingStore;
  return {inward, out, stored.lines * inward.dstPitch};
}
Finishing finishingOf(const LaneSums& m) {
  const std::int64_t pitch = panelPitch(m.rows * 4);
  return {m, {.rows = 1, .cols = m.rows, .srcPitch = pitch, .dstPitch = 4}, pitch};
}
Finishing finishingOf(const Fill& m) {
  const std::int64_t pitch = panelPitch(m.cols * 4);
  return {std::nullopt,
          {.rows = m.rows, .cols = m.cols, .srcPitch = pitch, .dstPitch = m.dstPitch, .zeros = true, .to = m.element},
          m.rows * pitch};
}
// Nothing if it is no move of f32 that stores.
std::optional<Finishing> finishingOf(const Kernel& kernel) {
  return std::visit(
      overloaded{[](const OneOf<Copy, Transpose> auto& m) -> std::optional<Finishing> {
                   if (m.from != Element::kF32 || m.list) return std::nullopt;
                   return finishingOf(m);
                 },
                 [](const Fill& m) -> std::optional<Finishing> {
                   if (m.element != Element::kF32 || m.list) return std::nullopt;
                   return finishingOf(m);
                 },
                 [](const LaneSums& m) -> std::optional<Finishing> { return finishingOf(m); },
                 [](const OneOf<Contract, Accumulate, Map> auto&) -> std::optional<Finishing> { return std::nullopt; }},
      kernel);
}

std::string shortText(const PostOps& post) {
  std::string text;
  if (post.bias) text += "_bias";
  if (post.add) text += "_add";
  if (post.activation != Activation::kNone) text += std::string("_") + toString(post.activation);
  return text;
}

class PostOpsFusion {
 public:
  PostOpsFusion(TileProgram program, const Problem& problem, int lanes)
      : p_(std::move(program)),
        problem_(problem),
        post_(problem.postOps),
        lanes_(lanes),
        to_(ResultChannels::of(problem)) {}

  Result<TileProgram> run(bool wide) {
    y_ = bufferNamed(p_.buffers, "y");
    if (y_ < 0 || taskless()) return std::move(p_);  // an empty batch
    p_.name += shortText(post_);
    if (wide) {
      source_ = y_;
      p_.buffers[static_cast<std::size_t>(y_)].use = Buffer::Use::kShared;
      p_.buffers[static_cast<std::size_t>(y_)].name = "y_f32";
      y_ = addBuffer("y", Buffer::Use::kOutput, formatBytes(problem_, TensorId::kY));
    }
    if (post_.add) p_.residual = {y_, addBuffer("z", Buffer::Use::kInput, formatBytes(problem_, TensorId::kZ))};
    if (post_.bias) {
      bias_ = addBuffer("b", Buffer::Use::kInput, formatBytes(problem_, TensorId::kB));
      biases_ = addBuffer("biases", Buffer::Use::kShared, 0);
    }
    // How far cursors go behind a block's last channel is known when all have been seen.
    const TileProgram before = p_;
    to_.pitch = to_.each == 1 ? lanes_ : to_.each + lanes_;
    for (int round = 0; round < 2; ++round) {
      p_ = before;
      finished_.clear();
      furthest_ = 0;
      scratchBuffer_ = -1;
      if (const std::string broken = finish(wide); !broken.empty())
        return Error{ErrorCode::kInternal, Stage::kTile, p_.name + ": " + broken};
      if (!post_.bias || furthest_ <= to_.pitch) break;
      to_.pitch = furthest_;
    }
    dropUnused();
    if (!post_.bias) return std::move(p_);
    ProgramBuilder b(std::move(p_));
    addBiasPhase(b, to_, {bias_, biases_, problem_.cout, elementOf(resultType()), lanes_});
    return b.finish();
  }

 private:
  int addBuffer(std::string name, Buffer::Use use, std::int64_t bytes) {
    p_.buffers.push_back(Buffer{std::move(name), use, bytes, {}});
    return static_cast<int>(p_.buffers.size()) - 1;
  }
  int addKernel(Kernel kernel) {
    for (std::size_t k = 0; k < p_.kernels.size(); ++k) {
      if (p_.kernels[k] == kernel) return static_cast<int>(k);
    }
    p_.kernels.push_back(std::move(kernel));
    return static_cast<int>(p_.kernels.size()) - 1;
  }
  // Kernels that nothing calls any more.
  void dropUnused() {
    std::vector<int> place(p_.kernels.size(), -1);
    std::vector<Kernel> used;
    const auto keep = [&](int& kernel) {
      if (kernel < 0) return;
      int& at = place[static_cast<std::size_t>(kernel)];
      if (at < 0) {
        at = static_cast<int>(used.size());
        used.push_back(p_.kernels[static_cast<std::size_t>(kernel)]);
      }
      kernel = at;
    };
    const auto visit = [&](const auto& self, std::vector<Node>& nodes) -> void {
      for (Node& node : nodes) {
        for (Variant& v : node.call.variants) {
          keep(v.kernel);
          keep(v.aligned);
        }
        self(self, node.body);
      }
    };
    for (Phase& phase : p_.phases) visit(visit, phase.body);
    p_.kernels = std::move(used);
  }

  bool taskless() const { return formatBytes(problem_, TensorId::kY) == 0; }

  std::string finish(bool wide) {
    if (wide) {
      addElementwise();
      return {};
    }
    for (std::size_t i = 0; i < p_.phases.size(); ++i) {
      if (onlyZeroes(p_.phases[i])) {  // of what no product reaches, the post-ops remain
        source_ = -1;
        addElementwise();
        std::swap(p_.phases[i], p_.phases.back());
        p_.phases.pop_back();
        continue;
      }
      if (std::string broken = finishPhase(p_.phases[i]); !broken.empty()) return broken;
    }
    return {};
  }

  int streamsBuffer(const Phase& phase, int stream) const {
    return stream < 0 ? -1 : phase.streams[static_cast<std::size_t>(stream)].buffer;
  }

  bool onlyZeroes(const Phase& phase) const {
    bool any = false;
    const auto zeroes = [&](const auto& self, const std::vector<Node>& nodes) -> bool {
      return std::all_of(nodes.begin(), nodes.end(), [&](const Node& node) {
        if (!node.isCall()) return self(self, node.body);
        if (streamsBuffer(phase, node.call.c) != y_) return false;
        any = true;
        return std::all_of(node.call.variants.begin(), node.call.variants.end(), [&](const Variant& v) {
          return v.kernel < 0 || std::holds_alternative<Fill>(p_.kernels[static_cast<std::size_t>(v.kernel)]);
        });
      });
    };
    return zeroes(zeroes, phase.body) && any;
  }

  // ---- calls that store y ----
  std::string finishPhase(Phase& phase) {
    phase_ = &phase;
    biasOf_.clear();
    broken_.clear();
    scratch_ = -1;
    const std::size_t streams = phase.streams.size();
    for (std::size_t s = 0; s < streams; ++s) {
      if (phase.streams[s].buffer == y_ && post_.bias) follow(static_cast<int>(s));
    }
    visit(phase.body, -1);
    return broken_;
  }

  void breaks(const std::string& what) {
    if (broken_.empty()) broken_ = what;
  }

  // A cursor over biases that moves as stream `s` does over y.
  void follow(int s) {
    const auto at = static_cast<std::size_t>(s);
    const std::int64_t origin = phase_->streams[at].offset;
    const int biases = addStream("bias", biases_, to_.biasAlong(origin));
    std::int64_t furthest = to_.along(origin).channel;
    for (std::size_t a = 0; a < phase_->axes.size(); ++a) {
      // Repetitions that lead around the channels again, or into blocks that one of them alone does not reach, are steps of their own.
      const auto& steps = phase_->axes[a].steps;
      if (std::any_of(steps.begin(), steps.end(), [&](const AxisStep& step) {
            const std::int64_t more = step.repeat - 1, from = deltaOf(step.delta, at),
                               by = deltaOf(step.repeatDelta, at);
            const ChannelPlace each = to_.along(by);
            return more * each.channel >= to_.each ||
                   to_.along(from + more * by).block != to_.along(from).block + more * each.block;
          }))
        takeOneByOne(phase_->axes[a]);
      std::int64_t most = 0;
      for (AxisStep& step : phase_->axes[a].steps) {
        const ChannelPlace place = to_.along(deltaOf(step.delta, at)), each = to_.along(deltaOf(step.repeatDelta, at));
        most = std::max(most, place.channel + (step.repeat - 1) * each.channel);
        const auto set = [&](std::vector<std::int64_t>& deltas, std::int64_t bytes) {
          if (bytes == 0) return;
          deltas.resize(phase_->streams.size(), 0);
          deltas.back() = bytes;
        };
        set(step.delta, to_.biasAt(place));
        if (step.repeat > 1) set(step.repeatDelta, to_.biasAt(each));
      }
      furthest += most;
    }
    biasOf_[s] = {biases, furthest};
  }

  int addStream(const char* name, int buffer, std::int64_t offset) {
    phase_->streams.push_back(Stream{name, buffer, offset});
    return static_cast<int>(phase_->streams.size()) - 1;
  }

  void visit(std::vector<Node>& nodes, int around) {
    std::vector<Node> out;
    for (Node& node : nodes) {
      if (!node.isCall()) {
        visit(node.body, node.axis >= 0 ? node.axis : around);
        out.push_back(std::move(node));
        continue;
      }
      if (streamsBuffer(*phase_, node.call.c) != y_) {
        out.push_back(std::move(node));
        continue;
      }
      if (std::optional<Call> before = finishCall(node.call)) {
        if (around >= 0) takeOneByOne(phase_->axes[static_cast<std::size_t>(around)]);
        out.push_back(callNode(std::move(*before)));
      }
      out.push_back(std::move(node));
    }
    nodes = std::move(out);
  }

  // Makes it the call that finishes y; what it was, if that comes before.
  std::optional<Call> finishCall(Call& call) {
    if (call.place.repeat != 1 || call.d >= 0) breaks("call " + call.name + " repeats, or has an operand d");
    const auto bias = biasOf_.find(call.c);
    if (bias != biasOf_.end()) call.d = bias->second.stream;
    std::optional<Call> before;
    for (const Variant& v : call.variants) {
      if (v.kernel >= 0 && !std::holds_alternative<Contract>(p_.kernels[static_cast<std::size_t>(v.kernel)]) &&
          !before) {
        if (scratch_ < 0) scratch_ = addStream("unfinished", scratchBuffer(), 0);
        before = call;
        before->c = scratch_;
        before->d = -1;
      }
    }
    const std::int64_t furthest = bias == biasOf_.end() ? 0 : bias->second.furthest;
    for (std::size_t i = 0; i < call.variants.size(); ++i) {
      Variant& v = call.variants[i];
      if (v.kernel < 0) continue;
      if (v.accumulate) breaks("call " + call.name + " adds to y");
      if (before) {
        moveVariant(before->variants[i], v, furthest);
      } else {
        v.kernel = finishing(v.kernel, furthest);
        if (v.aligned >= 0) v.aligned = finishing(v.aligned, furthest);
      }
    }
    if (before) {
      call.a = scratch_;
      call.name = "post_ops";
    }
    return before;
  }

  int scratchBuffer() {
    if (scratchBuffer_ < 0) scratchBuffer_ = addBuffer("unfinished", Buffer::Use::kPrivate, 0);
    return scratchBuffer_;
  }

  // A microkernel with post-ops.
  int finishing(int kernel, std::int64_t furthest) {
    if (const auto known = finished_.find(kernel); known != finished_.end()) {
      reach(furthest + known->second.second);
      return known->second.first;
    }
    Contract c = std::get<Contract>(p_.kernels[static_cast<std::size_t>(kernel)]);
    c.post = post_;
    c.label.text += shortText(post_);
    std::int64_t most = 0;
    for (Accumulator& acc : c.accumulators) {
      if (!post_.bias) break;
      const ChannelPlace place = to_.along(acc.cOffset);
      acc.biasOffset = static_cast<std::int32_t>(to_.biasAt(place));
      most = std::max(most, place.channel + lanes_);
    }
    reach(furthest + most);
    const int made = addKernel(std::move(c));
    finished_[kernel] = {made, most};
    return made;
  }

  void reach(std::int64_t channels) { furthest_ = std::max(furthest_, channels); }

  // What a move stores goes to a panel as f32 first, and from there, finished, to where it went.
  void moveVariant(Variant& first, Variant& then, std::int64_t furthest) {
    const auto finishing = finishingOf(p_.kernels[static_cast<std::size_t>(then.kernel)]);
    if (!finishing) return breaks("y is stored by what is no move of f32");
    first.kernel = finishing->inward ? addKernel(*finishing->inward) : -1;
    Map out = finishing->out;
    out.lanes = lanes_;
    const std::int64_t whole = out.cols / to_.each;
    if (to_.each > 1 && out.rows == 1 && out.cols % to_.each == 0 && whole > 1 && out.padCols == 0) {
      // Pixels side by side: rows of a few, which all begin with the same channel.
      const std::int64_t few = divisorAtMost(whole, std::max<std::int64_t>(1, kRowChannels / to_.each));
      out.rows = whole / few;
      out.cols = few * to_.each;
      out.srcPitch = out.cols * 4;
      out.dstPitch = out.cols * elementBytes(out.to);
      out.streamingStore = false;
    }
    setPost(out, furthest);
    then.kernel = addKernel(out);
    std::int64_t& bytes = p_.buffers[static_cast<std::size_t>(scratchBuffer())].bytes;
    bytes = std::max(bytes, finishing->panelBytes);
  }

  // The map finishes what it reads; it begins at most `furthest` channels into a block.
  void setPost(Map& m, std::int64_t furthest) {
    m.post = post_;
    m.label = "post_ops";
    if (!post_.bias) return;
    m.biasRow = m.rows > 1 ? to_.biasAlong(m.dstPitch) : 0;
    m.biasColumn = to_.each == 1 ? 0 : 4;
    const std::int64_t rows = (m.rows - 1) * (m.rows > 1 ? to_.along(m.dstPitch).channel : 0);
    reach(furthest + rows + (m.biasColumn == 0 ? 0 : m.cols) + lanes_);
  }

  // ---- whole tensors ----
  // Pixels that lie side by side: a row each, of a block's channels; of a block of one channel they are one row.
  void addElementwise() {
    const bool single = to_.each == 1;
    const std::int64_t outer = problem_.batch * problem_.out.volume() / to_.pixels, block = to_.pixels * to_.each;
    const std::int64_t in = source_ < 0 ? 0 : 4, out = to_.element;
    p_.phases.push_back(Phase{});
    phase_ = &p_.phases.back();
    phase_->name = "post_ops";
    const int sink = addStream("y", y_, 0), from = source_ < 0 ? sink : addStream("from", source_, 0),
              bias = post_.bias ? addStream("bias", biases_, 0) : -1;
    const auto axis = [&](const char* name, int classes) {
      phase_->axes.push_back(Axis{name, classes, {}});
      return static_cast<int>(phase_->axes.size()) - 1;
    };
    const auto step = [&](int axis, std::int64_t elements, std::int64_t biases, int cls) {
      AxisStep s{std::vector<std::int64_t>(phase_->streams.size(), 0), cls, 1, {}};
      s.delta[static_cast<std::size_t>(sink)] = elements * out;
      if (from != sink) s.delta[static_cast<std::size_t>(from)] = elements * in;
      if (bias >= 0) s.delta[static_cast<std::size_t>(bias)] = biases;
      phase_->axes[static_cast<std::size_t>(axis)].steps.push_back(std::move(s));
    };
    const int images = axis("image", 1), blocks = axis("block", 2), pieces = axis("piece", 2);
    for (std::int64_t i = 0; i < outer; ++i) step(images, i * to_.blocks * block, 0, 0);
    const std::int64_t left = problem_.cout % to_.each;  // channels of a last block that is not full
    for (std::int64_t i = 0; i < to_.blocks; ++i)
      step(blocks, i * block, to_.biasAt({i, 0}), left > 0 && i + 1 == to_.blocks ? 1 : 0);
    const std::int64_t whole = to_.pixels,
                       piece = std::max<std::int64_t>(1, std::min(whole, kPieceElements / to_.each));
    for (std::int64_t i = 0; i < whole; i += piece) step(pieces, i * to_.each, 0, i + piece <= whole ? 0 : 1);
    Call call{"post_ops", from, -1, sink, {blocks, pieces}, {}};
    call.d = bias;
    for (const bool cut : {false, true}) {
      for (const std::int64_t count : {piece, whole % piece}) {
        Variant v;
        if (count > 0 && (!cut || left > 0)) {
          Map m{.lanes = lanes_,
                .rows = single ? 1 : count,
                .cols = single ? count
                        : cut  ? left
                               : to_.each,
                .srcPitch = (single ? count : to_.each) * 4,
                .dstPitch = (single ? count : to_.each) * out,
                .padCols = cut ? to_.each - left : 0,
                .zeros = source_ < 0,
                .to = elementOf(resultType())};
          setPost(m, 0);
          v.kernel = addKernel(m);
        }
        call.variants.push_back(v);
      }
    }
    phase_->parallelAxes = {images, blocks, pieces};
    phase_->body.push_back(callNode(std::move(call)));
    phase_->workCycles = static_cast<double>(outer * to_.blocks * block) * 8 / 24;
  }

  DType resultType() const {
    const DType type = formatOf(problem_, TensorId::kY).dtype;
    return isHf32(type) ? DType::kF32 : type;
  }

  static constexpr std::int64_t kRowChannels = 256;

  struct Following {
    int stream = -1;
    std::int64_t furthest = 0;  ///< channels into a block that the loops lead to
  };

  TileProgram p_;
  const Problem& problem_;
  const PostOps post_;
  const int lanes_;
  ResultChannels to_;
  int y_ = -1, bias_ = -1, biases_ = -1, source_ = -1, scratch_ = -1, scratchBuffer_ = -1;
  std::int64_t furthest_ = 0;
  Phase* phase_ = nullptr;
  std::map<int, Following> biasOf_;  // by stream over y
  std::map<int, std::pair<int, std::int64_t>>
      finished_;  // by microkernel: with post-ops, and how many channels it reads
  std::string broken_;
};

}  // namespace

Result<TileProgram> addPostOps(TileProgram program, const Problem& problem, bool wide, int lanes) {
  if (!problem.postOps.any()) return program;
  return PostOpsFusion(std::move(program), problem, lanes).run(wide);
}

}  // namespace cubejit
