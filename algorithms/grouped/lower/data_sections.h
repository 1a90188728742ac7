// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the microkernels of a grouped data gradient: blocks of results are rows by runs along W, and every row of the operand that
// a block needs is read once for all of its rows. A row's pairs are cut into runs of neighbouring taps along W, equal runs become
// one section, so that long kernels stay small in code and in registers. Leaves loops and segments to lower_data.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/grouped/lower/group_axis.h"
#include "algorithms/grouped/lower/group_blocks.h"

namespace cubejit {

/// Results that one row of the operand feeds: the row of the block, and the tap along H, relative to the run's.
struct RowUse {
  std::int64_t u = 0, k = 0;
  friend bool operator==(const RowUse& x, const RowUse& y) = default;
};

/// Neighbouring taps of a block: what their section multiplies is relative to the first.
struct TapRun {
  int section = 0;                         ///< of the kernel
  std::int64_t rowTap = 0, row = 0;        ///< along H: tap, operand position
  std::int64_t columnTap = 0, column = 0;  ///< along W
};

/// Pairs along W, each multiplied for every use of the operand's row.
struct GroupSection {
  std::vector<RowUse> rows;
  std::vector<TapPair> pairs;
  friend bool operator==(const GroupSection& x, const GroupSection& y) = default;
};

/// The kernel of all blocks of `rows` rows and of one class along W.
class GroupKernel {
 public:
  /// `taps` neighbouring taps along W a run.
  GroupKernel(std::int64_t rows, const GroupBlockClass& columns, std::int64_t taps);

  /// Reduction blocks of blocks of a class along H, which has as many rows as the kernel; their sections become the kernel's.
  std::vector<TapRun> runsOf(const GroupBlockClass& rows);

  const std::vector<GroupSection>& sections() const { return sections_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_.length; }

 private:
  std::int64_t rows_ = 1, taps_ = 1;
  GroupBlockClass columns_;
  std::vector<GroupSection> sections_;
};

/// A tensor, or panel, as the microkernel sees it.
struct KernelRow {
  std::int64_t rowPitch = 0, pitch = 0;  ///< bytes between neighbouring rows, and positions along W
  Element element = Element::kF32;
};

/// The blocks of channels that a microkernel works on side by side, and how far apart they are.
struct GroupUnit {
  std::vector<std::int64_t> groups;  ///< of each
  std::int64_t operandPitch = 0, weightPitch = 0, resultPitch = 0;
  std::int64_t storedGroups = 0;  ///< of each block at least: lanes behind the last group are zero
};

/// The microkernel for a unit; `tapsOfRow` taps along W lie between neighbouring taps along H. Dot products: the operand's words are
/// pairs of bf16.
Contract groupedDataKernel(const GroupKernel& kernel, const GroupLanes& lanes, const GroupUnit& unit,
                           std::int64_t tapsOfRow, const KernelRow& operand, const KernelRow& result, bool dotProducts);

}  // namespace cubejit
