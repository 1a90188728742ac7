// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides groups: like matrices are of one kernel.
#include "algorithms/cube/lower/listed_moves.h"

#include <algorithm>
#include <utility>

namespace cubejit {

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
  call.unit = static_cast<int>(unit_);
  call.issues = std::exchange(issues_, false);
  nodes_.push_back(callNode(std::move(call)));
}

void addWindow(Node& choice, CallSequence& calls) {
  const auto first = static_cast<int>(choice.body.size());
  for (Node& node : calls.take()) choice.body.push_back(std::move(node));
  choice.windows.push_back({first, static_cast<int>(choice.body.size())});
}

void ListedMoves::addSegment(const ListedMove& matrix, const Segment& segment) {
  const bool empty = std::visit([](const auto& m) { return m.rows <= 0 || m.cols <= 0; }, matrix);
  if (segment.outer <= 0 || empty) return;
  const auto same = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) { return g.matrix == matrix; });
  Group& group = same == groups_.end() ? groups_.emplace_back(Group{matrix, {}}) : *same;
  group.segments.push_back(segment);
}

void ListedMoves::emit(CallSequence& calls, const char* name, StreamPlace from, StreamPlace to) {
  for (const Group& group : groups_) {
    ListedMatrices listed = listMatrices(group.matrix, group.segments);
    const bool zero = std::holds_alternative<Fill>(listed.kernel);
    Variant variant;
    variant.kernel = calls.builder().addKernel(kernelOf(std::move(listed.kernel)));
    variant.list = calls.builder().addList(std::move(listed.list));
    calls.add(name, zero ? StreamPlace{} : StreamPlace{from.stream, from.offset + listed.a}, {},
              {to.stream, to.offset + listed.c}, variant);
  }
  groups_.clear();
}

void zeroBytes(CallSequence& calls, const char* name, int lanes, std::int64_t bytes, StreamPlace to) {
  ListedMoves moves;
  moves.add(Fill{.lanes = lanes, .rows = 1, .cols = bytes / 4, .label = "zero"}, 0, 0);
  moves.emit(calls, name, {}, to);
}

}  // namespace cubejit
