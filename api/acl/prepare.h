// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what phase 2 does, in which order, and where in the workspace: conversions to the type operands are rounded to, generated
// passes, scattering of results whose memory is not dense. Leaves all arithmetic to the library.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <variant>
#include <vector>

#include "api/acl/strided.h"
#include "cubejit/cubejit.hpp"

namespace cubejit::acl {

using Views = std::array<View, kTensors>;       ///< by TensorId
using Addresses = std::array<char*, kTensors>;  ///< by TensorId

/// A checked request: the geometry, views of the tensors, and the type operands are rounded to.
struct ConvCall {
  Problem geometry;
  PassMask mask;
  bool bias = false;  ///< y has one
  DType compute = DType::kF32;
  Views views;
  std::shared_ptr<const Machine> chip;  ///< passes are computed on it, emulated; null: by the host's own kernels
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
  std::array<Place, kTensors> tensors;
  std::size_t workspaceOffset = 0, workspaceBytes = 0;
};
struct ScatterStep {
  Place from;
  int tensor;
  bool rounded;  ///< from FLOAT; otherwise from the tensor's type
  bool bias;     ///< adds it
};
struct FillStep {
  int tensor;
  float value;
};
using Step = std::variant<WidenStep, RepackStep, RunStep, ScatterStep, FillStep>;

/// What phase 2 does, for any addresses. Immutable.
struct Prepared {
  std::vector<Step> steps;
  Views views;
  std::array<bool, kTensors> reads{}, writes{};  ///< by TensorId: which tensors are touched
  std::size_t workspaceBytes = 0;
};

/// The session all operators share, for this host or for a chip of the table that is emulated; made from the environment when it is first needed. Errors: what the environment says wrongly.
Result<Session*> sharedSession(const Machine* chip = nullptr);

Result<std::shared_ptr<const Prepared>> prepare(const ConvCall& call);

/// Sets gradients to constants; `values` by gradient.
std::shared_ptr<const Prepared> prepareFill(const Views& views, PassMask mask, std::array<float, 3> values);

/// Does it. Addresses are those of the views' first elements.
Status perform(const Prepared& prepared, const Addresses& addresses, char* workspace);

}  // namespace cubejit::acl
