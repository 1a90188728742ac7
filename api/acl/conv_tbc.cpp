// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the rules of aclnnConvTbc and aclnnConvTbcBackward, and how they are convolutions: T and B are the height and width of one
// channels-last image, the kernel is K by 1.
#include "aclnnop/aclnn_convolution.h"
#include "aclnnop/aclnn_convolution_backward.h"
#include "api/acl/phase_one.h"
#include "api/acl/rules.h"

namespace cubejit::acl {
namespace {

// A tensor parameter: its name, and what of the convolution it is.
struct Parameter {
  const char* name;
  TensorId id;
  bool output = false;
};
using Parameters = std::vector<Parameter>;

const Parameters& forwardParameters() {
  static const Parameters all{
      {"self", TensorId::kX}, {"weight", TensorId::kW}, {"bias", TensorId::kB}, {"output", TensorId::kY, true}};
  return all;
}
// The bias is asked for and never read.
const Parameters& backwardParameters() {
  static const Parameters all{{"self", TensorId::kDy},
                              {"input", TensorId::kX},
                              {"weight", TensorId::kW},
                              {"bias", TensorId::kB},
                              {"gradInput", TensorId::kDx, true},
                              {"gradWeight", TensorId::kDw, true},
                              {"gradBias", TensorId::kDb, true}};
  return all;
}

struct TbcRequest {
  const char* document;
  const Parameters& parameters;
  std::shared_ptr<const Part> part;
  std::array<TensorPtr, kTensors> tensors;  ///< by TensorId
  std::int64_t pad = 0;
  int mathType = 0;

