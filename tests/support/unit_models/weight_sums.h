// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where the models' blocks of dw add up: in f32 and FRACTAL_Z_3D, as the chip's do, whatever dw is, but always in blocks of 16
// channels; then they are brought to dw's own type and layout.
#pragma once

#include <memory>

#include "tests/support/unit_models/cube_core.h"

namespace cubejit {

class WeightSums {
 public:
  /// `parts` sums side by side, of no value yet. kLimitExceeded without memory for them.
  static Result<WeightSums> create(const CubeJob& job, std::int64_t parts);

  GlobalView view(std::int64_t part);
  /// dw = the parts, added in order, rounded once.
  void finish(const GlobalView& dw) const;

 private:
  Problem problem_;
  IndexMap map_;
  std::int64_t parts_ = 1;
  std::unique_ptr<float[]> sums_;
};

}  // namespace cubejit
