// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how many like matrices that one unit instruction moves become few calls: one kernel for each distinct matrix, which walks
// over a list of places. Leaves which matrices there are to the instructions.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/cube/core_units.h"
#include "algorithms/kit/lower/builder.h"
#include "codegen/tile/listed_moves.h"

namespace cubejit {

/// What an operand of calls is: a stream, and a byte of it.
struct StreamPlace {
  int stream = -1;
  std::int64_t offset = 0;
};

/// Calls in order, for the body of a nest.
class CallSequence {
 public:
  explicit CallSequence(ProgramBuilder& builder) : b_(builder) {}
  ProgramBuilder& builder() { return b_; }

  /// Calls from here on are an instruction of the unit.
  void issue(CoreUnit unit) {
    unit_ = unit;
    issues_ = true;
  }
  /// A call of one variant. `place` holds repetitions; offsets of streams are those of the places.
  void add(const char* name, StreamPlace a, StreamPlace b, StreamPlace c, const Variant& variant, CallPlace place = {});
  std::vector<Node> take() { return std::move(nodes_); }
  /// Those from the `first`th on; and calls like them once more.
  std::vector<Node> from(std::int64_t first) const { return {nodes_.begin() + first, nodes_.end()}; }
  void add(const std::vector<Node>& calls) { nodes_.insert(nodes_.end(), calls.begin(), calls.end()); }
  std::int64_t size() const { return static_cast<std::int64_t>(nodes_.size()); }

 private:
  ProgramBuilder& b_;
  std::vector<Node> nodes_;
  CoreUnit unit_ = CoreUnit::kNone;
  bool issues_ = false;
};

/// Appends the calls to a choice's body, as one of its windows.
void addWindow(Node& choice, CallSequence& calls);

/// Matrices moved from one stream to another.
class ListedMoves {
 public:
  /// A matrix from byte `a` to byte `c`. Matrices of the same kind that follow each other evenly are one segment.
  void add(const ListedMove& matrix, std::int64_t a, std::int64_t c) { addSegment(matrix, {a, c, 1}); }
  /// As many as the segment says, the steps of `matrix` apart.
  void addSegment(const ListedMove& matrix, const Segment& segment);

  /// One call for each kind, in the order in which they were first added. Offsets of `from` and `to` count from the streams' beginnings.
  void emit(CallSequence& calls, const char* name, StreamPlace from, StreamPlace to);

 private:
  struct Group {
    ListedMove matrix;
    std::vector<Segment> segments;
  };
  std::vector<Group> groups_;
};

/// Zeroes so many bytes, a multiple of 4, if there are any.
void zeroBytes(CallSequence& calls, const char* name, int lanes, std::int64_t bytes, StreamPlace to);

}  // namespace cubejit
