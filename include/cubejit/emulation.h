// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the public face of emulating NPUs: a pass computed core by core through each core's own buffers, and what was counted on
// the way. Leaves plans to npu.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cubejit/core_counts.h"
#include "cubejit/export.h"
#include "cubejit/machine.h"
#include "cubejit/npu.h"
#include "cubejit/options.h"
#include "cubejit/plan.h"
#include "cubejit/problem.h"
#include "cubejit/result.h"
#include "cubejit/tensors.h"

namespace cubejit {

struct EmulationRequest {
  Problem problem;
  Pass pass = Pass::kDx;           ///< db is a sum by the vector units: it has no plan
  Machine machine;                 ///< an NPU: machineByName(), or the caller's own
  std::optional<TilingPlan> plan;  ///< of the caller's; unset: the planner's
  bool fast =
      false;  ///< moves from L1 to L0 go to the cube at once, where the program allows it: the same bits, counts and times
};

struct EmulationRun {
  int threads = 0;                    ///< 0: as the options say
  bool trace = false;                 ///< keep what every instruction of every core did, and when
  std::int64_t mostEvents = 1000000;  ///< ... of so many instructions; later tasks are left out
};

/// A pass made ready for a chip. run() may be called often, by one thread at a time; cores keep their memory between runs.
class Emulation {
 public:
  /// Plans and checks. Errors: the rules of problem, chip and plan, each with values and a fix; for buffers both byte counts and
  /// the field to change.
  CUBEJIT_API static Result<std::unique_ptr<Emulation>> create(const EmulationRequest& request,
                                                               const Options& options = {});
  CUBEJIT_API ~Emulation();
  Emulation(const Emulation&) = delete;
  Emulation& operator=(const Emulation&) = delete;

  CUBEJIT_API const TilingPlan& plan() const;
  /// Shows, for tasks with at least `most` multiplications where there are so many, that what `fast` leaves out changes no operand of any
  /// of them, and nothing that leaves the chip's buffers: both interpreters run both programs on elements told apart by their bits. Returns
  /// how many multiplications were compared; 0 without `fast`, and where nothing could be left out. Error: the first difference.
  CUBEJIT_API Result<std::int64_t> proveElision(std::int64_t most = 24) const;
  /// Computes the pass. Results and report are the same in every bit for any number of threads.
  CUBEJIT_API Result<EmulationReport> run(const Tensors& tensors, const EmulationRun& how = {});

 private:
  Emulation();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cubejit
