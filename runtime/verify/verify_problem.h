// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how one problem is verified: compile, run on guarded operands with several thread counts, compare with the reference.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "cubejit/machine.h"

namespace cubejit {

struct VerifyRequest {
  Problem problem;
  PassMask passes;
  std::vector<int> threads{1};
  std::uint64_t seed = 1;
  /// N(0,1)-like data with an error bound, instead of integers compared for equality where sums of them are exact: not in backward passes behind
  /// a leaky ReLU whose slope is no whole number of quarters.
  bool reals = false;
  std::vector<TilingPlan> plans;  ///< as in CompileRequest
  /// > 0: problems with more multiply-adds, or elements of a result, than this are compared on a sample that takes about as many.
  double sampleAbove = 0;
  WeightsUse weights = WeightsUse::kEachRun;  ///< kKept: packed once, and w is not there when passes are computed
  static constexpr std::int64_t kMostElements = 1 << 29;
  std::int64_t mostElements = kMostElements;  ///< of all tensors together; above that it is skipped, for want of memory
  bool readsPadding = false;                  ///< of operands' blocks, as a cube does: then it is zero, else NaN
};

struct VerifyOutcome {
  enum class Verdict { kPassed, kFailed, kSkipped } verdict = Verdict::kPassed;
  std::string message;                      ///< what differs, or why it was skipped
  std::int64_t elements = 0, compared = 0;  ///< of all results asked for; fewer are compared where a sample is
  double relativeError = 0;  ///< L2 norm of what differs from the reference by that of the result: the largest of all
  std::optional<ErrorCode> refused{};  ///< of kFailed: nothing was computed, for this reason
};

/// Compares every element of every result (or a sample, and that the others were written) with the fp64 reference, and the runs with different thread counts bit by bit.
VerifyOutcome verifyProblem(Session& session, const VerifyRequest& request);

/// The same for passes computed by the caller: `run` reads and writes tensors of the problem on so many threads.
using PassRun = std::function<Status(const Tensors& tensors, int threads)>;
VerifyOutcome verifyRuns(const VerifyRequest& request, const PassRun& run);

/// The same in a session for an emulated NPU. Skipped if the chip does not have the problem's type or limits.
VerifyOutcome verifyOnNpu(const Machine& chip, Options options, const VerifyRequest& request, bool elideCopies = false);

/// The smallest problem near `request.problem` that still fails (halving extents and channels, dropping features one by one).
/// `verify` is one of the above.
Problem shrinkFailure(const std::function<VerifyOutcome(const VerifyRequest&)>& verify, const VerifyRequest& request);
Problem shrinkFailure(Session& session, const VerifyRequest& request);

}  // namespace cubejit
