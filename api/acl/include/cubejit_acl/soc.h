/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Decides how a program chooses the part whose rules hold. Not part of the documented interface.
 */
#ifndef CUBEJIT_ACL_SOC_H
#define CUBEJIT_ACL_SOC_H

#include "acl/acl_base_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/** From now on the types, modes, limits and codes of this part hold strictly: "Ascend910B2", "Ascend310P3", any name `cubejit
 *  targets --all` prints; "host" (the default) takes whatever can be computed. It replaces what CUBEJIT_SOC says. 100000: not known. */
ACL_FUNC_VISIBILITY aclError cubejit_acl_set_soc(const char* name);

/** 1: from now on gradients are computed on the chosen part, emulated core by core, which is slow; 0: by the host's own kernels.
 *  It replaces what CUBEJIT_ACL_EMULATE says. Executors that exist keep to what they were made for. 100000: neither 0 nor 1. */
ACL_FUNC_VISIBILITY aclError cubejit_acl_set_emulation(int on);

#ifdef __cplusplus
}
#endif

#endif
