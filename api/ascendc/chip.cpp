// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the default; see the header.
#include "cubejit_ascendc/chip.h"

#include "cubejit/machines.h"
#include "runtime/face/environment.h"

namespace cubejit::ascendc {

Result<Machine> chipOf(const std::string& name) {
  if (!name.empty()) return machineByName(name);
  CUBEJIT_TRY(environment, readEnvironment());
  return machineByName(environment.launch.soc.empty() ? kUsualChip : environment.launch.soc);
}

}  // namespace cubejit::ascendc
