// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the registers of the summing tree: rows come in pairs, each level halves the number of vectors.
#include "codegen/units/lane_sums.h"

namespace cubejit {
namespace {

class Tree {
 public:
  Tree(VectorAssembler& a, const LaneSumBlock& b) : a_(a), b_(b) {}

  // Quads of rows, one after the other: at most lanes/4 results and three temporaries are alive.
  void run() {
    const int quads = b_.lanes / 4;
    for (int q = 0; q < quads; ++q) quad(q);
    int count = quads;
    constexpr int kEven = 0x88, kOdd = 0xdd;
    while (count > 1) {  // blocks of four lanes: neighbours' blocks are added and end side by side
      for (int i = 0; i < count; i += 2) {
        const bool wide = b_.lanes == 16;
        a_.shuffle(VOp::kShuffleBlocks, kTemp, i, i + 1, wide ? kEven : 0);
        a_.shuffle(VOp::kShuffleBlocks, kTemp + 1, i, i + 1, wide ? kOdd : 3);
        a_.addF(i / 2, kTemp, kTemp + 1);
      }
      count /= 2;
    }
    a_.store(0, b_.dst, 0, lanesUpTo(b_.rows, b_.lanes));
  }

 private:
  static constexpr int kTemp = 4;

  void row(int r, int into) {
    if (r < b_.rows)
      a_.load(into, b_.src, r * b_.srcPitch);
    else
      a_.zero(into);
  }

  // Rows 4q .. 4q+3 -> register q: per block of four lanes one partial sum a row.
  void quad(int q) {
    for (int half = 0; half < 2; ++half) {
      const int x = kTemp, y = kTemp + 1, low = kTemp + 2, sum = kTemp + 3 + half;
      row(4 * q + 2 * half, x);
      row(4 * q + 2 * half + 1, y);
      a_.shuffle(VOp::kUnpackLo, low, x, y);
      a_.shuffle(VOp::kUnpackHi, x, x, y);
      a_.addF(sum, low, x);
    }
    a_.shuffle(VOp::kUnpackLo64, kTemp, kTemp + 3, kTemp + 4);
    a_.shuffle(VOp::kUnpackHi64, kTemp + 1, kTemp + 3, kTemp + 4);
    a_.addF(q, kTemp, kTemp + 1);
  }

  VectorAssembler& a_;
  const LaneSumBlock& b_;
};

}  // namespace

void laneSums(VectorAssembler& a, const LaneSumBlock& block) { Tree(a, block).run(); }

}  // namespace cubejit
