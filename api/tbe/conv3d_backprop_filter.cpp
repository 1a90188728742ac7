// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which problem a legal call of the DSL is. Leaves its rules to filter_rules.cpp.
#include "cubejit_tbe/conv3d_backprop_filter.h"

#include "api/tbe/filter_rules.h"
#include "cubejit/machines.h"
#include "cubejit/npu.h"
#include "tiling/check_problem.h"
#include "tiling/npu/rule_lines.h"

namespace cubejit::tbe {
namespace {

// Raw results are those of a convolution whose groups are the real groups, padding of blocks included.
Problem problemOf(const FilterCall& call, const Tensor& x, const Tensor& dy, const std::vector<std::int64_t>& filter,
                  const ParaDict& para) {
  const bool raw = para.group_result == GroupResult::kRaw;
  const GroupDict& g = call.group_dict;
  Problem p;
  p.name = para.kernel_name;
  p.batch = x.shape[0];
  p.groups = raw ? g.real_g : call.groups;
  p.cin = raw ? g.real_g * g.cin1_g * kC0Size : g.cin_ori;
  p.cout = raw ? g.real_g * g.cout_g : g.cout_ori;
  p.in = {x.shape[1], x.shape[3], x.shape[4]};
  p.out = {dy.shape[1], dy.shape[3], dy.shape[4]};
  p.kernel = {filter[1], filter[3], filter[4]};
  p.stride = call.stride;
  p.dilation = call.dilation;
  p.padBefore = call.padBefore;
  p.padAfter = call.padAfter;
  p.dtype = DType::kF16;
  p.layout = Layout::kNdc1hwc0;
  const DType result = para.res_dtype == "float32" ? DType::kF32 : DType::kF16;
  p.formats[static_cast<std::size_t>(TensorId::kDw)] = TensorFormat{result, Layout::kFractalZ3d, {}, kC0Size};
  return p;
}

// The smallest tile fits the part's buffers if the planner for the part finds any plan.
Status fitsPart(const Problem& problem, const std::string& soc) {
  if (soc.empty()) return Unit{};
  CUBEJIT_TRY(machine, machineByName(soc));
  Problem asked = problem;
  asked.formats[static_cast<std::size_t>(TensorId::kDw)]->dtype = DType::kF32;
  NpuPlanOptions options;
  options.kernels = CubeKernels::kAscendC;  // rows are staged whole, as the DSL does
  CUBEJIT_TRY(report, planOnNpu(asked, Gradient::kDw, machine, options));
  static_cast<void>(report);
  return Unit{};
}

}  // namespace

Result<ResTensor> conv3d_backprop_filter(const Tensor& x, const Tensor& out_backprop,
                                         const std::vector<std::int64_t>& filter_size, const ParaDict& para_dict) {
  const FilterRules rules = checkFilterCall(x, out_backprop, filter_size, para_dict);
  if (!rules.broken.empty()) return Error{ErrorCode::kInvalidProblem, Stage::kProblem, inLines(rules.broken)};
  ResTensor result;
  result.x = x;
  result.out_backprop = out_backprop;
  result.group_dict = rules.call.group_dict;
  result.groups = rules.call.groups;
  result.group_result = para_dict.group_result;
  result.problem = problemOf(rules.call, x, out_backprop, filter_size, para_dict);
  CUBEJIT_TRY(checked, checkProblem(result.problem));
  static_cast<void>(checked);
  CUBEJIT_TRY(fits, fitsPart(result.problem, para_dict.soc));
  static_cast<void>(fits);
  const GroupDict& g = result.group_dict;
  result.tensor = {
      {g.real_g * filter_size[1] * g.cin1_g * filter_size[3] * filter_size[4], g.cout_g / kC0Size, kC0Size, kC0Size},
      para_dict.res_dtype,
      para_dict.kernel_name};
  return result;
}

}  // namespace cubejit::tbe
