/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Decides the life of the runtime: aclInit and aclFinalize. Leaves memory and streams to acl_rt.h, tensors to aclnn/acl_meta.h.
 */
#ifndef CUBEJIT_ACL_ACL_H
#define CUBEJIT_ACL_ACL_H

#include "acl/acl_mdl.h"
#include "acl/acl_op.h"
#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Begins use of the runtime. `configPath` may be null and is not read. 100002 if it has begun already. Nothing else depends on
 *  it: every function works before aclInit and after aclFinalize. */
ACL_FUNC_VISIBILITY aclError aclInit(const char* configPath);

/** Waits until the work of all streams is done. 100001 before aclInit, 100037 the second time. Handles stay valid and may be
 *  destroyed afterwards. */
ACL_FUNC_VISIBILITY aclError aclFinalize(void);

/** What the calling thread's last failed call says: every violated rule on a line of its own, with its values and the document
 *  that states it. Null if no call has failed. Valid until the thread's next failure. */
ACL_FUNC_VISIBILITY const char* aclGetRecentErrMsg(void);

#ifdef __cplusplus
}
#endif

#endif
