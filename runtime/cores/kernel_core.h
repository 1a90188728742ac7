// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the face of an emulated core that a kernel drives, call by call: it computes one base block of a single shape after the other
// in its L0C, in the order of the tiling, and brings a block to memory when told to. Both are phases of the single shape's program
// (algorithms/lower_task.h). Leaves what may be touched, and ways out that units do not have, to the kernel's classes.
//
//   auto job = *kernelJob(key, make);
//   KernelCore core(options, 0);
//   core.begin(job, operands, task);
//   while (*core.iterate()) core.store(pitches, rows, columns, to);
//
// A core is used by one thread at a time; different cores are independent. Messages of errors name the rule that is broken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "cubejit/core_counts.h"
#include "cubejit/options.h"
#include "cubejit/result.h"
#include "runtime/cores/task_code.h"

namespace cubejit {

/// A tensor that a single shape reads.
struct TaskOperand {
  const std::byte* data = nullptr;  ///< where element 0 of its map lies, or would
  const std::byte* read = nullptr;  ///< [read, read + bytes): all that is read of it
  std::int64_t bytes = 0;
};
struct TaskOperands {
  TaskOperand dy, other;  ///< other: w of dX, x of dW
};

class KernelCore {
 public:
  /// A core of options.machine; `index`: which one. Of the others isa, backend, elideCopies and sanitize are looked at. Precondition: it is an NPU.
  KernelCore(const Options& options, int index);
  ~KernelCore();
  KernelCore(const KernelCore&) = delete;
  KernelCore& operator=(const KernelCore&) = delete;

  int index() const;
  /// Starts a single shape. Errors: a task that breaks rules (algorithms/cube/task_rules.h); those of generating its program; no memory for the
  /// core's buffers.
  Status begin(std::shared_ptr<KernelJob> job, const TaskOperands& operands, const CoreTask& task);
  /// Computes the next base block. False when there is none: then, and only then, another begin() or an iterate() that returns false
  /// follows. L0C holds the block until the next iterate().
  Result<bool> iterate();
  /// The block computed last. Precondition: iterate() returned true.
  const CubeBlock& block() const;
  /// Sum at (m, n) of that block, in L0C; 0 of a skipped block. Precondition: m < block().m, n < block().n.
  float sum(std::int64_t m, std::int64_t n) const;
  /// Moves that block to memory, or adds it, converting it on the way; false, and nothing has happened, if the job's program writes other
  /// elements, elsewhere, or otherwise. `to`: where the block's first element goes.
  bool store(const BlockPitches& pitches, std::int64_t rows, std::int64_t columns, void* to);
  /// Calls visit(begin, bytes) for all that the single shape reads of a tensor, `dy` or the other one: ascending, every byte once.
  /// Precondition: begin() succeeded,
  /// of a core whose options sanitize.
  void eachRead(bool dy, const std::function<void(const std::byte* begin, std::int64_t bytes)>& visit);
  /// Runs `add` while no core of the process adds to memory.
  static void addAlone(const std::function<void()>& add);
  /// Counts that so many elements of that block have left L0C, whoever moved them.
  void wrote(std::int64_t elements, DType type);

  /// Ends the task, returns all that was counted since the last take (or since the core was made) and starts from zero.
  CoreCounts takeCounts();
  /// Keep a line for each instruction of a task from now on, or no longer; and the lines of the task that began last.
  void keepEvents(bool keep);
  const std::vector<TraceEvent>& events() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cubejit
