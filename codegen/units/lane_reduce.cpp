// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a vector's worth of rows are combined across their lanes: a tree of unpacks and additions, or choices, that ends with one vector
// holding one value a row, in the order lanesCombined() names. Rows come in pairs, each level halves the number of vectors.
#include "codegen/units/matrix_code.h"
#include "codegen/units/units.h"

namespace cubejit {
namespace {

struct LaneBlock {
  int lanes = 16;
  int src = 0, dst = 0;       ///< scalar registers: first row, first result
  std::int64_t srcPitch = 0;  ///< bytes
  int rows = 16;              ///< 1 to `lanes`
  Combine how = Combine::kSum;
};

class Tree {
 public:
  Tree(VectorAssembler& a, const LaneBlock& b) : a_(a), b_(b) {}

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
        a_.combine(b_.how, i / 2, kTemp, kTemp + 1);
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
      a_.combine(b_.how, sum, low, x);
    }
    a_.shuffle(VOp::kUnpackLo64, kTemp, kTemp + 3, kTemp + 4);
    a_.shuffle(VOp::kUnpackHi64, kTemp + 1, kTemp + 3, kTemp + 4);
    a_.combine(b_.how, q, kTemp, kTemp + 1);
  }

  VectorAssembler& a_;
  const LaneBlock b_;
};

}  // namespace

Result<VectorProgram> unitCode(const LaneReduce& m, const HostIsa& isa) {
  MatrixCode code(m.label, m.lanes, isa);
  const std::int64_t n = m.lanes;
  const auto block = [&](std::int64_t rows) {
    Tree(code.a, {m.lanes, MatrixCode::kRowSrc, MatrixCode::kRowDst, m.srcPitch, static_cast<int>(rows), m.combine})
        .run();
  };
  return code.run(
      {}, [&] { code.reserveMasks({m.rows}); },
      [&] {
        code.repeat(MatrixCode::kRows, m.rows / n, MatrixCode::kRowSrc, n * m.srcPitch, MatrixCode::kRowDst, n * 4,
                    [&] { block(n); });
        if (m.rows % n != 0) block(m.rows % n);
      });
}

}  // namespace cubejit
