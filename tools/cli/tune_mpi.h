// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a tuning run is shared among the ranks of mpirun: rank 0 deals out one task at a time and collects every record.
// Leaves tuning a task to tune_run. Built with OpenMPI if CMake finds it; without, joining is an error.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cubejit/result.h"
#include "tune_run.h"

namespace cubejit::cli {

class MpiWorld {
 public:
  /// Before threads are started. kUnsupported if this program was built without MPI.
  static Result<std::unique_ptr<MpiWorld>> join();
  ~MpiWorld();
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  int rank() const;
  int size() const;

  /// Tunes `tasks` tasks together: tuneOne(index, tasksLeft) is called on whichever rank has time. Every rank keeps its records
  /// in the store of its host; rank 0 gets them all. The task of a rank that died is dealt out again. Returns an exit code.
  int share(int tasks, const std::function<void(int index, int left)>& tuneOne, TuneRun& run, RecordKeeper& keeper,
            const std::function<bool()>& stop, const std::function<void(const std::string&)>& tell);

  /// The last call: ends the process with `code` if a rank died (MPI cannot be left in good order then), else returns.
  void leave(int code);

 private:
  struct State;
  explicit MpiWorld(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cubejit::cli
