// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which questions are asked about an address: each of its lanes, and lane 0 one iteration on in each loop that moves it.
// All kernels' questions are answered together, since each walk over the program costs as much as its calls.
#include "runtime/dump/annotate.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "codegen/tile/segment_words.h"
#include "codegen/vector/op_table.h"

namespace cubejit {
namespace {

bool isScalarAccess(VOp op) {
  return op == VOp::kBroadcast || op == VOp::kFmaBroadcast || op == VOp::kDotBroadcast || op == VOp::kPrefetch;
}

// Bytes from one lane's element to the next.
std::int64_t laneBytes(VOp op) {
  switch (op) {
    case VOp::kLoadI8:
    case VOp::kStoreI8:
    case VOp::kLoadBytes:
    case VOp::kStoreBytes: return 1;
    case VOp::kLoadHalf:
    case VOp::kStoreHalf:
    case VOp::kStoreLow:
    case VOp::kLoadF16:
    case VOp::kStoreF16:
    case VOp::kLoadWords:
    case VOp::kStoreWords: return 2;
    default: return 4;
  }
}

// Lanes an instruction may touch: all, or those of the opmask set last before it.
std::pair<int, int> lanesOf(const VectorProgram& program, std::size_t index) {
  const VInstr& i = program.code[index];
  if (isScalarAccess(i.op)) return {0, 1};
  if (rowOf(i.op).imm == ImmKind::L) return {maskLo(i.imm), maskHi(i.imm)};
  if (i.mask > 0) {
    for (std::size_t at = index; at-- > 0;) {
      const VInstr& set = program.code[at];
      if (set.op == VOp::kMaskRange && set.dst == i.mask) return {maskLo(set.imm), maskHi(set.imm)};
    }
  }
  return {0, program.isa.lanes()};
}

class Annotator {
 public:
  Annotator(const TensorElements& elements, const TileProgram& program, const std::vector<VectorProgram>& vectors)
      : elements_(elements), p_(program), vectors_(vectors) {}

  std::vector<Annotation> run() {
    std::vector<KernelUse> uses = kernelUses(p_);
    std::vector<Annotation> out(vectors_.size());
    for (std::size_t k = 0; k < vectors_.size(); ++k) {
      out[k].use = std::move(uses[k]);
      out[k].trace = trace(vectors_[k], exampleArgs(p_, static_cast<int>(k), out[k].use));
      out[k].touches.resize(vectors_[k].code.size());
    }
    for (std::size_t k = 0; k < out.size(); ++k) visit(k, out[k], false);
    answers_ = followMoves(p_, questions_, elements_.followed());
    for (std::size_t k = 0; k < out.size(); ++k) {
      visit(k, out[k], true);
      if (multiplies(p_.kernels[k])) accumulators(vectors_[k], out[k]);
    }
    return out;
  }

 private:
  using Key = std::tuple<int, std::int64_t, std::size_t, std::int64_t, std::int64_t, Follow>;

  // The first time around remembers the question, the second time knows the answer.
  Place ask(const Place& place, const Moment& when, Follow follow, bool answered) {
    const Key key{place.buffer, place.offset, when.phase, when.task, when.order, follow};
    const auto known = number_.find(key);
    if (answered) return known == number_.end() ? place : answers_[known->second];
    if (known == number_.end()) {
      number_.emplace(key, questions_.size());
      questions_.push_back({place, when, follow});
    }
    return place;
  }

  bool isTensor(const Place& place) const { return place.buffer >= 0 && bufferAt(place.buffer).isCallers(); }

  // What the bytes mean: where they came from if they are read, where they go if they are results. A move may bring sums on their
  // way to a tensor, or weights into a packed buffer: then the other direction knows.
  Place meaning(const Annotation& a, bool isMove, PointerBase base, const Place& place, bool answered) {
    const bool result = base == PointerBase::kC;
    if (base == PointerBase::kD) {  // a copy: what the call itself has read
      Moment behind = a.use.moment;
      ++behind.order;
      return ask(place, behind, Follow::kCameFrom, answered);
    }
    const Place first = ask(place, a.use.moment, result ? Follow::kGoesTo : Follow::kCameFrom, answered);
    if (!isMove) return first;
    Moment beside = a.use.moment;  // so that the move itself counts
    beside.order += result ? 1 : -1;
    const Place second = ask(place, beside, result ? Follow::kCameFrom : Follow::kGoesTo, answered);
    return isTensor(first) || (first.buffer < 0 && !isTensor(second)) ? first : second;
  }

  const Buffer& bufferAt(int buffer) const { return p_.buffers[static_cast<std::size_t>(buffer)]; }

