// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how an emulated chip's gradients are verified: one emulation a gradient, the same data, reference and verdicts as the host's;
// what --fast leaves out is proven first.
#include <map>

#include "cubejit/emulation.h"
#include "runtime/verify/verify_problem.h"

namespace cubejit {

VerifyOutcome verifyOnNpu(const Machine& machine, const Options& options, const VerifyRequest& request, bool fast) {
  std::vector<std::unique_ptr<Emulation>> emulations;
  for (const Gradient gradient : {Gradient::kDx, Gradient::kDw, Gradient::kDb}) {
    if (!request.gradients.has(gradient)) continue;
    EmulationRequest one{request.problem, gradient, machine, {}};
    one.fast = fast;
    for (const TilingPlan& plan : request.plans) {
      if (plan.gradient == gradient) one.plan = plan;
    }
    auto emulation = Emulation::create(one, options);
    if (!emulation.ok()) {
      const ErrorCode code = emulation.error().code;
      const bool lacks = code == ErrorCode::kUnsupported || (code == ErrorCode::kNoFeasiblePlan && !one.plan);
      if (lacks) return {VerifyOutcome::Verdict::kSkipped, emulation.error().message};
      VerifyOutcome refusal{VerifyOutcome::Verdict::kFailed, emulation.error().message};
      refusal.refused = code;
      return refusal;
    }
    if (fast) {
      const auto proven = (*emulation)->proveForwarding();
      if (!proven.ok()) return {VerifyOutcome::Verdict::kFailed, proven.error().message};
    }
    emulations.push_back(std::move(*emulation));
  }
  return verifyRuns(request, [&](const Tensors& tensors, int threads) -> Status {
    for (const auto& emulation : emulations) {
      const auto report = emulation->run(tensors, EmulationRun{threads});
      if (!report.ok()) return report.error();
    }
    return Unit{};
  });
}

}  // namespace cubejit
