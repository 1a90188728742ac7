// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a failing problem is made smaller: one change at a time, kept while the problem stays legal and still fails.
#include <algorithm>
#include <chrono>

#include "runtime/verify/verify_problem.h"
#include "tiling/check_problem.h"

namespace cubejit {
namespace {

// The output extent that belongs to the input; output padding is kept for transposed problems where possible.
void refit(Problem& p, std::int64_t outputPadding, int a) {
  const std::int64_t reach = p.dilation[a] * (p.kernel[a] - 1);
  if (p.transposed) {
    const std::int64_t extra = std::min(outputPadding, std::max(p.stride[a], p.dilation[a]) - 1);
    p.out[a] = (p.in[a] - 1) * p.stride[a] - p.padBefore[a] - p.padAfter[a] + reach + extra + 1;
  } else {
    const std::int64_t room = p.in[a] + p.padBefore[a] + p.padAfter[a] - reach - 1;
    p.out[a] = room < 0 ? 0 : room / p.stride[a] + 1;
  }
}

std::vector<Problem> smallerProblems(const Problem& from) {
  std::vector<Problem> out;
  const auto propose = [&](auto change) {
    Problem p = from;
    change(p);
    for (int a = 0; a < 3; ++a) {
      const std::int64_t least = (from.in[a] - 1) * from.stride[a] - from.padBefore[a] - from.padAfter[a] +
                                 from.dilation[a] * (from.kernel[a] - 1) + 1;
      refit(p, from.out[a] - least, a);
    }
    if (p != from && checkProblem(p).ok()) out.push_back(p);
  };
  if (from.batch > 1) propose([](Problem& p) { p.batch = 1; });
  const std::int64_t ci = from.cin / from.groups, co = from.cout / from.groups;
  for (const std::int64_t groups : {std::int64_t{1}, from.groups / 2, from.groups - 1}) {
    if (groups >= 1 && groups < from.groups)
      propose([&](Problem& p) { p.groups = groups, p.cin = ci * groups, p.cout = co * groups; });
  }
  for (const std::int64_t c : {std::int64_t{1}, ci / 2, ci - 1}) {
    if (c >= 1 && c < ci) propose([&](Problem& p) { p.cin = c * p.groups; });
  }
  for (const std::int64_t c : {std::int64_t{1}, co / 2, co - 1}) {
    if (c >= 1 && c < co) propose([&](Problem& p) { p.cout = c * p.groups; });
  }
  for (int a = 0; a < 3; ++a) {
    propose([&](Problem& p) { p.padBefore[a] = p.padAfter[a] = 0; });
    propose([&](Problem& p) { p.dilation[a] = 1; });
    propose([&](Problem& p) { p.stride[a] = 1; });
    if (from.kernel[a] > 1) propose([&](Problem& p) { p.kernel[a] -= 1; });
    if (from.in[a] > 1) propose([&](Problem& p) { p.in[a] = (p.in[a] + 1) / 2; });
    if (from.in[a] > 1) propose([&](Problem& p) { p.in[a] -= 1; });
  }
  return out;
}

}  // namespace

Problem shrinkFailure(Session& session, const VerifyRequest& request) {
  return shrinkFailure([&](const VerifyRequest& attempt) { return verifyProblem(session, attempt); }, request);
}

Problem shrinkFailure(const std::function<VerifyOutcome(const VerifyRequest&)>& verify, const VerifyRequest& request) {
  VerifyRequest smallest = request;
  smallest.plans.clear();
  // Nobody waits longer for a smaller problem.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (int attempts = 0; attempts < 400;) {
    bool smaller = false;
    for (const Problem& candidate : smallerProblems(smallest.problem)) {
      if (std::chrono::steady_clock::now() > deadline) return smallest.problem;
      VerifyRequest attempt = smallest;
      attempt.problem = candidate;
      ++attempts;
      if (verify(attempt).verdict != VerifyOutcome::Verdict::kFailed) continue;
      smallest = attempt;
      smaller = true;
      break;
    }
    if (!smaller) break;
  }
  return smallest.problem;
}

}  // namespace cubejit