  std::optional<ElementPlace> elementAt(const Place& place) const {
    return place.buffer < 0 ? std::nullopt : elements_.elementAt(bufferAt(place.buffer), place.offset);
  }

  void visit(std::size_t kernel, Annotation& a, bool answered) {
    if (a.use.calls == 0) return;
    const bool isMove = !multiplies(p_.kernels[kernel]);
    for (std::size_t i = 0; i < a.trace.accesses.size(); ++i) {
      const auto& access = a.trace.accesses[i];
      if (!access || access->base == PointerBase::kList) continue;
      const Place& pointer =
          a.use.at[static_cast<std::size_t>(access->base) - static_cast<std::size_t>(PointerBase::kA)];
      if (pointer.buffer < 0) continue;
      const auto [lo, hi] = lanesOf(vectors_[kernel], i);
      const auto at = [&](std::int64_t bytes) {
        return meaning(a, isMove, access->base, Place{pointer.buffer, pointer.offset + access->offset + bytes},
                       answered);
      };
      const std::int64_t lane = laneBytes(vectors_[kernel].code[i].op);
      const Place first = at(lo * lane);
      Touch touch;
      touch.base = access->base;
      touch.place = Place{pointer.buffer, pointer.offset + access->offset};
      touch.padding = first.buffer < 0;
      touch.buffer = first.buffer;
      const auto element = elementAt(first);
      touch.isTensor = element.has_value();
      if (element) touch.at = *element;
      for (int l = lo + 1; l < hi; ++l) row(touch, first, at(l * lane), l - lo);
      for (const AccessFact::Step& step : access->steps) {
        const auto moved = elementAt(at(lo * lane + step.bytes));
        if (!element || !moved) continue;
        for (std::size_t axis = 0; axis < touch.at.size(); ++axis) {
          if ((*moved)[axis] != touch.at[axis])
            touch.moves.push_back({step.loop, static_cast<int>(axis), (*moved)[axis] - touch.at[axis]});
        }
      }
      if (answered) a.touches[i] = std::move(touch);
    }
  }

  // Takes lane `lane` into the row if it continues it.
  void row(Touch& touch, const Place& first, const Place& place, int lane) const {
    if (!touch.isTensor || touch.lanes != lane || place.buffer != first.buffer) return;
    const auto at = elementAt(place);
    if (!at) return;
    for (std::size_t axis = 0; axis < touch.at.size(); ++axis) {
      const std::int64_t stride = lane == 1 ? (*at)[axis] - touch.at[axis] : touch.laneStride;
      ElementPlace next = touch.at;
      next[axis] += lane * stride;
      if (stride == 0 || next != *at || (lane > 1 && touch.laneAxis != static_cast<int>(axis))) continue;
      touch.laneAxis = static_cast<int>(axis);
      touch.laneStride = stride;
      touch.lanes = lane + 1;
      return;
    }
  }

  // The registers a contract stores are its accumulators.
  static void accumulators(const VectorProgram& program, Annotation& a) {
    std::set<int> seen;
    for (std::size_t i = 0; i < program.code.size(); ++i) {
      const VInstr& instr = program.code[i];
      if (rowOf(instr.op).mem != MemUse::W || !a.touches[i] || a.touches[i]->base != PointerBase::kC) continue;
      if (seen.insert(instr.src1).second) a.accumulators.push_back({instr.src1, *a.touches[i]});
    }
    std::sort(a.accumulators.begin(), a.accumulators.end(), [](auto& x, auto& y) { return x.reg < y.reg; });
  }

  const TensorElements& elements_;
  const TileProgram& p_;
  const std::vector<VectorProgram>& vectors_;
  std::map<Key, std::size_t> number_;
  std::vector<OriginQuestion> questions_;
  std::vector<Place> answers_;
};

}  // namespace

TraceArgs exampleArgs(const TileProgram& program, int kernel, const KernelUse& use) {
  TraceArgs args;
  if (use.list >= 0) {
    const SegmentList& list = program.lists[static_cast<std::size_t>(use.list)];
    args.list = segmentWords(list);
    if (multiplies(program.kernels[static_cast<std::size_t>(kernel)]))
      args.sections = static_cast<std::int64_t>(list.size());
  }
  args.repeat = use.repeat;
  args.aRepeat = use.repeatStep[0];
  args.bRepeat = use.repeatStep[1];
  args.cRepeat = use.repeatStep[2];
  args.dRepeat = use.repeatStep[3];
  args.accumulate = use.accumulate ? 1 : 0;
  return args;
}

std::vector<Annotation> annotate(const TensorElements& elements, const TileProgram& program,
                                 const std::vector<VectorProgram>& vectors) {
  return Annotator(elements, program, vectors).run();
}

}  // namespace cubejit
