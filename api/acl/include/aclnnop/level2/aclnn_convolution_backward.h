/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Decides nothing: the path that older toolkits install aclnnop/aclnn_convolution_backward.h under.
 */
#ifndef CUBEJIT_ACL_LEVEL2_ACLNN_CONVOLUTION_BACKWARD_H
#define CUBEJIT_ACL_LEVEL2_ACLNN_CONVOLUTION_BACKWARD_H

#include "aclnnop/aclnn_convolution_backward.h"

#endif
