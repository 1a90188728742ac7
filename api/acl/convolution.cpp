// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the course of phase 1 of aclnnConvolution and aclnnConvolutionBackward: handles, then what is remembered, then rules, then
// preparation.
#include "aclnnop/aclnn_convolution.h"
#include "aclnnop/aclnn_convolution_backward.h"
#include "api/acl/context.h"
#include "api/acl/phase_one.h"
#include "api/acl/rules.h"

namespace cubejit::acl {
namespace {

// n, c and the spatial axes; weights alike. A bias and its gradient are one channel axis.
std::vector<std::size_t> axesOf(TensorId id, int rank) {
  if (isBias(id)) return {1};
  return rank == 3   ? std::vector<std::size_t>{0, 1, 4}
         : rank == 4 ? std::vector<std::size_t>{0, 1, 3, 4}
                     : std::vector<std::size_t>{0, 1, 2, 3, 4};
}

bool viewable(TensorId id, const Tensor& t) { return isBias(id) ? t.rank == 1 : t.rank >= 3 && t.rank <= 5; }

Views viewsOf(const ConvRequest& r) {
  Views views;
  for (std::size_t i = 0; i < kTensors; ++i) {
    const auto id = static_cast<TensorId>(i);
    views[i].extents = {0, 0, 0, 0, 0};
    if (r.at(id) != nullptr && viewable(id, r.tensor(id)))
      views[i] = viewOf(r.tensor(id), axesOf(id, r.tensor(id).rank));
  }
  return views;
}

void checkMemory(const ConvRequest& r, const Views& views, Findings& findings) {
  for (std::size_t i = 0; i < kTensors; ++i) {
    if (r.tensors[i] != nullptr) checkStorage(*r.tensors[i], kTensorNames[i], findings);
  }
  for (const Pass pass : kPasses) {
    const TensorId id = resultOf(pass);
    const View& view = views[static_cast<std::size_t>(id)];
    if (r.mask.has(pass))
      findings.require(view.elements() == 0 || view.injective(), kInvalid, nameOf(id),
                       "elements of the view " + shapeText(r.tensor(id)) + " share memory; it cannot be written");
  }
}

// Every check and, if all pass, what phase 2 does.
PreparedPtr make(const ConvRequest& r, Findings& findings) {
  const DType compute = checkTypes(r, findings);
  if (findings.any()) return nullptr;
  const PassMask mask = r.mask;
  const Views views = viewsOf(r);
  const bool straight = !r.forward() && r.part->family->emptyInputs && (r.input().empty() || r.weight().empty());
  if (!straight) checkShapes(r, findings);
  if (!findings.any()) checkMemory(r, views, findings);
  if (findings.any()) return nullptr;
  if (r.anyEmpty() && !r.forward()) {
    checkEmpty(r, findings);
    if (findings.any()) return nullptr;
    return prepareFill(views, {false, mask.dw, mask.db}, {0, 0, 0});
  }
  checkPart(r, compute, findings);
  if (findings.any()) return nullptr;
  if (!mask.any() || r.output().empty()) return prepareFill(views, {}, {});
  ConvCall call;
  call.geometry = geometryOf(r);
  call.mask = mask;
  call.bias = r.at(TensorId::kB) != nullptr;
  call.compute = compute;
  call.chip = r.part->chip();
  call.views = views;
  auto prepared = prepare(call);
  if (prepared.ok()) return *prepared;
  addError(findings, prepared.error());
  return nullptr;
}

// A request with the arguments that both operators have.
ConvRequest resolve(Arguments& arguments, const aclTensor* input, const aclTensor* weight, const aclIntArray* stride,
                    const aclIntArray* padding, const aclIntArray* dilation, const aclIntArray* outputPadding) {
  ConvRequest r;
  r.at(TensorId::kX) = arguments.required<Tensor>(input, "input");
  r.at(TensorId::kW) = arguments.required<Tensor>(weight, "weight");
  r.stride = arguments.required<IntArray>(stride, "stride");
  r.padding = arguments.required<IntArray>(padding, "padding");
  r.dilation = arguments.required<IntArray>(dilation, "dilation");
  r.outputPadding = arguments.required<IntArray>(outputPadding, "outputPadding");
  return r;
}

// `inputs` and `outputs` in the order of the operator's parameters.
aclnnStatus answered(const ConvRequest& r, const Arguments& arguments, const char* document,
                     std::initializer_list<TensorId> inputs, std::initializer_list<TensorId> outputs,
                     std::uint64_t* workspaceSize, aclOpExecutor** executor) {
  const auto argumentsOf = [&](std::initializer_list<TensorId> ids) {
    std::vector<Argument> all;
    for (const TensorId id : ids) all.push_back({r.at(id), static_cast<int>(id), nullptr});
    return all;
  };
  return answer(
      arguments, document, [&] { return keyOf(r); }, [&](Findings& findings) { return make(r, findings); },
      argumentsOf(inputs), argumentsOf(outputs), workspaceSize, executor);
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
  using namespace cubejit;
  return guarded<aclnnStatus>(ACLNN_ERR_INNER, [&]() -> aclnnStatus {
    const auto part = environment();
    if (!part.ok())
      return fail(ACLNN_ERR_INNER_CREATE_EXECUTOR, kBackwardDocument, "environment", part.error().message);
    Arguments arguments(kBackwardDocument);
    const auto dy = arguments.required<Tensor>(gradOutput, "gradOutput");
    ConvRequest r = resolve(arguments, input, weight, stride, padding, dilation, outputPadding);
    r.part = *part, r.at(TensorId::kDy) = dy;
    r.deterministic = deterministic();
    r.biasSizes = arguments.optional<IntArray>(biasSizes, "biasSizes");
    const auto mask = arguments.required<BoolArray>(outputMask, "outputMask");
    arguments.result(workspaceSize, "workspaceSize");
    arguments.result(executor, "executor");
    const aclTensor* const outputs[] = {gradInput, gradWeight, gradBias};
    for (std::size_t i = 0; i < 3; ++i) r.tensors[3 + i] = arguments.optional<Tensor>(outputs[i], kTensorNames[3 + i]);
    if (mask != nullptr)
      arguments.nulls().require(mask->values.size() == 3, kNull, "outputMask",
                                "has " + std::to_string(mask->values.size()) + " values, 3 are needed");
    for (std::size_t i = 0; mask != nullptr && mask->values.size() == 3 && i < 3; ++i) {
      if (mask->values[i] == 0) continue;
      r.mask.add(static_cast<Pass>(i));
      arguments.nulls().require(outputs[i] != nullptr, kNull, kTensorNames[3 + i],
                                "is null but asked for by outputMask");
    }
    r.transposed = transposed, r.groups = groups, r.mathType = cubeMathType;
    return answered(r, arguments, kBackwardDocument, {TensorId::kDy, TensorId::kX, TensorId::kW},
                    {TensorId::kDx, TensorId::kDw, TensorId::kDb}, workspaceSize, executor);
  });
}

aclnnStatus aclnnConvolutionBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                     const aclrtStream stream) {
  return runExecutor(workspace, workspaceSize, executor, stream, kBackwardDocument);
}

aclnnStatus aclnnConvolutionGetWorkspaceSize(const aclTensor* input, const aclTensor* weight, const aclTensor* bias,
                                             const aclIntArray* stride, const aclIntArray* padding,
                                             const aclIntArray* dilation, bool transposed,
                                             const aclIntArray* outputPadding, const int64_t groups, aclTensor* output,
                                             int8_t cubeMathType, uint64_t* workspaceSize, aclOpExecutor** executor) {
  using namespace cubejit;
  return guarded<aclnnStatus>(ACLNN_ERR_INNER, [&]() -> aclnnStatus {
    const auto part = environment();
    if (!part.ok()) return fail(ACLNN_ERR_INNER_CREATE_EXECUTOR, kForwardDocument, "environment", part.error().message);
    Arguments arguments(kForwardDocument);
    ConvRequest r = resolve(arguments, input, weight, stride, padding, dilation, outputPadding);
    r.part = *part;
    r.at(TensorId::kB) = arguments.optional<Tensor>(bias, "bias");
    r.at(TensorId::kY) = arguments.required<Tensor>(output, "output");
    arguments.result(workspaceSize, "workspaceSize");
    arguments.result(executor, "executor");
    r.mask.add(Pass::kY);
    r.transposed = transposed, r.groups = groups, r.mathType = cubeMathType;
    return answered(r, arguments, kForwardDocument, {TensorId::kX, TensorId::kW, TensorId::kB}, {TensorId::kY},
                    workspaceSize, executor);
  });
}

aclnnStatus aclnnConvolution(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream) {
  return runExecutor(workspace, workspaceSize, executor, stream, kForwardDocument);
}
