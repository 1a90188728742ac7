/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Decides that the headers are C: this file is compiled as C11 and called by runtime_test.cpp.
 */
#include "acl/acl.h"
#include "aclnnop/aclnn_convolution.h"
#include "aclnnop/aclnn_convolution_backward.h"
#include "cubejit_acl/soc.h"

int callFromC(void);

int callFromC(void) {
  const int64_t dims[] = {2, 3};
  bool flags[] = {true, false, true};
  uint64_t count = 0;
  aclTensor* tensor = aclCreateTensor(dims, 2, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, dims, 2, NULL);
  aclBoolArray* mask = aclCreateBoolArray(flags, 3);
  if (tensor == NULL || aclGetBoolArraySize(mask, &count) != ACLNN_SUCCESS || count != 3) return 1;
  if (aclDestroyTensor(tensor) != ACLNN_SUCCESS || aclDestroyBoolArray(mask) != ACLNN_SUCCESS) return 2;
  if (aclnnConvTbcGetWorkspaceSize(NULL, NULL, NULL, 0, NULL, 0, NULL, NULL) != ACLNN_ERR_PARAM_NULLPTR) return 4;
  if (aclnnConvolution(NULL, 0, NULL, NULL) != ACLNN_ERR_PARAM_NULLPTR) return 5;
  return aclrtFree(tensor) == ACL_ERROR_INVALID_PARAM ? ACL_SUCCESS : 3;
}
