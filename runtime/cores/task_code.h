// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that programs of single shapes are generated once: when a core first asks for one, for all cores, launches and threads of the
// process. Leaves running them to kernel_core.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/lower_task.h"
#include "cubejit/cubejit.hpp"
#include "emulation/program_counts.h"
#include "runtime/exec/launch.h"

namespace cubejit {

/// A single shape's program, ready to run.
struct TaskCode {
  std::vector<TaskBlock> blocks;
  std::vector<std::vector<CoreInstruction>> instructions;  ///< of each block
  std::int64_t image = 0, other = 0;                       ///< as in CubeTaskProgram
  int l0c = -1;                                            ///< as in CubeTaskProgram
  /// If Options::sanitize: what the chip's program reads of buffers 0 and 1, from where they begin.
  std::array<std::vector<ByteRange>, 2> reads;
  std::shared_ptr<const Executable> executable;  ///< of one part, the program; null: nothing contributes to any block
};

/// What single shapes of the same extents have in common, and the programs that were made for them. Thread-safe.
class KernelJob {
 public:
  KernelJob(CubeJob job, const TaskTensors& tensors) : job_(std::move(job)), tensors_(tensors) {}

  const CubeJob& job() const { return job_; }
  const TaskTensors& tensors() const { return tensors_; }
  /// For the job's machine on the host's ISA. Of the options backend, elideCopies, sanitize and what profilers and debuggers are to be told are looked
  /// at. `allowed`: what the operands' values allow. Precondition: taskRules() finds nothing.
  Result<std::shared_ptr<const TaskCode>> codeOf(const CoreTask& task, const TaskPlace& place, const HostIsa& isa,
                                                 const Options& options, const CubeShortcuts& allowed);

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<const TaskCode> code;
  };
  const CubeJob job_;
  const TaskTensors tensors_;
  std::mutex mutex_;
  std::map<std::vector<std::int64_t>, std::shared_ptr<Slot>> codes_;
};

/// The job of a key, which says all that it depends on; `make` is called where there is none. The process keeps those that were asked for
/// last. Thread-safe.
Result<std::shared_ptr<KernelJob>> kernelJob(const std::string& key,
                                             const std::function<Result<std::pair<CubeJob, TaskTensors>>()>& make);

}  // namespace cubejit
