// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the walk: the program's calls pass by once a round, and every open question takes the move that answers it. What came
// from memory is answered by the last move before the question's moment, what goes there by the first one behind it.
#include "codegen/tile/origin.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "codegen/tile/copies.h"
#include "codegen/tile/matrix.h"
#include "codegen/tile/walk.h"

namespace cubejit {
namespace {

constexpr std::int64_t kMostCalls = 400'000;  // of a phase that are looked at
constexpr int kMostMoves = 4;                 // tensor -> packed -> panel, and one to spare

bool isWorkspace(const TileProgram& p, int buffer) {
  return buffer >= 0 && p.buffers[static_cast<std::size_t>(buffer)].isWorkspace();
}

int bufferOf(const Phase& phase, int stream) {
  return stream < 0 ? -1 : phase.streams[static_cast<std::size_t>(stream)].buffer;
}

// Line and column of the element `offset` bytes behind the first one of a matrix.
struct Cell {
  std::int64_t line = 0, column = 0;
};
std::optional<Cell> cellAt(const MatrixLines& m, std::int64_t offset) {
  const auto inLine = [&](std::int64_t in) { return in >= 0 && in < m.lineBytes() && in % m.element == 0; };
  if (m.pitch == 0 || m.lines == 1)
    return inLine(offset) ? std::optional<Cell>(Cell{0, offset / m.element}) : std::nullopt;
  // Lines do not overlap in a destination; in a source any line that holds the element will do.
  const std::int64_t guess = std::clamp<std::int64_t>(offset / m.pitch, 0, m.lines - 1);
  for (const std::int64_t line : {guess, guess - 1, guess + 1}) {
    if (line >= 0 && line < m.lines && inLine(offset - line * m.pitch))
      return Cell{line, (offset - line * m.pitch) / m.element};
  }
  return std::nullopt;
}

struct Range {
  std::int64_t begin = 0, end = 0;
};
Range spanOf(const MatrixLines& m) {
  const std::int64_t last = std::max<std::int64_t>(m.lines - 1, 0) * m.pitch;
  return {std::min<std::int64_t>(0, last), std::max<std::int64_t>(0, last) + m.lineBytes()};
}

// Rows of the source are columns of the destination, which has a line for each column of the source, or (sums) one.
template <class M>
constexpr bool kTurns = OneOf<M, Transpose, LaneReduce>;

// Offset from the source pointer of what a kernel writes at `offset` behind its destination pointer.
struct Source {
  bool written = false, zero = false, added = false;
  std::int64_t offset = 0;
};
template <MatrixKernel M>
Source sourceAt(const M& m, std::int64_t offset) {
  Source s;
  const MatrixLines source = sourceOf(m);
  const auto cell = cellAt(targetOf(m), offset);
  if (!cell) return s;
  const std::int64_t row = kTurns<M> ? cell->column : cell->line, column = kTurns<M> ? cell->line : cell->column;
  s.written = true;
  s.zero = row >= source.lines || column >= source.columns;
  s.added = OneOf<M, Accumulate>;
  s.offset = row * source.pitch + column * source.element;
  return s;
}

// Offset from the destination pointer of where a kernel brings the element at `offset` behind its source pointer.
template <MatrixKernel M>
std::optional<std::int64_t> destinationAt(const M& m, std::int64_t offset) {
  const auto cell = cellAt(sourceOf(m), offset);
  if (!cell) return std::nullopt;
  const MatrixLines target = targetOf(m);
  if (OneOf<M, LaneReduce>) return cell->line * target.element;
  if constexpr (OneOf<M, Map>) {
    if (m.combine != Combine::kNone) return cell->line * target.pitch + cell->column % m.lanes * target.element;
  }
  const std::int64_t line = kTurns<M> ? cell->column : cell->line, column = kTurns<M> ? cell->line : cell->column;
  return line * target.pitch + column * target.element;
}

// Whether what is written is what was read, or zeros beside it.
template <MatrixKernel M>
bool isCopy(const M& m) {
  if constexpr (OneOf<M, Map>) return !m.f.any() && !m.zeros && m.combine == Combine::kNone;
  return !OneOf<M, LaneReduce, Accumulate>;
}

class Follower {
 public:
  Follower(const TileProgram& program, const std::vector<OriginQuestion>& questions, Moves moves)
      : p_(program), moves_(moves) {
    for (const OriginQuestion& q : questions) trails_.push_back({q.follow, q.place, q.when, {}, {}, false});
  }

  std::vector<Place> run() {
    for (int round = 0; round < kMostMoves; ++round) {
      if (!open()) break;
      for (std::size_t phase = 0; phase < p_.phases.size(); ++phase) pass(phase);
      for (Trail& t : trails_) {
        if (!t.answered) continue;
        t.place = t.next;
        t.when = t.nextWhen;
      }
    }
    std::vector<Place> out;
    for (const Trail& t : trails_) out.push_back(t.place);
    return out;
  }

