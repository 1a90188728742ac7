/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Decides what operators' headers have in common. Leaves objects to acl_meta.h and codes to opdev/op_errno.h.
 */
#ifndef CUBEJIT_ACL_ACLNN_BASE_H
#define CUBEJIT_ACL_ACLNN_BASE_H

#include "aclnn/acl_meta.h"
#include "opdev/op_errno.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Always 0: nothing needs to be begun or ended. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnInit(const char* configPath);
ACL_FUNC_VISIBILITY aclnnStatus aclnnFinalize(void);

#ifdef __cplusplus
}
#endif

#endif
