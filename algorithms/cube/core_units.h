// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which units a chip's core has, and in which queues their instructions wait: what a program of it names its units after.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace cubejit {

/// The unit of a core whose instruction a call is, or a part of: Call::unit as a value. In brackets how Ascend's documents call its pipe.
enum class CoreUnit : std::int8_t {
  kNone = -1,  ///< the host's own work
  kGmToL1,     ///< (MTE2)
  kL1ToL0,     ///< (MTE1)
  kCube,       ///< (M)
  kFixpipe,    ///< (FIX); on chips without one: L0C to UB, conversion, UB to memory
  kGmToUb,     ///< (MTE2)
  kVector,     ///< (V)
  kUbToGm      ///< (MTE3)
};
inline constexpr std::array<const char*, 7> kCoreUnits{"gm_to_l1", "l1_to_l0", "cube",    "fixpipe",
                                                       "gm_to_ub", "vector",   "ub_to_gm"};
constexpr const char* toString(CoreUnit u) {
  return u == CoreUnit::kNone ? "" : kCoreUnits[static_cast<std::size_t>(u)];
}

/// The queue in which a unit's instructions wait for each other, in order, by its name in Ascend's documents. What brings memory to L1 and
/// to UB is one.
enum class UnitPipe : std::uint8_t { kMte2, kMte1, kM, kFix, kV, kMte3 };
inline constexpr std::array<const char*, 6> kUnitPipes{"MTE2", "MTE1", "M", "FIX", "V", "MTE3"};
constexpr const char* toString(UnitPipe p) { return kUnitPipes[static_cast<std::size_t>(p)]; }
/// Whose work is no unit's is in the first one.
constexpr UnitPipe pipeOf(CoreUnit unit) {
  constexpr UnitPipe kPipeOf[] = {UnitPipe::kMte2, UnitPipe::kMte2, UnitPipe::kMte1, UnitPipe::kM,
                                  UnitPipe::kFix,  UnitPipe::kMte2, UnitPipe::kV,    UnitPipe::kMte3};
  return kPipeOf[static_cast<int>(unit) + 1];
}

}  // namespace cubejit
