// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a move is if one looks at its destination only: lines of contiguous elements, and where the elements of each come from.
// In this form moves that read what others have written compose. Leaves how lines become moves again to tile/gather_moves.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/tile/program.h"
#include "codegen/tile/touch.h"

namespace cubejit {

/// Contiguous elements of the destination, from byte `to` on. Their sources are `step` bytes apart, the first at byte `from`; or they are zero.
struct GatherLine {
  std::int64_t to = 0, from = 0;
  std::int64_t count = 0, step = 0;
  bool zero = false;
  friend bool operator==(const GatherLine& x, const GatherLine& y) = default;
};

struct Gather {
  Element from = Element::kF32, to = Element::kF32;  ///< equal types keep every bit
  bool adds = false;                                 ///< to what the destination holds
  int lanes = 16;
  std::vector<GatherLine> lines;  ///< in the order of the destination; none overlaps another
  bool keepsBits() const { return from == to; }
  bool reads() const;  ///< there is a line that is not zero
};

/// Nothing if the kernel is none of this: what computes, pairs, stores past the caches, or a byte that is written twice.
std::optional<Gather> gatherOf(const Kernel& kernel, const SegmentList* list);

/// What has written bytes that a gather reads: its destination begins at byte `to` of the reader's source, its own source at byte `from`
/// of the composed gather's.
struct GatherWriter {
  const Gather* gather = nullptr;
  std::int64_t to = 0, from = 0;
};

/// What `reader` does, straight from the writers' source; of writers of the same byte the first counts. Nothing if a byte has no writer, or
/// elements would be converted twice or be cut.
std::optional<Gather> compose(const Gather& reader, const std::vector<GatherWriter>& writers);

/// The smallest ranges that hold all bytes read, written.
ByteRange hullRead(const Gather& gather);
ByteRange hullWritten(const Gather& gather);

/// The bytes read and written, in order, as few ranges as possible.
std::vector<ByteRange> bytesRead(const Gather& gather);
std::vector<ByteRange> bytesWritten(const Gather& gather);

/// The parts of `ranges` that are not in `others` moved by `shift` bytes. Both are in order.
std::vector<ByteRange> without(const std::vector<ByteRange>& ranges, const std::vector<ByteRange>& others,
                               std::int64_t shift);

}  // namespace cubejit
