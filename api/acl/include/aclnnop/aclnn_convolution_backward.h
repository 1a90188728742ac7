/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Decides the two operators: convolution gradients in 1D, 2D and 3D, and those of the time-batch-channel convolution.
 * Leaves what a gradient is to cubejit/problem.h, rules of each part to the how-to.
 */
#ifndef CUBEJIT_ACL_ACLNN_CONVOLUTION_BACKWARD_H
#define CUBEJIT_ACL_ACLNN_CONVOLUTION_BACKWARD_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Phase 1: checks everything, plans, generates code (once a shape), and says how much workspace phase 2 needs.
 *
 *  gradOutput, input, weight: rank 3 (NCL or ND), 4 (NCHW) or 5 (NCDHW); FLOAT, FLOAT16 or BF16, promoted to one another; any
 *    strides. weight is [Cout][Cin/groups][k], transposed: [Cin][Cout/groups][k].
 *  biasSizes: only looked at when a tensor is empty. stride, dilation: rank-2 values from 1. padding: rank-2 values from 0, or four
 *  in 2D: up, down, left, right. outputPadding: rank-2 values; zeros unless transposed, and less than the stride.
 *  outputMask: three: gradInput, gradWeight, gradBias. Outputs not asked for may be null and are never written.
 *  cubeMathType: 0 keep the type, 1 FLOAT may be rounded, 2 use FLOAT16, 3 use HFLOAT32 for FLOAT.
 *
 *  0; 161001: a required argument is null, or outputMask has not three values; 161002: a rule is broken; 561101: no executor can
 *  be made; 561103: the part cannot run it. aclGetRecentErrMsg() names every rule that is broken. On failure neither
 *  `workspaceSize` nor `executor` is written.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclnnConvolutionBackwardGetWorkspaceSize(
    const aclTensor* gradOutput, const aclTensor* input, const aclTensor* weight, const aclIntArray* biasSizes,
    const aclIntArray* stride, const aclIntArray* padding, const aclIntArray* dilation, bool transposed,
    const aclIntArray* outputPadding, int groups, const aclBoolArray* outputMask, int8_t cubeMathType,
    aclTensor* gradInput, aclTensor* gradWeight, aclTensor* gradBias, uint64_t* workspaceSize,
    aclOpExecutor** executor);

/** Phase 2: queues the work on the stream and returns. Workspace must be aligned to 64 bytes (aclrtMalloc's is), at least as large
 *  as promised, and stay until the stream is done. The executor is used up unless it is repeatable.
 *  0; 161001: executor null, null workspace although some is needed (the executor is destroyed), null data of a tensor;
 *  161002: executor used up or destroyed, workspace too small or misaligned, an output overlaps another tensor, a tensor reaches
 *  beyond its allocation; 361001: the stream does not exist. After an error nothing is written. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnConvolutionBackward(void* workspace, uint64_t workspaceSize,
                                                         aclOpExecutor* executor, const aclrtStream stream);

/** The same for y[t][b][co] = bias[co] + sum x[t + k - pad][b][ci] * w[k][ci][co]. self (the gradient of y) is
 *  [T + 2*pad + 1 - K][B][Cout], input [T][B][Cin], weight [K][Cin][Cout], bias [Cout]; outputs have the shapes of input, weight
 *  and bias. Everything is required. If input, weight or bias is empty, gradInput and gradWeight become 0 and gradBias
 *  B * (T + 2*pad + 1 - K), as the documented operator does. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnConvTbcBackwardGetWorkspaceSize(const aclTensor* self, const aclTensor* input,
                                                                     const aclTensor* weight, const aclTensor* bias,
                                                                     int64_t pad, int8_t cubeMathType,
                                                                     aclTensor* gradInput, aclTensor* gradWeight,
                                                                     aclTensor* gradBias, uint64_t* workspaceSize,
                                                                     aclOpExecutor** executor);

ACL_FUNC_VISIBILITY aclnnStatus aclnnConvTbcBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                                     const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
