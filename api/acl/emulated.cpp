// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that a chip's memory is there only while it runs: shapes are remembered by the hundred, and a chip has megabytes a core.
#include "api/acl/emulated.h"

#include <utility>

namespace cubejit::acl {

Result<std::shared_ptr<const EmulationRequest>> emulationOf(const Problem& problem, Gradient gradient,
                                                            const Machine& chip) {
  CUBEJIT_TRY(options, optionsFromEnvironment());
  EmulationRequest request{problem, gradient, chip, {}};
  request.fast = true;
  CUBEJIT_TRY(emulation, Emulation::create(request, options));
  if (gradient != Gradient::kDb) request.plan = emulation->plan();
  return std::make_shared<const EmulationRequest>(std::move(request));
}

Status runEmulation(const EmulationRequest& request, const Tensors& tensors) {
  CUBEJIT_TRY(options, optionsFromEnvironment());
  CUBEJIT_TRY(emulation, Emulation::create(request, options));
  CUBEJIT_TRY(report, emulation->run(tensors));
  static_cast<void>(report);
  return Unit{};
}

}  // namespace cubejit::acl
