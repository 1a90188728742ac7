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
#include "runtime/verify/sampled_gradient.h"

namespace cubejit {
namespace {

using Verdict = VerifyOutcome::Verdict;

// One gradient: elements in all, those whose value is known, and what the run gave.
struct Side {
  const char* name;
  std::size_t elements;
  const std::vector<SampledElement>& want;
  const float* got;
};

std::vector<SampledElement> everyElement(const std::vector<double>& values, const std::vector<double>& bounds) {
  std::vector<SampledElement> all(values.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = {i, values[i], bounds[i]};
  return all;
}

double summandsOf(const Problem& p) {
  const double taps = static_cast<double>(p.kernel.volume());
  const double pixels = static_cast<double>(p.batch) * static_cast<double>(std::max(p.out.volume(), p.in.volume()));
  return std::max({taps * static_cast<double>(std::max(p.cout, p.cin)) / static_cast<double>(p.groups), pixels, 1.0});
}

// First element that differs more than it may, or that nobody wrote; empty if there is none.
std::string compare(const Side& side, bool reals, double summands) {
  for (std::size_t i = 0; i < side.elements; ++i) {
    if (std::isnan(side.got[i]))
      return std::string(side.name) + ": element [" + std::to_string(i) + "] is NaN or was not written";
  }
  std::size_t wrong = 0;
  const SampledElement* first = nullptr;
  for (const SampledElement& want : side.want) {
    const double allowed = reals ? summands * std::ldexp(1.0, -24) * want.bound + 1e-30 : 0.0;
    if (std::fabs(static_cast<double>(side.got[want.index]) - want.value) <= allowed) continue;
    if (wrong++ == 0) first = &want;
  }
  if (wrong == 0) return {};
  return std::string(side.name) + ": " + std::to_string(wrong) + " of " + std::to_string(side.want.size()) +
         " elements differ, first [" + std::to_string(first->index) + "] got " +
         std::to_string(side.got[first->index]) + " want " + std::to_string(first->value);
}

// Elements of all tensors together that operands, copies and results have room for.
constexpr std::int64_t kElementLimit = std::int64_t{1} << 29;

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
  const std::int64_t total = xElements(p) + yElements(p) + wElements(p);
  if (total > kElementLimit) {
    return {Verdict::kSkipped, "tensors of " + std::to_string(total) + " elements are more than the " +
                                   std::to_string(kElementLimit) + " that are verified"};
  }
  std::mt19937_64 random(request.seed);
  const double summands = summandsOf(p);
  const auto data = [&](std::int64_t count) {
    return request.reals ? randomReals(random, count) : randomIntegers(random, count, summands);
  };
  const std::vector<float> dy = data(yElements(p)), x = data(xElements(p)), w = data(wElements(p));
  constexpr Gradient kGradients[3] = {Gradient::kDx, Gradient::kDw, Gradient::kDb};
  const std::int64_t sizes[3] = {xElements(p), wElements(p), bElements(p)};
  std::vector<SampledElement> want[3];
  if (request.sampleAbove > 0 && insideMultiplyAdds(p) > request.sampleAbove) {
    for (std::size_t i = 0; i < 3; ++i) {
      if (!request.gradients.has(kGradients[i])) continue;
      want[i] = sampledGradient(p, kGradients[i], request.sampleAbove, request.seed, dy, x, w);
    }
  } else {
    const ReferenceGradients r = referenceGradients(p, request.gradients, dy, x, w);
    want[0] = everyElement(r.dx, r.dxBound);
    want[1] = everyElement(r.dw, r.dwBound);
    want[2] = everyElement(r.db, r.dbBound);
  }

  const auto guarded = [](const std::vector<float>& values) {
    auto buffer = std::make_unique<GuardedBuffer>(values.size() * 4);
    if (buffer->data() != nullptr && !values.empty()) std::memcpy(buffer->data(), values.data(), values.size() * 4);
    return buffer;
  };
  const auto gdy = guarded(dy), gx = guarded(x), gw = guarded(w);
  std::vector<float> before[3];
  for (std::size_t run = 0; run < request.threads.size(); ++run) {
    // Results start as NaN: an element nobody writes is found.
    std::unique_ptr<GuardedBuffer> results[3];
    std::size_t elements[3];
    for (std::size_t i = 0; i < 3; ++i) {
      elements[i] = request.gradients.has(kGradients[i]) ? static_cast<std::size_t>(sizes[i]) : 0;
      results[i] = guarded(std::vector<float>(elements[i], NAN));
    }
    const Tensors tensors{gdy->data(),        gx->data(),         gw->data(),
                          results[0]->data(), results[1]->data(), results[2]->data()};
    const int threads = request.threads[run];
    const std::size_t bytes = executable.workspaceBytes(threads);
    const std::unique_ptr<char, AlignedDelete> workspace(
        static_cast<char*>(std::aligned_alloc(64, (bytes + 127) / 64 * 64)));
    std::memset(workspace.get(), 0xff, bytes);  // NaN as well
    const Status status = executable.run(tensors, workspace.get(), bytes, threads);
    if (!status.ok()) return {Verdict::kFailed, status.error().message};
    for (std::size_t i = 0; i < 3; ++i) {
      const Side side{toString(kGradients[i]), elements[i], want[i], results[i]->data()};
      const std::string difference = compare(side, request.reals, summands);
      if (!difference.empty()) return {Verdict::kFailed, difference + " (" + std::to_string(threads) + " threads)"};
      std::vector<float> now(side.got, side.got + side.elements);
      if (run > 0 && !now.empty() && std::memcmp(now.data(), before[i].data(), now.size() * 4) != 0) {
        return {Verdict::kFailed, std::string(side.name) + " differs in bits between " +
                                      std::to_string(request.threads[run - 1]) + " and " + std::to_string(threads) +
                                      " threads"};
      }
      before[i] = std::move(now);
    }
  }
  return {};
}

}  // namespace cubejit
