// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that gathers are made, composed and compared once: what looks alike has one number. Leaves which of them meet to elide_copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/tile/gather.h"

namespace cubejit {

class GatherPool {
 public:
  struct Entry {
    Gather gather;
    bool reads = false;
    ByteRange readHull, writtenHull;
  };
  /// A writer of what a gather reads, as in GatherWriter.
  struct Writer {
    int gather = -1;
    std::int64_t to = 0, from = 0;
  };

  /// -1: the call's move is no gather.
  int of(const TileProgram& program, const Variant& variant);
  const Entry& at(int gather) const { return entries_[static_cast<std::size_t>(gather)]; }
  /// The bytes read, written, in order.
  const std::vector<ByteRange>& read(int gather);
  const std::vector<ByteRange>& written(int gather);
  /// -1: they do not compose. Writers: the last one first.
  int composed(int reader, const std::vector<Writer>& writers);

  /// Bytes that somebody needs: those which a gather reads, or, `written`, which it writes. State 0 and up.
  int needs(int gather, bool written);
  /// What is needed still when a writer has written its bytes `shift` bytes further on; `hit`: it has written some.
  int after(int state, int writer, std::int64_t shift, bool& hit);
  bool none(int state) const { return needed_[static_cast<std::size_t>(state)].empty(); }

 private:
  using Key = std::vector<std::int64_t>;
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Step {
    int state = -1;
    bool hit = false;
  };

  int add(Gather gather);

  std::deque<Entry> entries_;
  std::map<int, std::vector<ByteRange>> read_, written_;  // of those that somebody asked for
  std::map<std::pair<int, int>, int> ofMove_;
  std::unordered_map<Key, int, Hash> composed_;
  std::vector<std::vector<ByteRange>> needed_;
  std::map<std::pair<int, bool>, int> firstState_;
  std::unordered_map<Key, Step, Hash> steps_;
  Key key_;
};

}  // namespace cubejit
