/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Decides nothing: programs include it for the types. Leaves those to acl_base_rt.h; running single operators is not offered.
 */
#ifndef CUBEJIT_ACL_ACL_OP_H
#define CUBEJIT_ACL_ACL_OP_H

#include "acl/acl_base_rt.h"

#endif
