// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which problem a legal call of the DSL is. Leaves its rules to call_rules.cpp.
#include "cubejit_tbe/conv_backprop.h"

#include "api/tbe/call_rules.h"
#include "cubejit/machines.h"
#include "cubejit/npu.h"
#include "tiling/check_problem.h"
#include "tiling/rule_lines.h"

namespace cubejit::tbe {
namespace {

using Ints = std::vector<std::int64_t>;

// Raw results are those of a convolution whose groups are the real groups, padding of blocks included.
Problem problemOf(const Operation& operation, const CallNumbers& call, GroupResult groupResult) {
  const bool raw = groupResult == GroupResult::kRaw;
  const GroupDict& g = call.group_dict;
  Problem p;
  p.name = call.kernelName;
  p.rank = operation.flat() ? 2 : 3;
  p.batch = call.batch;
  p.groups = raw ? g.real_g : call.groups;
  p.cin = raw ? g.real_g * g.cin1_g * kC0Size : g.cin_ori;
  p.cout = raw ? g.real_g * g.cout_g : g.cout_ori;
  p.in = call.in;
  p.out = call.out;
  p.kernel = call.kernel;
  p.stride = call.stride;
  p.dilation = call.dilation;
  p.padBefore = call.padBefore;
  p.padAfter = call.padAfter;
  p.dtype = DType::kF16;
  p.layout = Layout::kNdc1hwc0;
  const auto format = [&](TensorId t, DType dtype, Layout layout) {
    p.formats[static_cast<std::size_t>(t)] = TensorFormat{dtype, layout, {}, kC0Size};
  };
  const DType result = call.resDtype == "float32" ? DType::kF32 : DType::kF16;
  if (operation.ofFilter()) {
    format(TensorId::kDw, result, Layout::kFractalZ3d);
  } else {
    format(TensorId::kW, DType::kF16, Layout::kFractalZ3d);
    format(TensorId::kDx, result, Layout::kNdc1hwc0);
  }
  return p;
}

// The smallest tile fits the part's buffers if the planner for the part finds any plan.
Status fitsPart(const Problem& problem, Pass pass, const std::string& soc) {
  if (soc.empty()) return Unit{};
  CUBEJIT_TRY(machine, machineByName(soc));
  Problem asked = problem;
  if (pass == Pass::kDw) asked.formats[static_cast<std::size_t>(TensorId::kDw)]->dtype = DType::kF32;
  NpuPlanOptions options;
  options.kernels = CubeKernels::kAscendC;  // rows are staged whole, as the DSL does
  CUBEJIT_RETURN_IF_ERROR(planOnNpu(asked, pass, machine, options));
  return Unit{};
}

Result<ResTensor> gradientOf(const Operation& operation, const Call& call) {
  const CallRules rules = checkCall(operation, call);
  if (!rules.broken.empty()) return invalidInput(inLines(rules.broken));
  const CallNumbers& numbers = rules.call;
  ResTensor result;
  result.pass = operation.pass;
  result.first = call.first;
  result.out_backprop = call.out_backprop;
  result.group_dict = numbers.group_dict;
  result.groups = numbers.groups;
  result.group_result = call.para.group_result;
  result.problem = problemOf(operation, numbers, call.para.group_result);
  CUBEJIT_RETURN_IF_ERROR(checkProblem(result.problem));
  CUBEJIT_RETURN_IF_ERROR(fitsPart(result.problem, operation.pass, call.para.soc));
  result.tensor = {{}, numbers.resDtype, numbers.kernelName};
  if (operation.ofFilter()) {
    result.tensor.shape = filterShape(numbers.group_dict, numbers.kernel);
  } else {
    const std::int64_t blocks = (numbers.group_dict.cin_ori + kC0Size - 1) / kC0Size;
    result.tensor.shape = {numbers.batch, numbers.in.d, blocks, numbers.in.h, numbers.in.w, kC0Size};
    if (operation.flat()) result.tensor.shape.erase(result.tensor.shape.begin() + 1);
  }
  return result;
}

}  // namespace

Result<ResTensor> conv2d_backprop_filter(const Tensor& input_x, const Tensor& out_backprop, const Ints& filter_sizes,
                                         const ParaDict& para_dict) {
  return gradientOf(kConv2dBackpropFilter, {input_x, out_backprop, filter_sizes, {}, para_dict});
}

Result<ResTensor> conv2d_backprop_input(const Tensor& filters, const Tensor& out_backprop, const Ints& filter_sizes,
                                        const Ints& input_sizes, const ParaDict& para_dict) {
  return gradientOf(kConv2dBackpropInput, {filters, out_backprop, filter_sizes, input_sizes, para_dict});
}

Result<ResTensor> conv3d_backprop_filter(const Tensor& x, const Tensor& out_backprop, const Ints& filter_size,
                                         const ParaDict& para_dict) {
  return gradientOf(kConv3dBackpropFilter, {x, out_backprop, filter_size, {}, para_dict});
}

Result<ResTensor> conv3d_backprop_input(const Tensor& filter, const Tensor& out_backprop, const Ints& filter_size,
                                        const Ints& input_size, const ParaDict& para_dict) {
  return gradientOf(kConv3dBackpropInput, {filter, out_backprop, filter_size, input_size, para_dict});
}

}  // namespace cubejit::tbe
