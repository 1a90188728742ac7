// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what phase 2 does, in which order, and where in the workspace: conversions to the type operands are rounded to, generated
// gradients, scattering of results whose memory is not dense. Leaves all arithmetic to the library.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <variant>
#include <vector>

#include "api/acl/strided.h"
#include "cubejit/cubejit.hpp"

namespace cubejit::acl {

/// The tensors of the backward operators, by TensorId.
inline constexpr std::array<TensorId, 6> kBackwardTensors{TensorId::kDy, TensorId::kX,  TensorId::kW,
                                                          TensorId::kDx, TensorId::kDw, TensorId::kDb};

/// A checked request: the geometry, the views of the six tensors, and the type operands are rounded to.
struct ConvCall {
  Problem geometry;
  GradientMask mask;
  DType compute = DType::kF32;
  std::array<View, 6> views;            ///< by TensorId
  std::shared_ptr<const Machine> chip;  ///< gradients are computed on it, emulated; null: by the host's own kernels
};

/// A tensor of the caller's, or a place in the workspace.
struct Place {
  int tensor = -1;         ///< TensorId; -1: workspace
  std::size_t offset = 0;  ///< in the workspace
};

/// 8-bit elements to FLOAT16 in the workspace.
struct WidenStep {
  int tensor;
  Place to;
};
struct RepackStep {
  std::shared_ptr<const Repacking> repacking;
  Place from, to;
};
struct RunStep {
  std::shared_ptr<const Executable> executable;
  std::array<Place, 6> tensors;
  std::size_t workspaceOffset = 0, workspaceBytes = 0;
};
struct ScatterStep {
  Place from;
  int tensor;
};
struct FillStep {
  int tensor;
  float value;
};
using Step = std::variant<WidenStep, RepackStep, RunStep, ScatterStep, FillStep>;

/// What phase 2 does, for any addresses. Immutable.
struct Prepared {
  std::vector<Step> steps;
  std::array<View, 6> views;
  std::array<bool, 6> reads{}, writes{};  ///< by TensorId: which tensors are touched
  std::size_t workspaceBytes = 0;
};

/// The session all operators share, for this host or for a chip of the table that is emulated; made from the environment when it is first needed. Errors: what the environment says wrongly.
Result<Session*> sharedSession(const Machine* chip = nullptr);

Result<std::shared_ptr<const Prepared>> prepare(const ConvCall& call);

/// Sets outputs to constants; `values` by gradient.
std::shared_ptr<const Prepared> prepareFill(const std::array<View, 6>& views, GradientMask mask,
                                            std::array<float, 3> values);

/// Does it. Addresses are those of the views' first elements.
Status perform(const Prepared& prepared, const std::array<char*, 6>& addresses, char* workspace);

}  // namespace cubejit::acl