 private:
  struct Trail {
    Follow follow;
    Place place;
    Moment when;
    Place next;
    Moment nextWhen;
    bool answered;
  };

  // Sorts the unanswered trails by where they are; false if there are none.
  bool open() {
    for (auto* index : {&from_, &to_}) index->clear();
    bool any = false;
    for (std::size_t i = 0; i < trails_.size(); ++i) {
      Trail& t = trails_[i];
      t.answered = false;
      if (!isWorkspace(p_, t.place.buffer)) continue;
      any = true;
      (t.follow == Follow::kCameFrom ? from_ : to_)[t.place.buffer].emplace(t.place.offset, i);
    }
    return any;
  }

  void pass(std::size_t number) {
    const Phase& phase = p_.phases[number];
    Moment now{number, 0, 0};
    walkCalls(phase, [&](const CallSite& site) {
      now.task = site.task;
      ++now.order;
      const Kernel& kernel = p_.kernels[static_cast<std::size_t>(site.variant->kernel)];
      if (multiplies(kernel) && moves_ == Moves::kCopies) ends(bufferOf(phase, site.call->c), now);
      std::visit(overloaded{[&](const Contract& c) {
                              if (site.call->d >= 0 && !readsD(kernel)) copies(c, site, phase, now);
                            },
                            [](const TileProduct&) {},
                            [&](const MatrixKernel auto& m) {
                              if (targetOf(m).empty()) return;
                              writes(m, site, phase, now);
                              reads(m, site, phase, now);
                            }},
                 kernel);
      return now.order < kMostCalls;
    });
  }

  bool before(const Moment& x, const Moment& y) const {
    return x.phase < y.phase || (x.phase == y.phase && x.task == y.task && x.order < y.order);
  }
  // Private buffers live as long as a task.
  bool meets(int buffer, const Moment& x, const Moment& y) const {
    return p_.buffers[static_cast<std::size_t>(buffer)].use == Buffer::Use::kShared ||
           (x.phase == y.phase && x.task == y.task);
  }

  using Index = std::map<int, std::multimap<std::int64_t, std::size_t>>;

  // Calls visit(trail, offset from the repetition's pointer, repetition) for the trails inside `span` of each repetition.
  template <class Visit>
  void inside(Index& index, int buffer, std::int64_t at, Range span, std::int64_t repeat, std::int64_t step,
              Visit visit) {
    const auto found = index.find(buffer);
    if (found == index.end()) return;
    const std::int64_t last = (repeat - 1) * step;
    const auto begin = found->second.lower_bound(at + span.begin + std::min<std::int64_t>(0, last));
    const auto end = found->second.lower_bound(at + span.end + std::max<std::int64_t>(0, last));
    for (auto trail = begin; trail != end; ++trail) {
      for (std::int64_t r = 0; r < repeat; ++r) {
        const std::int64_t offset = trail->first - at - r * step;
        if (offset >= span.begin && offset < span.end) visit(trails_[trail->second], offset, r);
        if (step == 0) break;
      }
    }
  }

  // Matrices of a call that lie equally far apart: of its repetitions, or of a segment of its list.
  struct Matrices {
    std::int64_t a = 0, c = 0, count = 1, aStep = 0, cStep = 0;
  };
  std::vector<Matrices> matricesOf(const std::optional<ListSteps>& steps, const CallSite& site) const {
    if (!steps) return {{site.at[0], site.at[2], site.repeat, site.repeatStep[0], site.repeatStep[2]}};
    std::vector<Matrices> out;
    for (const Segment& s : p_.lists[static_cast<std::size_t>(site.variant->list)].front())
      out.push_back({site.at[0] + s.aOffset, site.at[2] + s.bOffset, s.outer, steps->a, steps->c});
    return out;
  }

  void writes(const MatrixKernel auto& m, const CallSite& site, const Phase& phase, const Moment& now) {
    const int src = bufferOf(phase, site.call->a), dst = bufferOf(phase, site.call->c);
    if (from_.count(dst) == 0) return;
    for (const Matrices& all : matricesOf(listSteps(m), site)) {
      inside(from_, dst, all.c, spanOf(targetOf(m)), all.count, all.cStep,
             [&](Trail& t, std::int64_t offset, std::int64_t r) {
               if (!before(now, t.when) || !meets(dst, now, t.when)) return;
               const Source s = sourceAt(m, offset);
               if (!leadsOn(m) && (s.written || s.added)) return end(t);
               if (!s.written || s.added) return;
               t.answered = true;
               t.next = s.zero ? Place{} : Place{src, all.a + r * all.aStep + s.offset};
               t.nextWhen = now;
             });
    }
  }

