/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Decides nothing: the path that older toolkits install aclnnop/aclnn_convolution.h under.
 */
#ifndef CUBEJIT_ACL_LEVEL2_ACLNN_CONVOLUTION_H
#define CUBEJIT_ACL_LEVEL2_ACLNN_CONVOLUTION_H

#include "aclnnop/aclnn_convolution.h"

#endif
