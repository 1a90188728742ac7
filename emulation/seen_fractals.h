// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which fractals of an unfolded image (dX) have anything but zeros: a stride spreads the image with zeros in between, and what
// lies outside of it is zero as well. Where a fractal is nothing but zeros is known from places alone, whatever the image is.
// Leaves when such products may be left out to operand_range, leaving them out to forward.
#pragma once

#include <cstdint>
#include <vector>

#include "emulation/unit_models.h"

namespace cubejit {

/// Of one Unfold to L0A: for each unit and each 16 pixels, whether the unit's tap sees an element there.
struct SeenFractals {
  std::int64_t units = 0, m1 = 0;
  std::int64_t count = 0;           ///< of fractals that are seen
  std::vector<std::uint8_t> flags;  ///< [unit][m1]
  bool at(std::int64_t unit, std::int64_t m) const { return flags[static_cast<std::size_t>(unit * m1 + m)] != 0; }
  bool sameColumn(std::int64_t m, std::int64_t other) const {
    for (std::int64_t u = 0; u < units; ++u) {
      if (at(u, m) != at(u, other)) return false;
    }
    return true;
  }
};

/// Precondition: i.side is kA. A fractal may be called seen that is not; never the other way round.
void findSeen(const Unfold& i, const CubeWork& work, SeenFractals& seen);

/// Whether looking for unseen fractals is worth it: whole rows of pixels see none of a tap's.
bool leavesFractalsUnseen(const CubeWork& work);

}  // namespace cubejit
