// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how one axis of a data gradient is split twice: into cache blocks (what a task works on, and what a panel holds) and those into
// register blocks, so that two loops whose offsets add up reach every register block.
// Leaves residues and their taps to residue_classes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/kit/range.h"
#include "algorithms/kit/residue_classes.h"

namespace cubejit {

/// What register blocks of one class share: their length and tap list.
struct BlockClass {
  std::int64_t length = 0;
  std::vector<BlockTap> taps;
  friend auto operator<=>(const BlockClass& x, const BlockClass& y) = default;
};

/// A run of neighbouring results, with the operand positions they read; both end where the tensors do.
struct AxisCacheBlock {
  Range results, operands;
  BlockStart operandStart;
  BlockStart resultStart() const { return {results.lo, results.lo, results.lo}; }
  int cls = 0;
};

/// The same register block of every cache block.
struct AxisRegisterBlock {
  std::int64_t resultOffset = 0;   ///< from the cache block's first result
  std::int64_t operandOffset = 0;  ///< from its operandStart.base
  int cls = 0;                     ///< those of one class have equal blocks in every cache block
};

struct BlockedAxis {
  std::int64_t resultStep = 1, operandStep = 1;
  std::vector<BlockClass> classes;
  std::vector<AxisCacheBlock> cacheBlocks;
  std::vector<AxisRegisterBlock> registerBlocks;
  int cacheClasses = 1, registerClasses = 1;  ///< at least 1, also of an axis without results
  std::int64_t panelOperands = 1;             ///< most operand positions that a cache block spans
  std::int64_t panelResults = 1;              ///< most results that one holds

  /// Null if cache blocks of the class have no such register block.
  const BlockClass* blockOf(int cacheClass, int registerClass) const;
  /// How long the operand, and the result, of a cache block of the class is; 0 if there is none.
  std::int64_t operandsOf(int cacheClass) const;
  std::int64_t resultsOf(int cacheClass) const;

  std::vector<std::vector<int>> blockClass;  ///< [cache class][register class] -> index into classes; -1: no such block
  std::vector<std::size_t> ofClass;          ///< [cache class] -> index of one of them
};

/// Cache blocks of `cacheLength` results a residue (a multiple of `registerLength`; 0 = the whole axis).
BlockedAxis makeBlockedAxis(const AxisRelation& relation, std::int64_t registerLength, std::int64_t cacheLength);

/// Calls visit(block of each axis; null where there is none) for all cache classes of all axes and, within them, all register classes:
/// the order of a call's variants.
template <std::size_t N, class Visit>
void forEachClass(const std::array<BlockedAxis, N>& axes, Visit visit) {
  double variants = 1;
  for (const BlockedAxis& axis : axes) variants *= static_cast<double>(axis.cacheClasses) * axis.registerClasses;
  limitWork(variants, FewerSteps::most(), "variants of a call");
  std::array<int, 2 * N> at{};
  for (std::size_t changed = 0; changed < 2 * N;) {
    std::array<const BlockClass*, N> blocks;
    for (std::size_t i = 0; i < N; ++i) blocks[i] = axes[i].blockOf(at[i], at[N + i]);
    visit(blocks);
    for (changed = 0; changed < 2 * N; ++changed) {  // the last one moves fastest
      const std::size_t i = 2 * N - 1 - changed;
      if (++at[i] < (i < N ? axes[i].cacheClasses : axes[i - N].registerClasses)) break;
      at[i] = 0;
    }
  }
}

}  // namespace cubejit
