/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Decides the two forward operators: convolution in 1D, 2D and 3D, and the time-batch-channel convolution.
 * Leaves what a convolution is to cubejit/problem.h, rules of each part to the how-to.
 */
#ifndef CUBEJIT_ACL_ACLNN_CONVOLUTION_H
#define CUBEJIT_ACL_ACLNN_CONVOLUTION_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Phase 1: checks everything, plans, generates code (once a shape), and says how much workspace phase 2 needs.
 *
 *  input, weight, output: rank 3 (NCL), 4 (NCHW) or 5 (NCDHW); FLOAT, FLOAT16 or BF16, input and weight promoted to one another; any
 *    strides. weight is [Cout][Cin/groups][k], transposed: [Cin][Cout/groups][k].
 *  bias: [Cout], or null for none. stride, dilation: rank-2 values from 1. padding: rank-2 values from 0, or four in 2D: up, down,
 *    left, right. outputPadding: rank-2 values less than the stride; it is not read unless transposed.
 *  output: of the extents that follow from the others, exactly.
 *  cubeMathType: 0 keep the type, 1 FLOAT may be rounded, 2 use FLOAT16, 3 use HFLOAT32 for FLOAT. The bias is added as it is.
 *
 *  0; 161001: a required argument is null; 161002: a rule is broken; 561101: no executor can be made; 561103: the part cannot run
 *  it. aclGetRecentErrMsg() names every rule that is broken. On failure neither `workspaceSize` nor `executor` is written.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclnnConvolutionGetWorkspaceSize(
    const aclTensor* input, const aclTensor* weight, const aclTensor* bias, const aclIntArray* stride,
    const aclIntArray* padding, const aclIntArray* dilation, bool transposed, const aclIntArray* outputPadding,
    const int64_t groups, aclTensor* output, int8_t cubeMathType, uint64_t* workspaceSize, aclOpExecutor** executor);

/** Phase 2, as in aclnn_convolution_backward.h. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnConvolution(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                                 aclrtStream stream);

/** output[t][b][co] = bias[co] + sum self[t + k - pad][b][ci] * weight[k][ci][co]. self is [T][B][Cin], weight [K][Cin][Cout], bias
 *  [Cout], output [T + 2*pad + 1 - K][B][Cout]. Everything is required. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnConvTbcGetWorkspaceSize(const aclTensor* self, const aclTensor* weight,
                                                             const aclTensor* bias, const int64_t pad,
                                                             aclTensor* output, int8_t cubeMathType,
                                                             uint64_t* workspaceSize, aclOpExecutor** executor);

ACL_FUNC_VISIBILITY aclnnStatus aclnnConvTbc(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                             aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
