// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing beyond options.h.
#include "api/acl/options.h"

#include <cstdlib>

namespace cubejit::acl {

Result<AclOptions> aclOptionsFromEnvironment() {
  const auto read = [](const char* variable) -> std::string {
    const char* text = secure_getenv(variable);
    return text == nullptr ? "" : text;
  };
  AclOptions options;
  if (const std::string soc = read("CUBEJIT_SOC"); !soc.empty()) options.soc = soc;
  const std::string emulate = read("CUBEJIT_ACL_EMULATE");
  if (!emulate.empty() && emulate != "0" && emulate != "1") {
    return invalidInput("CUBEJIT_ACL_EMULATE = '" + emulate + "' must be 0 or 1");
  }
  options.emulate = emulate == "1";
  return options;
}

}  // namespace cubejit::acl
