// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which operands --fast keeps: what a move brings from L1 to the cube's form depends on the tensors, the load and the move
// alone, so as long as the tensors hold still it is brought once, and loads that nothing else needs are not done again.
// Leaves the moves themselves to forward, which tasks come after which to gradient_tasks.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <unordered_map>

#include "emulation/cube_core.h"
#include "emulation/forward.h"

namespace cubejit {

/// What a panel is made of: a piece of a tensor, as it was loaded, and how it was moved.
struct PanelKey {
  std::array<std::int64_t, 16> words{};
  friend bool operator==(const PanelKey& x, const PanelKey& y) = default;
};

/// Of what `move` makes of `load` in a task. Addresses in L1 and L0 are no part of it.
PanelKey keyOf(const UnitInstruction& load, const UnitInstruction& move, const CoreTask& task, const ForwardWay& way);

/// Whether panels of A and of B are asked for again before more others were than are kept.
struct PanelReuse {
  bool a = false, b = false;
  bool channelsOutside =
      false;  ///< dX: tasks of the same channels follow each other; otherwise those of the same pixels
};
/// For all tasks of a gradient, in the order that `channelsOutside` asks for.
PanelReuse reuseOf(const CubeJob& job, bool pairs);

/// Panels of one operand and one core. Allocates when first used.
class KeptPanels {
 public:
  static constexpr std::int64_t kMostBytes = std::int64_t{4} << 20;

  /// Null if it is not kept.
  float* find(const PanelKey& key) const;
  /// Room for a panel that is not kept so far. Forgets all others if there is none left; null if there never is.
  float* add(const PanelKey& key, std::int64_t floats);
  void clear();

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  struct Hash {
    std::size_t operator()(const PanelKey& key) const;
  };
  std::unordered_map<PanelKey, float*, Hash> kept_;
  std::unique_ptr<float, Free> room_;
  std::int64_t used_ = 0;  ///< floats
};

}  // namespace cubejit