  bool forward() const { return &parameters == &forwardParameters(); }
  TensorPtr& at(TensorId id) { return tensors[static_cast<std::size_t>(id)]; }
  const Tensor& tensor(TensorId id) const { return *tensors[static_cast<std::size_t>(id)]; }
  const Tensor& y() const { return tensor(forward() ? TensorId::kY : TensorId::kDy); }
  const char* yName() const { return forward() ? "output" : "self"; }
  const char* xName() const { return forward() ? "self" : "input"; }
};

std::string keyOf(const TbcRequest& r) {
  std::string key = r.part->key() + " " + r.document;
  for (const Parameter& parameter : r.parameters) appendKey(key, &r.tensor(parameter.id));
  appendKey(key, r.pad);
  appendKey(key, r.mathType);
  return key;
}

void checkTensors(const TbcRequest& r, Findings& findings) {
  const Family& family = *r.part->family;
  for (const auto& [name, id, output] : r.parameters) {
    const Tensor& t = r.tensor(id);
    const int rank = isBias(id) ? 1 : 3;
    findings.require(isFloating(t.dtype) && (t.dtype != ACL_BF16 || family.bf16), kInvalid, name,
                     std::string("data type ") + nameOf(t.dtype) + " is not supported on " + r.part->name);
    const bool known = t.format == ACL_FORMAT_ND || (rank == 3 && t.format == ACL_FORMAT_NCL);
    findings.require(known, kInvalid, name,
                     std::string("format ") + nameOf(t.format) + " must be ND" + (rank == 3 ? " or NCL" : ""));
    findings.require(t.rank == rank, kInvalid, name,
                     "shape " + shapeText(t) + " must have " + std::to_string(rank) + " dimensions");
    checkStorage(t, name, findings);
  }
  if (r.forward())
    findings.require(r.part->isHost() || r.tensor(TensorId::kW).dtype == r.tensor(TensorId::kX).dtype, kInvalid,
                     "weight",
                     std::string("data type ") + nameOf(r.tensor(TensorId::kW).dtype) + " must be self's, " +
                         nameOf(r.tensor(TensorId::kX).dtype) + ", on " + r.part->name);
  else
    findings.require(!r.y().empty(), kInvalid, "self", "shape " + shapeText(r.y()) + " must not be empty");
  findings.require(r.pad >= 0 && r.pad < INT32_MAX, kInvalid, "pad", std::to_string(r.pad) + " must be 0 to 2^31 - 2");
}

void checkShapes(const TbcRequest& r, Findings& findings) {
  const auto &y = r.y().dims, &x = r.tensor(TensorId::kX).dims, &w = r.tensor(TensorId::kW).dims;
  const auto equal = [&](std::int64_t have, std::int64_t need, const char* name, const std::string& what) {
    findings.require(have == need, kInvalid, name,
                     what + " = " + std::to_string(have) + " must be " + std::to_string(need));
  };
  __extension__ using Wide = __int128;
  const Wide length = Wide{x[0]} + 2 * Wide{r.pad} + 1 - w[0];
  findings.require(Wide{y[0]} == length, kInvalid, r.yName(),
                   "T = " + std::to_string(y[0]) + " must be T + 2*pad + 1 - K of " + r.xName() + " (" +
                       std::to_string(x[0]) + "), pad (" + std::to_string(r.pad) + ") and weight (" +
                       std::to_string(w[0]) + ")");
  equal(y[1], x[1], r.yName(), "B");
  equal(w[1], x[2], "weight", "Cin");
  equal(w[2], y[2], "weight", "Cout");
  equal(r.tensor(TensorId::kB).dims[0], y[2], "bias", "Cout");
  if (r.forward()) {
    // No page says what the sums of nothing are.
    for (const auto& [name, id] : {std::pair{"self", TensorId::kX}, {"weight", TensorId::kW}})
      findings.require(r.y().empty() || !r.tensor(id).empty(), kInvalid, name,
                       "shape " + shapeText(r.tensor(id)) + " must not be empty unless output is");
    return;
  }
  for (const auto& [id, like] :
       {std::pair{TensorId::kDx, TensorId::kX}, {TensorId::kDw, TensorId::kW}, {TensorId::kDb, TensorId::kB}})
    findings.require(r.tensor(id).dims == r.tensor(like).dims, kInvalid, nameOf(id),
                     "shape " + shapeText(r.tensor(id)) + " must be " + shapeText(r.tensor(like)));
}

Views viewsOf(const TbcRequest& r) {
  Views views;
  const std::vector<std::size_t> image{3, 4, 1}, taps{3, 1, 0}, channel{1};
  for (const Parameter& p : r.parameters)
    views[static_cast<std::size_t>(p.id)] = viewOf(r.tensor(p.id), isBias(p.id)      ? channel
                                                                   : isWeights(p.id) ? taps
                                                                                     : image);
  return views;
}

PreparedPtr make(const TbcRequest& r, Findings& findings) {
  const Family& family = *r.part->family;
  findings.require(r.forward() ? family.forward : family.tbc, ACLNN_ERR_INNER_NULLPTR, "product",
                   r.part->name + ", " + family.product + ", has no such operator");
  checkTensors(r, findings);
  if (findings.any()) return nullptr;
  checkShapes(r, findings);
  const Tensor &input = r.tensor(TensorId::kX), &weight = r.tensor(TensorId::kW);
  const aclDataType promoted =
      r.forward() ? promotedType({input.dtype, weight.dtype}) : promotedType({r.y().dtype, input.dtype, weight.dtype});
  const DType compute = computeType(*r.part, promoted, r.mathType, findings);
  ConvCall call;
  call.views = viewsOf(r);
  for (const auto& [name, id, output] : r.parameters) {
    const View& view = call.views[static_cast<std::size_t>(id)];
    findings.require(!output || view.elements() == 0 || view.injective(), kInvalid, name,
                     "elements of the view share memory; it cannot be written");
  }
  if (findings.any()) return nullptr;
  const auto &y = r.y().dims, &x = input.dims, &w = weight.dims;
  if (r.forward())
    call.mask.y = call.bias = true;
  else
    call.mask = {true, true, true};
  if (r.y().empty()) return prepareFill(call.views, {}, {});
  // What the documented operator gives: the gradient of a sum of ones.
  if (input.empty() || weight.empty() || r.tensor(TensorId::kB).empty())
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

// Phase 1 of either; `handles` in the order of the parameters.
aclnnStatus phaseOne(const char* document, const Parameters& parameters,
                     std::initializer_list<const aclTensor*> handles, std::int64_t pad, std::int8_t mathType,
                     std::uint64_t* workspaceSize, aclOpExecutor** executor) {
  return guarded<aclnnStatus>(ACLNN_ERR_INNER, [&]() -> aclnnStatus {
    const auto part = environment();
    if (!part.ok()) return fail(ACLNN_ERR_INNER_CREATE_EXECUTOR, document, "environment", part.error().message);
    TbcRequest r{document, parameters, *part, {}, pad, mathType};
    Arguments arguments(document);
    for (std::size_t i = 0; i < parameters.size(); ++i)
      r.at(parameters[i].id) = arguments.required<Tensor>(handles.begin()[i], parameters[i].name);
    arguments.result(workspaceSize, "workspaceSize");
    arguments.result(executor, "executor");
    std::vector<Argument> inputs, outputs;
    for (const auto& [name, id, output] : parameters)
      (output ? outputs : inputs).push_back({r.at(id), static_cast<int>(id), nullptr});
    return answer(
        arguments, document, [&] { return keyOf(r); }, [&](Findings& findings) { return make(r, findings); },
        std::move(inputs), std::move(outputs), workspaceSize, executor);
  });
}

}  // namespace
}  // namespace cubejit::acl

using namespace cubejit::acl;

aclnnStatus aclnnConvTbcBackwardGetWorkspaceSize(const aclTensor* self, const aclTensor* input, const aclTensor* weight,
                                                 const aclTensor* bias, int64_t pad, int8_t cubeMathType,
                                                 aclTensor* gradInput, aclTensor* gradWeight, aclTensor* gradBias,
                                                 uint64_t* workspaceSize, aclOpExecutor** executor) {
  return phaseOne(kTbcDocument, backwardParameters(), {self, input, weight, bias, gradInput, gradWeight, gradBias}, pad,
                  cubeMathType, workspaceSize, executor);
}

aclnnStatus aclnnConvTbcBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                 const aclrtStream stream) {
  return runExecutor(workspace, workspaceSize, executor, stream, kTbcDocument);
}

aclnnStatus aclnnConvTbcGetWorkspaceSize(const aclTensor* self, const aclTensor* weight, const aclTensor* bias,
                                         const int64_t pad, aclTensor* output, int8_t cubeMathType,
                                         uint64_t* workspaceSize, aclOpExecutor** executor) {
  return phaseOne(kTbcForwardDocument, forwardParameters(), {self, weight, bias, output}, pad, cubeMathType,
                  workspaceSize, executor);
}

aclnnStatus aclnnConvTbc(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream) {
  return runExecutor(workspace, workspaceSize, executor, stream, kTbcForwardDocument);
}
