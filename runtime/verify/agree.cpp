// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is compared: the memory of each result, byte by byte.
#include "runtime/verify/agree.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>

#include "cubejit/index_map.h"
#include "runtime/host/aligned_memory.h"
#include "runtime/verify/format_tensor.h"
#include "runtime/verify/random_problem.h"

namespace cubejit {
namespace {

using Verdict = VerifyOutcome::Verdict;
using Bytes = std::vector<char>;

constexpr TensorId kOperands[] = {TensorId::kDy, TensorId::kX, TensorId::kW, TensorId::kB, TensorId::kZ, TensorId::kY};
using Operands = std::array<std::vector<char>, std::size(kOperands)>;
constexpr std::array<TensorId, 4> kResults{TensorId::kDx, TensorId::kDw, TensorId::kDb, TensorId::kY};
using Results = std::array<Bytes, kResults.size()>;

Bytes operandOf(const Problem& p, TensorId t, bool readsPadding, std::mt19937_64& random) {
  Bytes memory(static_cast<std::size_t>(formatBytes(p, t)));
  encodeTensor(p, t, randomReals(random, plainElements(p, t)), memory.data(), unusedIn(p, t, readsPadding));
  return memory;
}

// Those not asked for stay as they were.
Result<Results> resultsOf(Session& session, const VerifyRequest& request, const Operands& operands) {
  const Problem& p = request.problem;
  CUBEJIT_TRY(executable, session.compile(CompileRequest{p, request.passes, request.plans}));
  Results out;
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i].resize(static_cast<std::size_t>(formatBytes(p, kResults[i])), '\x55');
  if (passesRead(p, request.passes, TensorId::kY)) out[3] = operands[5];
  const int threads = request.threads.front();
  const std::size_t bytes = executable->workspaceBytes(threads);
  const AlignedMemory workspace = alignedMemory(bytes);
  CUBEJIT_RETURN_IF_ERROR(
      executable->run(Tensors{operands[0].data(), operands[1].data(), operands[2].data(), out[0].data(), out[1].data(),
                              out[2].data(), nullptr, out[3].data(), operands[3].data(), operands[4].data()},
                      workspace.get(), bytes, threads));
  return out;
}

// The bits of the element at a byte, most significant first.
std::string bitsAt(const Bytes& memory, std::size_t begin, std::size_t size) {
  std::string text = "0x";
  for (std::size_t i = size; i-- > 0;) {
    char digits[4];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(static_cast<unsigned char>(memory[begin + i])));
    text += digits;
  }
  return text;
}

std::string difference(const Problem& p, TensorId t, const Bytes& want, const Bytes& got) {
  const auto size = static_cast<std::size_t>(byteSize(formatOf(p, t).dtype));
  for (std::size_t at = 0; at + size <= want.size(); at += size) {
    if (std::memcmp(&want[at], &got[at], size) != 0)
      return std::string(toString(t)) + ": element " + std::to_string(at / size) + " is " + bitsAt(got, at, size) +
             ", not " + bitsAt(want, at, size);
  }
  return {};
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
  std::mt19937_64 random(request.seed);
  Operands operands;
  Results want;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (i > 2 && !passesRead(request.problem, request.passes, kOperands[i])) continue;
    operands[i] = operandOf(request.problem, kOperands[i], sessions.front()->machine().isEmulated(), random);
  }
  for (const auto& session : sessions) {
    auto got = resultsOf(*session, request, operands);
    const std::string name = toString(session->options().backend);
    if (!got.ok()) {  // an algorithm that was asked for need not take every problem
      const bool chip = session->machine().isEmulated() && request.plans.empty();
      const bool other =
          (got.error().code == ErrorCode::kUnsupported && chip) ||
          (got.error().code == ErrorCode::kNoFeasiblePlan && (chip || !session->options().algorithm.empty()));
      return {other ? Verdict::kSkipped : Verdict::kFailed, name + ": " + got.error().message};
    }
    if (session == sessions.front()) want = *got;
    for (std::size_t i = 0; i < want.size(); ++i) {
      const std::string text = difference(request.problem, kResults[i], want[i], (*got)[i]);
      if (text.empty()) continue;
      return {Verdict::kFailed,
              text + " (by " + name + ", and by " + toString(sessions.front()->options().backend) + ")"};
    }
  }
  return {};
}

}  // namespace cubejit
