// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the environment may say to the ACL face. Leaves what follows from it to parts.
#pragma once

#include <string>

#include "cubejit/result.h"

namespace cubejit::acl {

struct AclOptions {
  std::string soc = "host";  ///< the part whose rules hold: "host", or a name of machineNames()
  bool emulate = false;      ///< run on the emulated part instead of the host's own kernels
};

/// AclOptions with what CUBEJIT_SOC (a name; it is judged where it is used) and CUBEJIT_ACL_EMULATE (0 or 1) say. Ignored in
/// processes that run with more rights than their caller.
Result<AclOptions> aclOptionsFromEnvironment();

}  // namespace cubejit::acl
