// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where an emulated chip's blocks of dw add up: in f32 and FRACTAL_Z_3D, as the chip's do, whatever dw is, but always in
// blocks of 16 channels and cut so that a base block's sums are neighbours; then a vector pass brings them to dw's own type and
// layout. Leaves which block goes into which part to emulate.
#pragma once

#include <memory>

#include "cubejit/options.h"
#include "emulation/cube_core.h"

namespace cubejit {

class WeightSums {
 public:
  /// `parts` sums side by side, of no value yet. kLimitExceeded without memory for them.
  static Result<WeightSums> create(const CubeJob& job, std::int64_t parts);

  /// On the chip.
  std::int64_t bytesOfPart() const { return chipBytes_; }
  GlobalView view(std::int64_t part);
  /// dw = the parts, added in order, rounded once. With `code` by generated kernels; the sums are used up.
  void finish(const GlobalView& dw, const UnitCode* code, const ParallelFor& parallelFor, int slots);

 private:
  Problem problem_;
  IndexMap map_;
  std::int64_t chipBytes_ = 0;
  std::int64_t parts_ = 1;
  std::unique_ptr<float[]> sums_;
};

}  // namespace cubejit
