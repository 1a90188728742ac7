// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of aclnnConvolution and aclnnConvolutionBackward, as values: the arguments, resolved from handles. Leaves
// judging them to rules.h.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "api/acl/objects.h"
#include "api/acl/parts.h"
#include "cubejit/problem.h"

namespace cubejit::acl {

/// By TensorId. No operator has z.
inline constexpr std::array<const char*, kTensors> kTensorNames{
    "gradOutput", "input", "weight", "gradInput", "gradWeight", "gradBias", "output", "bias", ""};
constexpr const char* nameOf(TensorId id) { return kTensorNames[static_cast<std::size_t>(id)]; }

struct ConvRequest {
  std::shared_ptr<const Part> part;
  bool deterministic = false;
  std::array<TensorPtr, kTensors> tensors;  ///< by TensorId; those the operator has no need of are null
  IntArrayPtr biasSizes, stride, padding, dilation, outputPadding;
  bool transposed = false;
  std::int64_t groups = 1;
  PassMask mask;  ///< y: forward, else what outputMask asks for
  int mathType = 0;

  TensorPtr& at(TensorId id) { return tensors[static_cast<std::size_t>(id)]; }
  const TensorPtr& at(TensorId id) const { return tensors[static_cast<std::size_t>(id)]; }
  const Tensor& tensor(TensorId id) const { return *at(id); }
  bool forward() const { return mask.y; }
  /// The tensor with the extents of y.
  TensorId outputId() const { return forward() ? TensorId::kY : TensorId::kDy; }
  const Tensor& output() const { return tensor(outputId()); }
  const char* outputName() const { return nameOf(outputId()); }
  const Tensor& input() const { return tensor(TensorId::kX); }
  const Tensor& weight() const { return tensor(TensorId::kW); }
  bool anyEmpty() const { return output().empty() || input().empty() || weight().empty(); }
};

/// Everything that what was checked and prepared depends on, as bytes: all but addresses.
std::string keyOf(const ConvRequest& request);
/// The tensor's part of such a key.
void appendKey(std::string& key, const Tensor* tensor);
void appendKey(std::string& key, std::int64_t value);

/// The convolution's geometry. Precondition: ranks and lengths of arrays agree.
Problem geometryOf(const ConvRequest& request);

}  // namespace cubejit::acl
