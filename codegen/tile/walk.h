// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which kernel calls a phase makes, one by one and in order: the plain reading of tile/program.h, made for checking.
// Leaves running them fast, and on many threads, to runtime/exec/launch.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "codegen/tile/program.h"

namespace cubejit {

/// The streams a, b, c, d of a call; -1 where it has none.
inline std::array<int, 4> streamsOf(const Call& call) { return {call.a, call.b, call.c, call.d}; }

/// One kernel call. Entry 0, 1, 2, 3 of the arrays is for stream a, b, c, d; 0 where the call has none.
struct CallSite {
  std::int64_t task = 0;
  const Call* call = nullptr;
  const Variant* variant = nullptr;  ///< its kernel is >= 0
  std::array<std::int64_t, 4> at{};  ///< byte offset in the stream's buffer
  std::int64_t repeat = 1;
  std::array<std::int64_t, 4> repeatStep{};
};

/// A choice that a task comes to.
struct ChoiceSite {
  std::int64_t task = 0;
  const Node* choice = nullptr;
  std::size_t number = 0;  ///< of the classes: the window that is chosen
  const std::vector<const AxisStep*>* steps =
      nullptr;  ///< the current one of each axis of the phase; null outside its loop
};

/// Visits the choices task by task, without what is in them, until `visit` returns false; false if it did. Precondition: the phase
/// obeys structureRules.
bool walkChoices(const Phase& phase, const std::function<bool(const ChoiceSite&)>& visit);

/// Visits the calls task by task until `visit` returns false; false if it did. Precondition: the phase obeys structureRules.
bool walkCalls(const Phase& phase, const std::function<bool(const CallSite&)>& visit);

}  // namespace cubejit
