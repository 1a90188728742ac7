// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides segments: the distance between matrices that occurs most is the kernel's, and whatever follows at it is one segment.
#include "codegen/tile/listed_moves.h"

#include <map>
#include <utility>

namespace cubejit {
namespace {

using Offsets = std::pair<std::int64_t, std::int64_t>;

Offsets offsetsBetween(const Segment& from, const Segment& to) {
  return {to.aOffset - from.aOffset, to.bOffset - from.bOffset};
}

ListSteps mostFrequent(const std::vector<Segment>& segments) {
  std::map<Offsets, std::int64_t> counts;
  Offsets most{0, 0};
  std::int64_t found = 0;
  for (std::size_t i = 1; i < segments.size(); ++i) {
    const Offsets d = offsetsBetween(segments[i - 1], segments[i]);
    const std::int64_t count = ++counts[d];
    if (count <= found) continue;
    found = count;
    most = d;
  }
  return {most.first, most.second};
}

}  // namespace

ListedMatrices listMatrices(ListedMove matrix, const std::vector<Segment>& segments) {
  const Segment first = segments.front();
  ListedMatrices out{std::move(matrix), SegmentList(1), first.aOffset, first.bOffset};
  std::optional<ListSteps>& own = std::visit([](auto& m) -> auto& { return m.list; }, out.kernel);
  if (!own) own = mostFrequent(segments);
  const ListSteps steps = *own;
  std::vector<Segment>& list = out.list.front();
  for (const Segment& s : segments) {
    const Segment here{s.aOffset - first.aOffset, s.bOffset - first.bOffset, s.outer};
    Segment* last = list.empty() ? nullptr : &list.back();
    if (last != nullptr && here.aOffset - last->aOffset == last->outer * steps.a &&
        here.bOffset - last->bOffset == last->outer * steps.c)
      last->outer += here.outer;
    else
      list.push_back(here);
  }
  return out;
}

}  // namespace cubejit
