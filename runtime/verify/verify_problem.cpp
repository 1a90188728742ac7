// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides verdicts.
#include "runtime/verify/verify_problem.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "runtime/verify/guarded_buffer.h"
#include "runtime/verify/random_problem.h"
#include "runtime/verify/reference_conv.h"

namespace cubejit {
namespace {

using Verdict = VerifyOutcome::Verdict;

struct Side {
  const char* name;
  const std::vector<double>& want;
  const std::vector<double>& bound;
  const float* got;
};

double summandsOf(const Problem& p) {
  const double taps = static_cast<double>(p.kernel.volume());
  const double pixels = static_cast<double>(p.batch) * static_cast<double>(std::max(p.out.volume(), p.in.volume()));
  return std::max({taps * static_cast<double>(std::max(p.cout, p.cin)) / static_cast<double>(p.groups), pixels, 1.0});
}

// First element that differs more than it may; empty if none does.
std::string compare(const Side& side, bool reals, double summands) {
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < side.want.size(); ++i) {
    const double got = static_cast<double>(side.got[i]), want = side.want[i];
    const double allowed = reals ? summands * std::ldexp(1.0, -24) * side.bound[i] + 1e-30 : 0.0;
    if (std::fabs(got - want) <= allowed) continue;  // false for NaN
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return {};
  return std::string(side.name) + ": " + std::to_string(wrong) + " of " + std::to_string(side.want.size()) +
         " elements differ, first [" + std::to_string(first) + "] got " + std::to_string(side.got[first]) + " want " +
         std::to_string(side.want[first]);
}

struct AlignedDelete {
  void operator()(char* p) const { std::free(p); }
};

}  // namespace

VerifyOutcome verifyProblem(Session& session, const VerifyRequest& request) {
  const Problem& p = request.problem;
  Result<std::shared_ptr<const Executable>> compiled =
      request.plans.empty() ? session.compile(p, request.gradients)
                            : session.compile(CompileRequest{p, request.gradients, request.plans});
  if (!compiled.ok()) {
    const bool unsupported = compiled.error().code == ErrorCode::kUnsupported;
    return {unsupported ? Verdict::kSkipped : Verdict::kFailed, compiled.error().message};
  }
  const Executable& executable = **compiled;
  std::mt19937_64 random(request.seed);
  const double summands = summandsOf(p);
  const auto data = [&](std::int64_t count) {
    return request.reals ? randomReals(random, count) : randomIntegers(random, count, summands);
  };
  const std::vector<float> dy = data(yElements(p)), x = data(xElements(p)), w = data(wElements(p));
  const ReferenceGradients want = referenceGradients(p, request.gradients, dy, x, w);

  const auto guarded = [](const std::vector<float>& values) {
    auto buffer = std::make_unique<GuardedBuffer>(values.size() * 4);
    if (buffer->data() != nullptr && !values.empty()) std::memcpy(buffer->data(), values.data(), values.size() * 4);
    return buffer;
  };
  const auto gdy = guarded(dy), gx = guarded(x), gw = guarded(w);
  std::vector<float> before[3];
  for (std::size_t run = 0; run < request.threads.size(); ++run) {
    // Results start as NaN: an element nobody writes is found.
    const std::vector<float> nan[3] = {std::vector<float>(want.dx.size(), NAN), std::vector<float>(want.dw.size(), NAN),
                                       std::vector<float>(want.db.size(), NAN)};
    const auto dx = guarded(nan[0]), dw = guarded(nan[1]), db = guarded(nan[2]);
    const Tensors tensors{gdy->data(), gx->data(), gw->data(), dx->data(), dw->data(), db->data()};
    const int threads = request.threads[run];
    const std::size_t bytes = executable.workspaceBytes(threads);
    const std::unique_ptr<char, AlignedDelete> workspace(
        static_cast<char*>(std::aligned_alloc(64, (bytes + 127) / 64 * 64)));
    std::memset(workspace.get(), 0xff, bytes);  // NaN as well
    const Status status = executable.run(tensors, workspace.get(), bytes, threads);
    if (!status.ok()) return {Verdict::kFailed, status.error().message};
    const float* got[3] = {dx->data(), dw->data(), db->data()};
    const Side sides[3] = {{"dx", want.dx, want.dxBound, got[0]},
                           {"dw", want.dw, want.dwBound, got[1]},
                           {"db", want.db, want.dbBound, got[2]}};
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string difference = compare(sides[i], request.reals, summands);
      if (!difference.empty()) return {Verdict::kFailed, difference + " (" + std::to_string(threads) + " threads)"};
      std::vector<float> now(got[i], got[i] + sides[i].want.size());
      if (run > 0 && !now.empty() && std::memcmp(now.data(), before[i].data(), now.size() * 4) != 0) {
        return {Verdict::kFailed, std::string(sides[i].name) + " differs in bits between " +
                                      std::to_string(request.threads[run - 1]) + " and " + std::to_string(threads) +
                                      " threads"};
      }
      before[i] = std::move(now);
    }
  }
  return {};
}

}  // namespace cubejit