  // Sums are written into the buffer: what it held before is not followed beyond.
  void ends(int buffer, const Moment& now) {
    const auto found = from_.find(buffer);
    if (found == from_.end()) return;
    for (const auto& [offset, trail] : found->second) {
      if (before(now, trails_[trail].when) && meets(buffer, now, trails_[trail].when)) end(trails_[trail]);
    }
  }
  static void end(Trail& t) {
    t.answered = true;
    t.next = t.place;
    t.nextWhen = t.when;
  }
  bool leadsOn(const MatrixKernel auto& m) const { return moves_ == Moves::kAll || isCopy(m); }

  // What a contract leaves for others, it has read.
  void copies(const Contract& c, const CallSite& site, const Phase& phase, const Moment& now) {
    const int src = bufferOf(phase, site.call->b), dst = bufferOf(phase, site.call->d);
    const SegmentList& list = p_.lists[static_cast<std::size_t>(site.variant->list)];
    inside(from_, dst, site.at[3], Range{0, copiedBytes(c, list)}, site.repeat, site.repeatStep[3],
           [&](Trail& t, std::int64_t offset, std::int64_t r) {
             const auto from = copiedFrom(c, list, offset);
             if (!from || !before(now, t.when) || !meets(dst, now, t.when)) return;
             t.answered = true;
             t.next = Place{src, site.at[1] + r * site.repeatStep[1] + *from};
             t.nextWhen = now;
           });
  }

  void reads(const MatrixKernel auto& m, const CallSite& site, const Phase& phase, const Moment& now) {
    const int src = bufferOf(phase, site.call->a), dst = bufferOf(phase, site.call->c);
    if (src < 0 || to_.count(src) == 0) return;
    for (const Matrices& all : matricesOf(listSteps(m), site)) {
      inside(to_, src, all.a, spanOf(sourceOf(m)), all.count, all.aStep,
             [&](Trail& t, std::int64_t offset, std::int64_t r) {
               if (t.answered || !before(t.when, now) || !meets(src, now, t.when)) return;
               const auto to = destinationAt(m, offset);
               if (!to) return;
               if (!leadsOn(m)) return end(t);
               t.answered = true;
               t.next = Place{dst, all.c + r * all.cStep + *to};
               t.nextWhen = now;
             });
    }
  }

  const TileProgram& p_;
  const Moves moves_;
  std::vector<Trail> trails_;
  Index from_, to_;
};

int sectionsFilled(const SegmentList& list) {
  return static_cast<int>(std::count_if(list.begin(), list.end(), [](const auto& s) { return !s.empty(); }));
}

}  // namespace

std::vector<KernelUse> kernelUses(const TileProgram& program) {
  std::vector<KernelUse> uses(program.kernels.size());
  std::vector<int> filled(program.kernels.size(), -1);
  // Strides of dozens have lists by the ten thousand, so what is known of one is not searched for.
  std::vector<std::vector<bool>> listed(program.kernels.size(), std::vector<bool>(program.lists.size()));
  std::vector<int> sectionsOf;
  for (const SegmentList& list : program.lists) sectionsOf.push_back(sectionsFilled(list));
  for (std::size_t number = 0; number < program.phases.size(); ++number) {
    const Phase& phase = program.phases[number];
    std::int64_t order = 0;
    const auto note = [&](const CallSite& site, std::size_t kernel) {
      KernelUse& use = uses[kernel];
      use.fewestRepeats = use.calls == 0 ? site.repeat : std::min(use.fewestRepeats, site.repeat);
      use.mostRepeats = std::max(use.mostRepeats, site.repeat);
      ++use.calls;
      use.truncated = use.truncated || order == kMostCalls;
      const int list = site.variant->list;
      if (list >= 0 && !listed[kernel][static_cast<std::size_t>(list)]) {
        listed[kernel][static_cast<std::size_t>(list)] = true;
        use.lists.push_back(list);
      }
      const int sections = list < 0 ? 0 : sectionsOf[static_cast<std::size_t>(list)];
      if (sections <= filled[kernel]) return;
      filled[kernel] = sections;
      use.moment = Moment{number, site.task, order};
      use.phaseName = phase.name;
      use.callName = site.call->name;
      const std::array<int, 4> streams = streamsOf(*site.call);
      for (std::size_t s = 0; s < streams.size(); ++s) use.at[s] = Place{bufferOf(phase, streams[s]), site.at[s]};
      use.repeatStep = site.repeatStep;
      use.repeat = site.repeat;
      use.list = list;
      use.accumulate = site.variant->accumulate;
    };
    walkCalls(phase, [&](const CallSite& site) {
      ++order;
      note(site, static_cast<std::size_t>(site.variant->kernel));
      if (site.variant->aligned >= 0) note(site, static_cast<std::size_t>(site.variant->aligned));
      return order < kMostCalls;
    });
  }
  return uses;
}

std::vector<Place> followMoves(const TileProgram& program, const std::vector<OriginQuestion>& questions, Moves moves) {
  return Follower(program, questions, moves).run();
}

}  // namespace cubejit
