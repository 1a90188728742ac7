// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the rules of aclnnConvTbcBackward, and how it is a convolution: T and B are the height and width of one channels-last
// image, the kernel is K by 1.
#include "aclnnop/aclnn_convolution_backward.h"
#include "api/acl/phase_one.h"
#include "api/acl/rules.h"

namespace cubejit::acl {
namespace {

constexpr int kInvalid = ACLNN_ERR_PARAM_INVALID;

struct TbcRequest {
  std::shared_ptr<const Part> part;
  TensorPtr self, input, weight, bias, gradInput, gradWeight, gradBias;
  std::int64_t pad = 0;
  int mathType = 0;
  struct Named {
    const char* name;
    const Tensor* tensor;
    int rank;
  };
  std::array<Named, 7> all() const {
    return {{{"self", self.get(), 3},
             {"input", input.get(), 3},
             {"weight", weight.get(), 3},
             {"bias", bias.get(), 1},
             {"gradInput", gradInput.get(), 3},
             {"gradWeight", gradWeight.get(), 3},
             {"gradBias", gradBias.get(), 1}}};
  }
};

std::string keyOf(const TbcRequest& r) {
  std::string key = r.part->key() + " tbc";
  for (const auto& [name, tensor, rank] : r.all()) appendKey(key, tensor);
  appendKey(key, r.pad);
  appendKey(key, r.mathType);
  return key;
}

void checkTensors(const TbcRequest& r, Findings& findings) {
  const Family& family = *r.part->family;
  for (const auto& [name, tensor, rank] : r.all()) {
    const Tensor& t = *tensor;
    findings.require(isFloating(t.dtype) && (t.dtype != ACL_BF16 || family.bf16), kInvalid, name,
                     std::string("data type ") + nameOf(t.dtype) + " is not supported on " + r.part->name);
    const bool known = t.format == ACL_FORMAT_ND || (rank == 3 && t.format == ACL_FORMAT_NCL);
    findings.require(known, kInvalid, name,
                     std::string("format ") + nameOf(t.format) + " must be ND" + (rank == 3 ? " or NCL" : ""));
    findings.require(t.rank == rank, kInvalid, name,
                     "shape " + shapeText(t) + " must have " + std::to_string(rank) + " dimensions");
    checkStorage(t, name, findings);
  }
  findings.require(!r.self->empty(), kInvalid, "self", "shape " + shapeText(*r.self) + " must not be empty");
  findings.require(r.pad >= 0 && r.pad < INT32_MAX, kInvalid, "pad", std::to_string(r.pad) + " must be 0 to 2^31 - 2");
}

void checkShapes(const TbcRequest& r, Findings& findings) {
  const auto &y = r.self->dims, &x = r.input->dims, &w = r.weight->dims;
  const auto equal = [&](std::int64_t have, std::int64_t need, const char* name, const std::string& what) {
    findings.require(have == need, kInvalid, name,
                     what + " = " + std::to_string(have) + " must be " + std::to_string(need));
  };
  __extension__ using Wide = __int128;
  const Wide length = Wide{x[0]} + 2 * Wide{r.pad} + 1 - w[0];
  findings.require(Wide{y[0]} == length, kInvalid, "self",
                   "T = " + std::to_string(y[0]) + " must be T + 2*pad + 1 - K of input (" + std::to_string(x[0]) +
                       "), pad (" + std::to_string(r.pad) + ") and weight (" + std::to_string(w[0]) + ")");
  equal(y[1], x[1], "self", "B");
  equal(w[1], x[2], "weight", "Cin");
  equal(w[2], y[2], "weight", "Cout");
  equal(r.bias->dims[0], y[2], "bias", "Cout");
  const std::pair<const char*, std::pair<const Tensor*, const Tensor*>> like[] = {
      {"gradInput", {r.gradInput.get(), r.input.get()}},
      {"gradWeight", {r.gradWeight.get(), r.weight.get()}},
      {"gradBias", {r.gradBias.get(), r.bias.get()}}};
  for (const auto& [name, pair] : like)
    findings.require(pair.first->dims == pair.second->dims, kInvalid, name,
                     "shape " + shapeText(*pair.first) + " must be " + shapeText(*pair.second));
}

std::array<View, 6> viewsOf(const TbcRequest& r) {
  const std::vector<std::size_t> image{3, 4, 1}, taps{3, 1, 0}, channel{1};
  return {viewOf(*r.self, image),      viewOf(*r.input, image),     viewOf(*r.weight, taps),
          viewOf(*r.gradInput, image), viewOf(*r.gradWeight, taps), viewOf(*r.gradBias, channel)};
}

PreparedPtr make(const TbcRequest& r, Findings& findings) {
  findings.require(r.part->family->tbc, ACLNN_ERR_INNER_NULLPTR, "product",
                   r.part->name + ", " + r.part->family->product + ", has no such operator");
  checkTensors(r, findings);
  if (findings.any()) return nullptr;
  checkShapes(r, findings);
  const DType compute =
      computeType(*r.part, promotedType(r.self->dtype, r.input->dtype, r.weight->dtype), r.mathType, findings);
  ConvCall call;
  call.views = viewsOf(r);
  for (std::size_t i = 3; i < 6; ++i)
    findings.require(call.views[i].elements() == 0 || call.views[i].injective(), kInvalid, kTensorNames[i],
                     "elements of the view share memory; it cannot be written");
  if (findings.any()) return nullptr;
  const auto &y = r.self->dims, &x = r.input->dims, &w = r.weight->dims;
  call.mask = {true, true, true};
  // What the documented operator gives: the gradient of a sum of ones.
  if (r.input->empty() || r.weight->empty() || r.bias->empty())
    return prepareFill(call.views, call.mask, {0, 0, static_cast<float>(y[0] * y[1])});
  call.compute = compute;
  call.chip = r.part->chip();
  Problem& p = call.geometry;
  p.rank = 2;
  p.cin = x[2], p.cout = y[2];
  p.in = {1, x[0], x[1]}, p.out = {1, y[0], y[1]}, p.kernel = {1, w[0], 1};
  p.padBefore = p.padAfter = {0, r.pad, 0};
  auto prepared = prepare(call);
  if (prepared.ok()) return *prepared;
  addError(findings, prepared.error());
  return nullptr;
}

}  // namespace
}  // namespace cubejit::acl

