// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how forward is computed: y is the data gradient of the adjoint convolution, which is transposed where the one asked for is not,
// has the same weights, reads x in the place of dy and writes y in that of dx. Who plans, checks, costs or lowers asks here first;
// algorithms and chips know data gradients alone.
#pragma once

#include <string>
#include <vector>

#include "cubejit/plan.h"
#include "cubejit/problem.h"
#include "cubejit/result.h"
#include "cubejit/tensors.h"

namespace cubejit {

/// The pass that algorithms compute instead: itself, or dx for y.
constexpr Pass solvedAs(Pass pass) { return pass == Pass::kY ? Pass::kDx : pass; }

/// The operand of a pass that comes from the layer before it, in its direction: x forward, dy backward.
constexpr TensorId inputOf(Pass pass) { return pass == Pass::kY ? TensorId::kX : TensorId::kDy; }

/// The adjoint convolution: the same relation between the same tensors, the other way round. It has no post-ops: they are y's.
Problem adjointOf(const Problem& problem);

/// A plan of y as one of dx of the adjoint, and back. Precondition: it is of the other of the two.
TilingPlan asData(TilingPlan forward);
TilingPlan asForward(TilingPlan data);

/// What is said of the adjoint's tensors, said of those of the convolution: dy is x, dx is y.
std::string inForwardWords(const std::string& text);
std::vector<std::string> inForwardWords(std::vector<std::string> rules);
Error inForwardWords(Error error);

/// The adjoint's tensors.
Tensors adjointTensors(const Tensors& tensors);

}  // namespace cubejit
