// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the code of all instructions on matrices has in common: scalar registers, the loops around a matrix (repetitions, or a
// list's segments), masks, and which vector registers take turns.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/tile/moves.h"
#include "codegen/units/assembler.h"
#include "codegen/units/element_code.h"

namespace cubejit {

class MatrixCode {
 public:
  enum Scalar { kSrc, kDst, kRepeat, kRowSrc, kRowDst, kRows, kBlockSrc, kBlockDst, kBlocks, kWalk, kFlag, kList };
  // What has a list has no repetitions to step to, and reads nothing through D or B; nothing that reads those is transposed.
  static constexpr Scalar kSegments = kFlag, kRowD = kList, kRowB = kBlockSrc;

  /// A place in memory.
  struct At {
    Scalar base;
    std::int64_t disp;
  };

  MatrixCode(const Label& label, int lanes, const HostIsa& isa) : a(label.text, isa), lanes_(lanes) {}

  VectorAssembler a;

  /// `before` once, then `body` for each matrix, whose first elements kRowSrc and kRowDst point to.
  template <class Before, class Body>
  VectorProgram run(const std::optional<ListSteps>& list, Before before, Body body) {
    list ? listArguments() : repeatArguments();
    before();
    list ? beginSegments() : a.loop(kRepeat);
    pointToMatrix();
    body();
    list ? endSegments(*list) : endRepeats();
    return a.take();
  }
  /// Both row cursors at the matrix' first elements.
  void pointToMatrix() {
    a.copy(kRowSrc, kSrc);
    a.copy(kRowDst, kDst);
  }

  /// `count` iterations of `body`; the cursors advance by the given bytes.
  template <class Body>
  void repeat(Scalar counter, std::int64_t count, Scalar src, std::int64_t srcStep, Scalar dst, std::int64_t dstStep,
              Body body) {
    if (count <= 0) return;
    if (count > 1) {
      a.set(counter, count);
      a.loop(counter);
    }
    body();
    a.addImm(src, src, srcStep);
    a.addImm(dst, dst, dstStep);
    if (count > 1) a.endLoop();
  }

  LaneRange lanesOf(std::int64_t count) const { return lanesUpTo(count, lanes_); }
  /// Masks of what so many elements leave of a vector.
  void reserveMasks(const std::vector<std::int64_t>& counts) {
    std::vector<LaneRange> ranges;
    for (const std::int64_t count : counts) ranges.push_back(lanesOf(count % lanes_));
    a.reserveMasks(ranges);
  }

  /// Asks for the lines that a later repetition reads. Rows that follow each other closely are one range.
  void prefetch(const OneOf<Copy, Transpose> auto& m) {
    if (m.prefetchAhead <= 0) return;
    a.copy(kWalk, kSrc);
    a.arg(kFlag, ArgSlot::kARepeat);
    for (int i = 0; i < m.prefetchAhead; ++i) a.add(kWalk, kWalk, kFlag);
    const std::int64_t row = m.cols * elementBytes(m.from);
    const bool close = m.srcPitch <= row + 64;
    const std::int64_t bytes = row + (close ? (m.rows - 1) * m.srcPitch : 0);
    for (std::int64_t r = 0; r < (close ? 1 : m.rows); ++r) {
      for (std::int64_t at = 0; at < bytes; at += 64) a.prefetch(kWalk, r * m.srcPitch + at);
    }
  }

  /// Stores a vector of zeros, in elements of `bytes`.
  void storeZeros(int zero, std::int64_t bytes, At at, LaneRange lanes) {
    if (bytes == 1)
      a.storeNarrow(VOp::kStoreI8, zero, at.base, at.disp, lanes);
    else if (bytes == 2)
      a.storeNarrow(VOp::kStoreHalf, zero, at.base, at.disp, lanes);
    else
      a.store(zero, at.base, at.disp, lanes);
  }

  // Registers 0 .. 7 take turns for data, those behind them are for conversions.
  int next() { return next_++ % turns_; }
  /// The first so many take turns alone: the others of the eight are the caller's.
  void takeTurns(int registers) { turns_ = registers; }
  int pairTemporary() const { return kDataRegisters + next_ % 2; }
  static NarrowScratch scratch() { return {kDataRegisters, kDataRegisters + 1, kDataRegisters + 2}; }
  static constexpr int kDataRegisters = 8, kBehindScratch = kDataRegisters + 3;

 private:
  void repeatArguments() {
    a.arg(kSrc, ArgSlot::kA);
    a.arg(kDst, ArgSlot::kC);
    a.arg(kRepeat, ArgSlot::kRepeat);
  }
  void endRepeats() {
    a.arg(kFlag, ArgSlot::kARepeat);
    a.add(kSrc, kSrc, kFlag);
    a.arg(kFlag, ArgSlot::kCRepeat);
    a.add(kDst, kDst, kFlag);
    a.endLoop();
  }

  // Segments of three words behind their count.
  void listArguments() {
    a.arg(kList, ArgSlot::kList);
    a.loadScalar(kSegments, kList, 0);
    a.addImm(kList, kList, 8);
  }
  void beginSegments() {
    a.loop(kSegments);
    a.arg(kSrc, ArgSlot::kA);
    a.addLoad(kSrc, kSrc, kList, 0);
    a.arg(kDst, ArgSlot::kC);
    a.addLoad(kDst, kDst, kList, 8);
    a.loadScalar(kRepeat, kList, 16);
    a.addImm(kList, kList, 24);
    a.loop(kRepeat);
  }
  void endSegments(const ListSteps& list) {
    a.addImm(kSrc, kSrc, list.a);
    a.addImm(kDst, kDst, list.c);
    a.endLoop();
    a.endLoop();
  }

  const int lanes_;
  int next_ = 0, turns_ = kDataRegisters;
};

}  // namespace cubejit
