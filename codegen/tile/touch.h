// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which bytes one kernel call reads and writes, relative to its pointers a, b, c and d. Run-time repetition is left to callers.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "codegen/tile/program.h"

namespace cubejit {

/// Half-open range of bytes; empty if begin >= end.
struct ByteRange {
  std::int64_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
  friend bool operator==(const ByteRange& x, const ByteRange& y) = default;
};

enum class CallOperand : std::uint8_t { kA, kB, kC, kD };

/// Smallest ranges that hold all bytes touched through a, b, c and d; exact at both ends. `list` is null for moves without one.
std::array<ByteRange, 4> extents(const Kernel& kernel, const SegmentList* list);

/// Visits every range touched through `operand`, possibly several times, until `visit` returns false; false if it did.
bool visitTouched(const Kernel& kernel, const SegmentList* list, CallOperand operand,
                  const std::function<bool(ByteRange)>& visit);

/// The same for calls of one program, each kernel and list once. It refers to the program; used by one thread at a time.
class ProgramTouch {
 public:
  explicit ProgramTouch(const TileProgram& program) : program_(&program) {}

  const TileProgram& program() const { return *program_; }
  /// Precondition of both: the variant has a kernel.
  const std::array<ByteRange, 4>& extentsOf(const Variant& variant);
  /// Bytes of all ranges that visitTouched() visits.
  std::int64_t bytesOf(const Variant& variant, CallOperand operand);

 private:
  struct Touched {
    std::array<ByteRange, 4> extents;
    std::array<std::int64_t, 4> bytes{-1, -1, -1, -1};  ///< -1: not counted yet
  };
  Touched& touched(const Variant& variant);
  const TileProgram* program_;
  std::map<std::pair<int, int>, Touched> known_;  ///< by kernel and list
};

/// What a call does to one of its buffers.
struct CallAccess {
  int stream = -1, buffer = -1;
  CallOperand operand = CallOperand::kA;
  ByteRange
      bytes;  ///< as ProgramTouch::extentsOf, over all repetitions of Call::place; from the stream's begin, without axes
  bool reads = false, writes = false;
};
/// Those of a call with one variant, which has a kernel. An operand that adds to what is there reads and writes.
std::vector<CallAccess> accessesOf(ProgramTouch& touch, const Phase& phase, const Call& call);

}  // namespace cubejit
