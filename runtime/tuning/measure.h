// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides on which data and memory passes are timed. Leaves how often, and what the times mean, to bench and to tuning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cubejit/cubejit.hpp"

namespace cubejit {

/// Tensors of one problem filled with real-looking data, and a workspace that grows as executables need it. Executables of the
/// same problem and pass that are timed on one workload read and write the same memory.
class Workload {
 public:
  /// kLimitExceeded if there is no memory for the tensors.
  static Result<std::unique_ptr<Workload>> create(const Problem& problem, PassMask passes);
  ~Workload();
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  /// Runs once and returns how long it took, in nanoseconds, at least 1. The run counts as a sample only after one before it.
  Result<std::int64_t> run(const Executable& executable);

  /// A digest of the bits of the pass' result, as the last run left it.
  std::string resultDigest(Pass pass) const;

  /// From now on runs read weights that this executable packed, instead of w.
  Status keepWeights(const Executable& executable);

 private:
  class Memory;
  explicit Workload(const Problem& problem);
  Problem problem_;
  std::vector<std::unique_ptr<Memory>> tensors_;  ///< dy, x, w, dx, dw, db; empty where a pass does not need it
  std::unique_ptr<Memory> workspace_, packed_;
};

}  // namespace cubejit
