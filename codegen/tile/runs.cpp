// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what of an entry may change along a run; all the rest must be equal.
#include "codegen/tile/runs.h"

namespace cubejit {
namespace {

// y - x, unless that is more than 64 bits hold.
template <class T>
bool subtract(T x, T y, std::int64_t& by) {
  return !__builtin_sub_overflow(y, x, &by);
}
template <class T>
bool add(T& field, std::int64_t by) {
  return !__builtin_add_overflow(field, by, &field);
}

using Found = std::optional<Distance>;

// The distance common to all entries of two lists; of empty ones, none.
template <class T>
Found common(const std::vector<T>& x, const std::vector<T>& y) {
  if (x.size() != y.size()) return std::nullopt;
  if (x.empty()) return Distance{};
  const Found first = distance(x[0], y[0]);
  for (std::size_t i = 1; first && i < x.size(); ++i) {
    if (distance(x[i], y[i]) != first) return std::nullopt;
  }
  return first;
}
template <class T>
bool moveAll(std::vector<T>& entries, const Distance& d) {
  for (T& entry : entries) {
    if (!move(entry, d)) return false;
  }
  return true;
}

}  // namespace

Found distance(const Use& x, const Use& y) { return Distance{{y.acc - x.acc, y.b - x.b, 0}}; }
bool move(Use& x, const Distance& d) { return add(x.acc, d.by[0]) && add(x.b, d.by[1]) && x.acc >= 0 && x.b >= 0; }

Found distance(const VectorLoad& x, const VectorLoad& y) {
  Distance d;
  return x.lanes == y.lanes && subtract(x.offset, y.offset, d.by[0]) ? Found(d) : std::nullopt;
}
bool move(VectorLoad& x, const Distance& d) { return add(x.offset, d.by[0]); }

Found distance(const AOperand& x, const AOperand& y) {
  const Found uses = common(x.uses, y.uses);
  std::int64_t first = 0, second = 0;
  if (!uses || x.kind != y.kind || x.lanes != y.lanes || x.lanes2 != y.lanes2 || x.table != y.table ||
      x.useLanes != y.useLanes || !subtract(x.offset, y.offset, first) || !subtract(x.offset2, y.offset2, second) ||
      second != (x.kind == AKind::kPermute2 ? first : 0))
    return std::nullopt;
  return Distance{{first, uses->by[0], uses->by[1]}};
}
bool move(AOperand& x, const Distance& d) {
  return add(x.offset, d.by[0]) && add(x.offset2, x.kind == AKind::kPermute2 ? d.by[0] : 0) &&
         moveAll(x.uses, Distance{{d.by[1], d.by[2], 0}});
}

Found distance(const Step& x, const Step& y) {
  const Found a = common(x.a, y.a), b = common(x.b, y.b);
  if (!a || !b || a->by[2] != 0 || x.firstMembers != y.firstMembers || x.prefetchAhead != y.prefetchAhead ||
      x.prefetchB != y.prefetchB)
    return std::nullopt;
  return Distance{{a->by[0], b->by[0], a->by[1]}};
}
bool move(Step& x, const Distance& d) {
  return moveAll(x.a, Distance{{d.by[0], d.by[2], 0}}) && moveAll(x.b, Distance{{d.by[1], 0, 0}});
}

Found distance(const Accumulator& x, const Accumulator& y) {
  Distance d;
  const bool alike = x.lanes == y.lanes && x.sums == y.sums;
  return alike && subtract(x.cOffset, y.cOffset, d.by[0]) && subtract(x.dOffset, y.dOffset, d.by[1]) ? Found(d)
                                                                                                     : std::nullopt;
}
bool move(Accumulator& x, const Distance& d) { return add(x.cOffset, d.by[0]) && add(x.dOffset, d.by[1]); }

Found distance(const Segment& x, const Segment& y) {
  Distance d;
  return subtract(x.aOffset, y.aOffset, d.by[0]) && subtract(x.bOffset, y.bOffset, d.by[1]) &&
                 subtract(x.outer, y.outer, d.by[2])
             ? Found(d)
             : std::nullopt;
}
bool move(Segment& x, const Distance& d) {
  return add(x.aOffset, d.by[0]) && add(x.bOffset, d.by[1]) && add(x.outer, d.by[2]) && x.outer >= 0;
}

Found distance(const Window& x, const Window& y) {
  Distance d;
  return subtract(x.begin, y.begin, d.by[0]) && subtract(x.end, y.end, d.by[1]) ? Found(d) : std::nullopt;
}
bool move(Window& x, const Distance& d) {
  return add(x.begin, d.by[0]) && add(x.end, d.by[1]) && x.begin >= 0 && x.end >= 0;
}

// Only what calls something moves on: where there is no kernel, nothing else is said either.
Found distance(const Variant& x, const Variant& y) {
  Distance d;
  if (x == y) return d;
  const bool alike = x.accumulate == y.accumulate && x.aligned == y.aligned && (x.list < 0) == (y.list < 0);
  return alike && x.kernel >= 0 && y.kernel >= 0 && subtract(x.kernel, y.kernel, d.by[0]) &&
                 subtract(x.list, y.list, d.by[1])
             ? Found(d)
             : std::nullopt;
}
bool move(Variant& x, const Distance& d) {
  return d == Distance{} || (add(x.kernel, d.by[0]) && add(x.list, d.by[1]) && x.kernel >= 0 && x.list >= -1);
}

std::optional<StepDistance> distance(const AxisStep& x, const AxisStep& y) {
  StepDistance d;
  if (x.repeat != y.repeat || !sameDeltas(x.repeatDelta, y.repeatDelta) || !subtract(x.cls, y.cls, d.cls))
    return std::nullopt;
  d.delta.resize(std::max(x.delta.size(), y.delta.size()));
  for (std::size_t s = 0; s < d.delta.size(); ++s) {
    if (!subtract(deltaOf(x.delta, s), deltaOf(y.delta, s), d.delta[s])) return std::nullopt;
  }
  return d;
}
bool move(AxisStep& x, const StepDistance& d) {
  if (x.delta.size() < d.delta.size()) x.delta.resize(d.delta.size());
  for (std::size_t s = 0; s < d.delta.size(); ++s) {
    if (!add(x.delta[s], d.delta[s])) return false;
  }
  return add(x.cls, d.cls);
}

}  // namespace cubejit