using namespace cubejit::acl;

aclnnStatus aclnnConvTbcBackwardGetWorkspaceSize(const aclTensor* self, const aclTensor* input, const aclTensor* weight,
                                                 const aclTensor* bias, int64_t pad, int8_t cubeMathType,
                                                 aclTensor* gradInput, aclTensor* gradWeight, aclTensor* gradBias,
                                                 uint64_t* workspaceSize, aclOpExecutor** executor) {
  using cubejit::TensorId;
  return guarded<aclnnStatus>(ACLNN_ERR_INNER, [&]() -> aclnnStatus {
    const auto part = environment();
    if (!part.ok()) return fail(ACLNN_ERR_INNER_CREATE_EXECUTOR, kTbcDocument, "environment", part.error().message);
    TbcRequest r;
    Arguments arguments(kTbcDocument);
    r.part = *part;
    r.self = arguments.required<Tensor>(self, "self");
    r.input = arguments.required<Tensor>(input, "input");
    r.weight = arguments.required<Tensor>(weight, "weight");
    r.bias = arguments.required<Tensor>(bias, "bias");
    r.gradInput = arguments.required<Tensor>(gradInput, "gradInput");
    r.gradWeight = arguments.required<Tensor>(gradWeight, "gradWeight");
    r.gradBias = arguments.required<Tensor>(gradBias, "gradBias");
    arguments.result(workspaceSize, "workspaceSize");
    arguments.result(executor, "executor");
    if (arguments.nulls().any()) return arguments.nulls().report();
    if (arguments.dead().any()) return arguments.dead().report();
    r.pad = pad, r.mathType = cubeMathType;

    const std::string key = keyOf(r);
    PreparedPtr prepared = recall(key);
    if (prepared == nullptr) {
      Findings findings(kTbcDocument);
      prepared = make(r, findings);
      if (prepared == nullptr) return findings.report();
      remember(key, prepared);
    }
    const auto argument = [](const TensorPtr& tensor, TensorId id) {
      return Argument{tensor, static_cast<int>(id), nullptr};
    };
    handOut(prepared,
            {argument(r.self, TensorId::kDy), argument(r.input, TensorId::kX), argument(r.weight, TensorId::kW),
             Argument{r.bias, -1, nullptr}},
            {argument(r.gradInput, TensorId::kDx), argument(r.gradWeight, TensorId::kDw),
             argument(r.gradBias, TensorId::kDb)},
            kTbcDocument, workspaceSize, executor);
    return ACLNN_SUCCESS;
  });
}

aclnnStatus aclnnConvTbcBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                 const aclrtStream stream) {
  return runExecutor(workspace, workspaceSize, executor, stream, kTbcDocument);
}
