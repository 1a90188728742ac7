// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a program built without MPI says when it is asked to share its work.
#include "tune_mpi.h"

namespace cubejit::cli {

struct MpiWorld::State {};

Result<std::unique_ptr<MpiWorld>> MpiWorld::join() {
  return Error{ErrorCode::kUnsupported, Stage::kRun,
               "--mpi: this program was built without MPI; install libopenmpi-dev and build again"};
}

MpiWorld::MpiWorld(std::unique_ptr<State> state) : state_(std::move(state)) {}
MpiWorld::~MpiWorld() = default;
int MpiWorld::rank() const { return 0; }
int MpiWorld::size() const { return 1; }
int MpiWorld::share(int, const std::function<void(int, int)>&, TuneRun&, RecordKeeper&, const std::function<bool()>&,
                    const std::function<void(const std::string&)>&) {
  return 0;
}
void MpiWorld::leave(int) {}

}  // namespace cubejit::cli
