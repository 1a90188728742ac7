/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Decides nothing: the older name of acl_base_rt.h. Leaves everything to it.
 */
#ifndef CUBEJIT_ACL_ACL_BASE_H
#define CUBEJIT_ACL_ACL_BASE_H

#include "acl/acl_base_rt.h"

#endif
