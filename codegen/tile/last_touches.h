// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides who touched each byte of a buffer last: who wrote it, and who of each queue has read it since. Leaves what follows from that to
// those who set flags and those who check them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>

#include "codegen/tile/program.h"
#include "codegen/tile/touch.h"

namespace cubejit {

/// Last touches of one buffer. Who touches is a number from 0.
class LastTouches {
 public:
  /// Calls before(other, whether it wrote) with everybody that must be done before `who` may: of what is read the writer, of what is
  /// written the readers as well; the same one more than once.
  template <class Before>
  void touch(const ByteRange& bytes, bool writes, int who, int queue, const Before& before) {
    cut(bytes.begin);
    cut(bytes.end);
    std::int64_t at = bytes.begin;
    for (auto part = parts_.lower_bound(at); at < bytes.end; ++part) {
      if (part == parts_.end() || part->first > at)
        part = parts_.emplace_hint(part, at, Part{part == parts_.end() ? bytes.end : std::min(bytes.end, part->first)});
      Part& p = part->second;
      if (p.writer >= 0) before(p.writer, true);
      if (writes) {
        for (const int reader : p.readers) {
          if (reader >= 0) before(reader, false);
        }
        p.writer = who;
        p.readers.fill(-1);
      } else {
        p.readers[static_cast<std::size_t>(queue)] = who;
      }
      at = p.end;
    }
    if (writes) merge(bytes);
  }

 private:
  static std::array<int, kMostUnitQueues> noReaders() {
    std::array<int, kMostUnitQueues> none;
    none.fill(-1);
    return none;
  }
  // Bytes that were touched alike.
  struct Part {
    std::int64_t end = 0;
    int writer = -1;
    std::array<int, kMostUnitQueues> readers = noReaders();
  };
  void cut(std::int64_t at) {
    auto part = parts_.lower_bound(at);
    if (part == parts_.begin()) return;
    --part;
    if (part->second.end <= at) return;
    const Part rest = part->second;
    part->second.end = at;
    parts_.emplace(at, rest);
  }
  // Bytes that are written at once are one part.
  void merge(const ByteRange& bytes) {
    auto first = parts_.find(bytes.begin);
    first->second.end = bytes.end;
    for (auto next = std::next(first); next != parts_.end() && next->first < bytes.end;) next = parts_.erase(next);
  }
  std::map<std::int64_t, Part> parts_;  ///< by where they begin
};

}  // namespace cubejit
