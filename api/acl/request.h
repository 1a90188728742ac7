// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of aclnnConvolutionBackward, as values: the arguments, resolved from handles. Leaves judging them to rules.h.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "api/acl/objects.h"
#include "api/acl/parts.h"
#include "cubejit/problem.h"

namespace cubejit::acl {

/// Tensors are in the order of TensorId: gradOutput, input, weight, gradInput, gradWeight, gradBias.
inline constexpr std::array<const char*, 6> kTensorNames{"gradOutput", "input",      "weight",
                                                         "gradInput",  "gradWeight", "gradBias"};

struct ConvRequest {
  std::shared_ptr<const Part> part;
  bool deterministic = false;
  std::array<TensorPtr, 6> tensors;  ///< by TensorId; outputs may be null
  IntArrayPtr biasSizes, stride, padding, dilation, outputPadding;
  bool transposed = false;
  int groups = 1;
  std::array<bool, 3> mask{};  ///< gradInput, gradWeight, gradBias
  int mathType = 0;

  const Tensor& tensor(TensorId id) const { return *tensors[static_cast<std::size_t>(id)]; }
  const Tensor& gradOutput() const { return tensor(TensorId::kDy); }
  const Tensor& input() const { return tensor(TensorId::kX); }
  const Tensor& weight() const { return tensor(TensorId::kW); }
  bool anyEmpty() const { return gradOutput().empty() || input().empty() || weight().empty(); }
};

/// Everything that what was checked and prepared depends on, as bytes: all but addresses.
std::string keyOf(const ConvRequest& request);
/// The tensor's part of such a key.
void appendKey(std::string& key, const Tensor* tensor);
void appendKey(std::string& key, std::int64_t value);

/// The convolution's geometry. Precondition: ranks and lengths of arrays agree.
Problem geometryOf(const ConvRequest& request);

}  // namespace cubejit::acl
