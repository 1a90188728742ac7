// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides, for calls that run one behind the other, which moves read their writers' source instead, and which are not needed then. Leaves
// where such sequences are, and calling what has been composed, to elide_copies.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "codegen/tile/gather_pool.h"
#include "codegen/tile/program.h"

namespace cubejit {

/// A call of a sequence.
struct CallPart {
  const Node* node = nullptr;
  int gather = -1;  ///< of what it does now; -1: it stays as it is
  int a = -1;       ///< stream it reads now
  std::int64_t from = 0, to = 0;
  bool replaced = false, gone = false;
};

/// What a phase does with its buffers.
class PhaseBuffers {
 public:
  PhaseBuffers(const TileProgram& program, const Phase& phase);

  int of(int stream) const { return phase_.streams[static_cast<std::size_t>(stream)].buffer; }
  bool isPrivate(int buffer) const {
    return program_.buffers[static_cast<std::size_t>(buffer)].use == Buffer::Use::kPrivate;
  }
  bool written(int buffer) const { return at(buffer).written; }
  /// Places count from the same byte: there is one stream.
  bool oneOrigin(int buffer) const { return at(buffer).stream >= 0; }
  const TileProgram& program() const { return program_; }

 private:
  struct Use {
    int stream = -1;  ///< -2: several
    bool written = false;
  };
  const Use& at(int buffer) const { return of_[static_cast<std::size_t>(buffer)]; }

  void visit(const std::vector<Node>& nodes);

  const TileProgram& program_;
  const Phase& phase_;
  std::vector<Use> of_;
};

/// Calls [begin, end) of `nodes`, and what becomes of them. Buffers, pool and nodes must live as long.
class StraightCalls {
 public:
  StraightCalls(const PhaseBuffers& buffers, GatherPool& pool, const std::vector<Node>& nodes, std::size_t begin,
                std::size_t end);

  const std::vector<CallPart>& calls() const { return calls_; }
  /// Takes out of `through` (by buffer) those whose copies cannot be elided: others than moves touch them, or what is read was not
  /// written before in the sequence.
  void exclude(std::vector<bool>& through);
  /// `mostReads` as in CopyElision.
  void forward(const std::vector<bool>& through, const std::function<int(const Buffer&)>& mostReads);

 private:
  struct Reading;
  CallPart partOf(const Node& node);
  bool reads(const CallPart& call, int buffer) const { return call.a >= 0 && b_.of(call.a) == buffer; }
  bool writes(const CallPart& call, int buffer) const { return b_.of(call.node->call.c) == buffer; }
  std::vector<int> writersOf(const std::vector<int>& written, int state, const ByteRange& hull, std::int64_t at);
  std::vector<int> readBy(const std::vector<int>& written, int gather, std::int64_t from);
  std::vector<Reading> readingsOf(int buffer);
  void forwardThrough(int buffer, int most);
  std::set<int> readTooOften(const std::vector<Reading>& readings, int most);
  int mostReadsOf(const CallPart& writer, const std::vector<const Reading*>& readers);
  bool replace(Reading& r, const std::vector<CallPart>& now, int buffer);
  bool unchanged(Reading& r, int since, const std::vector<CallPart>& now, int buffer);
  bool mayWrite(const CallPart& call, int buffer, const ByteRange& hull);
  ByteRange touched(const Call& call, std::size_t operand);
  void settle(std::vector<Reading>& readings);

  const PhaseBuffers& b_;
  GatherPool& pool_;
  std::vector<CallPart> calls_;
  std::vector<int> written_;  // moves that write the buffer of the latest readings
  bool complete_ = true;
};

}  // namespace cubejit
