// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides segments: the distance between matrices that occurs most is the kernel's, and whatever follows at it is one segment.
#include "algorithms/cube/lower/listed_moves.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace cubejit {
namespace {

using Distance = std::pair<std::int64_t, std::int64_t>;

Distance distance(const Segment& from, const Segment& to) {
  return {to.aOffset - from.aOffset, to.bOffset - from.bOffset};
}

Distance mostFrequent(const std::vector<Segment>& segments) {
  std::map<Distance, std::int64_t> counts;
  Distance most{0, 0};
  std::int64_t found = 0;
  for (std::size_t i = 1; i < segments.size(); ++i) {
    const Distance d = distance(segments[i - 1], segments[i]);
    const std::int64_t count = ++counts[d];
    if (count <= found) continue;
    found = count;
    most = d;
  }
  return most;
}

}  // namespace

void CallSequence::add(const char* name, StreamPlace a, StreamPlace b, StreamPlace c, const Variant& variant,
                       CallPlace place) {
  Call call;
  call.name = name;
  call.a = a.stream;
  call.b = b.stream;
  call.c = c.stream;
  call.variants = {variant};
  place.offset = {a.offset, b.offset, c.offset, 0};
  call.place = place;
  call.unit = unit_;
  call.issues = std::exchange(issues_, false);
  nodes_.push_back(callNode(std::move(call)));
}

Move rowMove(MoveKind kind, int lanes, std::int64_t cols, Element from, Element to, const char* label) {
  Move m;
  m.kind = kind;
  m.lanes = lanes;
  m.rows = 1;
  m.cols = cols;
  m.from = from;
  m.to = to;
  m.label = label;
  return m;
}

void ListedMoves::addSegment(const Move& matrix, const Segment& segment) {
  if (segment.outer <= 0 || matrix.rows <= 0 || matrix.cols <= 0) return;
  const auto same = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) { return g.matrix == matrix; });
  Group& group = same == groups_.end() ? groups_.emplace_back(Group{matrix, {}}) : *same;
  group.segments.push_back(segment);
}

void ListedMoves::emit(CallSequence& calls, const char* name, StreamPlace from, StreamPlace to) {
  for (Group& group : groups_) {
    Move kernel = group.matrix;
    kernel.listed = true;
    if (kernel.aOuterStep == 0 && kernel.cOuterStep == 0)
      std::tie(kernel.aOuterStep, kernel.cOuterStep) = mostFrequent(group.segments);
    SegmentList list(1);
    const Segment first = group.segments.front();
    for (const Segment& s : group.segments) {
      const Segment here{s.aOffset - first.aOffset, s.bOffset - first.bOffset, s.outer};
      Segment* last = list.front().empty() ? nullptr : &list.front().back();
      if (last != nullptr && here.aOffset - last->aOffset == last->outer * kernel.aOuterStep &&
          here.bOffset - last->bOffset == last->outer * kernel.cOuterStep)
        last->outer += here.outer;
      else
        list.front().push_back(here);
    }
    const bool zero = kernel.kind == MoveKind::kZero;
    Variant variant;
    variant.kernel = calls.builder().addKernel(std::move(kernel));
    variant.list = calls.builder().addList(std::move(list));
    calls.add(name, zero ? StreamPlace{} : StreamPlace{from.stream, from.offset + first.aOffset}, {},
              {to.stream, to.offset + first.bOffset}, variant);
  }
  groups_.clear();
}

}  // namespace cubejit
