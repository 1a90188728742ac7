// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is compared: all results side by side, as words.
#include "runtime/verify/agree.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "runtime/verify/random_problem.h"

namespace cubejit {
namespace {

using Verdict = VerifyOutcome::Verdict;

struct Free {
  void operator()(void* p) const { std::free(p); }
};

struct Operands {
  std::vector<float> dy, x, w;
};

// dx, dw and db, one behind the other; those not asked for stay as they were.
Result<std::vector<float>> resultsOf(Session& session, const VerifyRequest& request, const Operands& operands) {
  const Problem& p = request.problem;
  CUBEJIT_TRY(executable, session.compile(CompileRequest{p, request.gradients, request.plans}));
  const auto dxCount = static_cast<std::size_t>(xElements(p)), dwCount = static_cast<std::size_t>(wElements(p)),
             dbCount = static_cast<std::size_t>(bElements(p));
  std::vector<float> out(dxCount + dwCount + dbCount, -1.0F);
  const int threads = request.threads.front();
  const std::size_t bytes = executable->workspaceBytes(threads);
  const std::unique_ptr<void, Free> workspace(std::aligned_alloc(64, bytes / 64 * 64 + 64));
  CUBEJIT_TRY(done, executable->run(Tensors{operands.dy.data(), operands.x.data(), operands.w.data(), out.data(),
                                            out.data() + dxCount, out.data() + dxCount + dwCount},
                                    workspace.get(), bytes, threads));
  static_cast<void>(done);
  return out;
}

std::string textOf(float value) {
  char text[48];
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  std::snprintf(text, sizeof text, "%.9g (0x%08x)", static_cast<double>(value), bits);
  return text;
}

}  // namespace

std::vector<std::unique_ptr<Session>> sessionsFor(Options options, const std::vector<BackendKind>& backends) {
  std::vector<std::unique_ptr<Session>> sessions;
  for (const BackendKind backend : backends) {
    options.backend = backend;
    sessions.push_back(std::make_unique<Session>(options));
  }
  return sessions;
}

VerifyOutcome agreeBitByBit(const std::vector<std::unique_ptr<Session>>& sessions, const VerifyRequest& request) {
  const Problem& p = request.problem;
  std::mt19937_64 random(request.seed);
  const Operands operands{randomReals(random, yElements(p)), randomReals(random, xElements(p)),
                          randomReals(random, wElements(p))};
  std::vector<float> want;
  for (const auto& session : sessions) {
    const Result<std::vector<float>> got = resultsOf(*session, request, operands);
    const std::string name = toString(session->options().backend);
    if (!got.ok()) return {Verdict::kFailed, name + ": " + got.error().message};
    if (want.empty()) want = *got;
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (std::memcmp(&want[i], &(*got)[i], 4) == 0) continue;
      return {Verdict::kFailed, "element " + std::to_string(i) + " of dx, dw, db is " + textOf((*got)[i]) + " by " +
                                    name + ", " + textOf(want[i]) + " by " +
                                    toString(sessions.front()->options().backend)};
    }
  }
  return {};
}

}  // namespace cubejit
