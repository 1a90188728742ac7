// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which fractals of an image that a stride spreads (dX) have anything but zeros. Pixels are taken residue class by residue
// class: those of one class see the image's elements by the same taps, all others see zeros, whatever the image is. Leaves when such
// products may be left out to exponent_range, leaving them out to forward.
#pragma once

#include <cstdint>
#include <vector>

#include "emulation/unit_code.h"
#include "emulation/unit_models.h"

namespace cubejit {

/// Whether looking for unseen fractals is worth it.
bool leavesFractalsUnseen(const CubeWork& work);

/// Finds them for one Unfold to L0A. Precondition: leavesFractalsUnseen(work).
void findSeen(const Unfold& i, const CubeWork& work, SeenFractals& seen);

/// Brings the rows of sums in L0C, [n1][m1 * 16][16], from the order of classes to that of pixels. `room` is for as many rows of a
/// column of fractals.
void orderByPixels(const UnitCode& code, const SeenFractals& seen, std::int64_t n1, float* sums, float* room);

}  // namespace cubejit
