// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the course of aclnnConvolutionBackward's phase 1: handles, then what is remembered, then rules, then preparation.
#include "aclnnop/aclnn_convolution_backward.h"

#include "api/acl/context.h"
#include "api/acl/phase_one.h"
#include "api/acl/rules.h"

namespace cubejit::acl {
namespace {

constexpr int kNull = ACLNN_ERR_PARAM_NULLPTR, kInvalid = ACLNN_ERR_PARAM_INVALID;

// n, c and the spatial axes; weights alike. The bias gradient is one channel axis.
std::vector<std::size_t> axesOf(std::size_t id, int rank) {
  if (id == static_cast<std::size_t>(TensorId::kDb)) return {1};
  return rank == 3   ? std::vector<std::size_t>{0, 1, 4}
         : rank == 4 ? std::vector<std::size_t>{0, 1, 3, 4}
                     : std::vector<std::size_t>{0, 1, 2, 3, 4};
}

bool viewable(std::size_t id, const Tensor& t) {
  return id == static_cast<std::size_t>(TensorId::kDb) ? t.rank == 1 : t.rank >= 3 && t.rank <= 5;
}

std::array<View, 6> viewsOf(const ConvRequest& r) {
  std::array<View, 6> views;
  for (std::size_t i = 0; i < 6; ++i) {
    views[i].extents = {0, 0, 0, 0, 0};
    if (r.tensors[i] != nullptr && viewable(i, *r.tensors[i]))
      views[i] = viewOf(*r.tensors[i], axesOf(i, r.tensors[i]->rank));
  }
  return views;
}

void checkMemory(const ConvRequest& r, const std::array<View, 6>& views, Findings& findings) {
  for (std::size_t i = 0; i < 6; ++i) {
    if (r.tensors[i] == nullptr) continue;
    checkStorage(*r.tensors[i], kTensorNames[i], findings);
    if (i >= 3 && r.mask[i - 3])
      findings.require(views[i].elements() == 0 || views[i].injective(), kInvalid, kTensorNames[i],
                       "elements of the view " + shapeText(*r.tensors[i]) + " share memory; it cannot be written");
  }
}

// Every check and, if all pass, what phase 2 does.
PreparedPtr make(const ConvRequest& r, Findings& findings) {
  const DType compute = checkTypes(r, findings);
  if (findings.any()) return nullptr;
  const GradientMask mask{r.mask[0], r.mask[1], r.mask[2]};
  const std::array<View, 6> views = viewsOf(r);
  const bool straight = r.part->family->emptyInputs && (r.input().empty() || r.weight().empty());
  if (!straight) checkShapes(r, findings);
  if (!findings.any()) checkMemory(r, views, findings);
  if (findings.any()) return nullptr;
  if (r.anyEmpty()) {
    checkEmpty(r, findings);
    if (findings.any()) return nullptr;
    return prepareFill(views, {false, mask.dw, mask.db}, {0, 0, 0});
  }
  checkPart(r, compute, findings);
  if (findings.any()) return nullptr;
  if (!mask.any()) return prepareFill(views, mask, {});
  ConvCall call;
  call.geometry = geometryOf(r);
  call.mask = mask;
  call.compute = compute;
  call.chip = r.part->chip();
  call.views = views;
  auto prepared = prepare(call);
  if (prepared.ok()) return *prepared;
  addError(findings, prepared.error());
  return nullptr;
}

Argument argument(const ConvRequest& r, TensorId id) {
  return {r.tensors[static_cast<std::size_t>(id)], static_cast<int>(id), nullptr};
}

}  // namespace
}  // namespace cubejit::acl

using namespace cubejit::acl;

aclnnStatus aclnnConvolutionBackwardGetWorkspaceSize(const aclTensor* gradOutput, const aclTensor* input,
                                                     const aclTensor* weight, const aclIntArray* biasSizes,
                                                     const aclIntArray* stride, const aclIntArray* padding,
                                                     const aclIntArray* dilation, bool transposed,
                                                     const aclIntArray* outputPadding, int groups,
                                                     const aclBoolArray* outputMask, int8_t cubeMathType,
                                                     aclTensor* gradInput, aclTensor* gradWeight, aclTensor* gradBias,
                                                     uint64_t* workspaceSize, aclOpExecutor** executor) {
  using cubejit::TensorId;
  return guarded<aclnnStatus>(ACLNN_ERR_INNER, [&]() -> aclnnStatus {
    const auto part = environment();
    if (!part.ok())
      return fail(ACLNN_ERR_INNER_CREATE_EXECUTOR, kBackwardDocument, "environment", part.error().message);
    ConvRequest r;
    Arguments arguments(kBackwardDocument);
    r.part = *part;
    r.deterministic = deterministic();
    r.tensors[0] = arguments.required<Tensor>(gradOutput, "gradOutput");
    r.tensors[1] = arguments.required<Tensor>(input, "input");
    r.tensors[2] = arguments.required<Tensor>(weight, "weight");
    r.biasSizes = arguments.optional<IntArray>(biasSizes, "biasSizes");
    r.stride = arguments.required<IntArray>(stride, "stride");
    r.padding = arguments.required<IntArray>(padding, "padding");
    r.dilation = arguments.required<IntArray>(dilation, "dilation");
    r.outputPadding = arguments.required<IntArray>(outputPadding, "outputPadding");
    const auto mask = arguments.required<BoolArray>(outputMask, "outputMask");
    arguments.result(workspaceSize, "workspaceSize");
    arguments.result(executor, "executor");
    const aclTensor* const outputs[] = {gradInput, gradWeight, gradBias};
    for (std::size_t i = 0; i < 3; ++i) r.tensors[3 + i] = arguments.optional<Tensor>(outputs[i], kTensorNames[3 + i]);
    if (mask != nullptr)
      arguments.nulls().require(mask->values.size() == 3, kNull, "outputMask",
                                "has " + std::to_string(mask->values.size()) + " values, 3 are needed");
    for (std::size_t i = 0; mask != nullptr && mask->values.size() == 3 && i < 3; ++i) {
      r.mask[i] = mask->values[i] != 0;
      arguments.nulls().require(!r.mask[i] || outputs[i] != nullptr, kNull, kTensorNames[3 + i],
                                "is null but asked for by outputMask");
    }
    if (arguments.nulls().any()) return arguments.nulls().report();
    if (arguments.dead().any()) return arguments.dead().report();
    r.transposed = transposed, r.groups = groups, r.mathType = cubeMathType;

    const std::string key = keyOf(r);
    PreparedPtr prepared = recall(key);
    if (prepared == nullptr) {
      Findings findings(kBackwardDocument);
      prepared = make(r, findings);
      if (prepared == nullptr) return findings.report();
      remember(key, prepared);
    }
    handOut(prepared, {argument(r, TensorId::kDy), argument(r, TensorId::kX), argument(r, TensorId::kW)},
            {argument(r, TensorId::kDx), argument(r, TensorId::kDw), argument(r, TensorId::kDb)}, kBackwardDocument,
            workspaceSize, executor);
    return ACLNN_SUCCESS;
  });
}

aclnnStatus aclnnConvolutionBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                     const aclrtStream stream) {
  return runExecutor(workspace, workspaceSize, executor, stream, kBackwardDocument);
}
