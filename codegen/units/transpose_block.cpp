// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the shuffle network of a block transpose. Registers ping-pong between a lower and an upper half of `lanes` each.
#include "codegen/units/transpose_block.h"

#include <algorithm>
#include <limits>

namespace cubejit {
namespace {

constexpr bool fits(std::int64_t pitch, int lanes) {
  return pitch * (lanes - 1) <= std::numeric_limits<std::int32_t>::max();
}

class Network {
 public:
  Network(VectorAssembler& a, const TransposeBlock& b, ElementCode& elements)
      : a_(a), b_(b), elements_(elements), groups_(b.lanes / 4), liveRows_(std::max(b.rows, b.storeLanes)) {}

  void run() {
    load();
    unpackPairs();
    unpackQuads();
    const int columnsAt = b_.lanes == 16 ? blocks512() : b_.lanes == 8 ? blocks256() : 0;  // one block is done
    store(columnsAt);
  }

 private:
  // Missing rows up to the last stored lane are zero and take part like real ones.
  bool rowGroup(int group) const { return group * 4 < liveRows_; }
  // Column c of any 128-bit block is stored.
  bool columnClass(int c) const { return c < b_.cols; }

  void load() {
    const LaneRange lanes = b_.cols < b_.lanes ? LaneRange{0, static_cast<std::int16_t>(b_.cols)} : LaneRange{};
    const bool walks = !fits(b_.srcPitch, b_.lanes);
    if (walks) a_.copy(b_.walk, b_.src);
    for (int r = 0; r < groups_ * 4; ++r) {
      if (!rowGroup(r / 4)) continue;
      if (r >= b_.rows) {
        a_.zero(r);
      } else if (walks) {
        elements_.load(r, b_.lanes + r, b_.walk, 0, lanes);
        if (b_.prefetchAhead > 0) a_.prefetch(b_.walk, b_.prefetchAhead);
        a_.addImm(b_.walk, b_.walk, b_.srcPitch);
      } else {
        elements_.load(r, b_.lanes + r, b_.src, r * b_.srcPitch, lanes);
        if (b_.prefetchAhead > 0) a_.prefetch(b_.src, r * b_.srcPitch + b_.prefetchAhead);
      }
    }
  }

  // Rows (2p, 2p+1) -> lanes + 2p: columns 0, 1 of each block; lanes + 2p + 1: columns 2, 3.
  void unpackPairs() {
    for (int p = 0; p < groups_ * 2; ++p) {
      if (!rowGroup(p / 2)) continue;
      a_.shuffle(VOp::kUnpackLo, b_.lanes + 2 * p, 2 * p, 2 * p + 1);
      if (columnClass(2)) a_.shuffle(VOp::kUnpackHi, b_.lanes + 2 * p + 1, 2 * p, 2 * p + 1);
    }
  }

  // Row group j, column class c -> register 4j + c: rows 4j .. 4j+3 of columns c, 4 + c, 8 + c, 12 + c.
  void unpackQuads() {
    for (int j = 0; j < groups_; ++j) {
      if (!rowGroup(j)) continue;
      const int base = b_.lanes + 4 * j;
      for (int c = 0; c < 4; ++c) {
        if (columnClass(c))
          a_.shuffle(c % 2 == 0 ? VOp::kUnpackLo64 : VOp::kUnpackHi64, 4 * j + c, base + c / 2, base + 2 + c / 2);
      }
    }
  }

  int blocks256() {
    for (int c = 0; c < 4; ++c) {
      for (int block = 0; block < 2; ++block) {
        if (4 * block + c < b_.cols)
          a_.shuffle(VOp::kShuffleBlocks, 8 + 4 * block + c, c, rowGroup(1) ? 4 + c : c, block == 0 ? 0 : 3);
      }
    }
    return 8;
  }

  int blocks512() {
    constexpr int kEven = 0x88, kOdd = 0xdd;
    // Upper half: for class c, even and odd blocks of row groups (0, 1) and (2, 3).
    for (int c = 0; c < 4; ++c) {
      for (int half = 0; half < 2; ++half) {
        if (!rowGroup(2 * half)) continue;
        const int lo = 8 * half + c, hi = rowGroup(2 * half + 1) ? lo + 4 : lo;
        if (columnClass(c)) a_.shuffle(VOp::kShuffleBlocks, 16 + 4 * c + 2 * half, lo, hi, kEven);
        if (4 + c < b_.cols) a_.shuffle(VOp::kShuffleBlocks, 16 + 4 * c + 2 * half + 1, lo, hi, kOdd);
      }
    }
    for (int c = 0; c < 4; ++c) {
      for (int block = 0; block < 4; ++block) {
        if (4 * block + c >= b_.cols) continue;
        const int lo = 16 + 4 * c + block % 2, hi = rowGroup(2) ? lo + 2 : lo;
        a_.shuffle(VOp::kShuffleBlocks, 4 * block + c, lo, hi, block < 2 ? kEven : kOdd);
      }
    }
    return 0;
  }

  void store(int columnsAt) {
    const LaneRange lanes =
        b_.storeLanes < b_.lanes ? LaneRange{0, static_cast<std::int16_t>(b_.storeLanes)} : LaneRange{};
    const bool walks = !fits(b_.dstPitch, b_.lanes);
    if (walks) a_.copy(b_.walk, b_.dst);
    const int free = columnsAt == 0 ? b_.lanes : 0;  // the half that holds no columns
    const NarrowScratch scratch{free, free + 1, free + 2};
    for (int c = 0; c < b_.cols; ++c) {
      if (walks) {
        elements_.store(columnsAt + c, scratch, b_.walk, 0, lanes);
        a_.addImm(b_.walk, b_.walk, b_.dstPitch);
      } else {
        elements_.store(columnsAt + c, scratch, b_.dst, c * b_.dstPitch, lanes);
      }
    }
  }

  VectorAssembler& a_;
  const TransposeBlock& b_;
  ElementCode& elements_;
  const int groups_, liveRows_;
};

}  // namespace

void transposeBlock(VectorAssembler& a, const TransposeBlock& block, ElementCode& elements) {
  Network(a, block, elements).run();
}

}  // namespace cubejit
