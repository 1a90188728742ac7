// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the worker's loop.
#include "runtime/tuning/serve_lab.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <string>

#include "runtime/tuning/json_lab.h"
#include "runtime/tuning/local_lab.h"
#include "tiling/no_throw.h"

namespace cubejit {
namespace {

using Kind = LabQuestion::Kind;

bool readLine(int from, std::string& unread, std::string& line) {
  for (;;) {
    const std::size_t end = unread.find('\n');
    if (end != std::string::npos) {
      line = unread.substr(0, end);
      unread.erase(0, end + 1);
      return true;
    }
    std::array<char, 65536> bytes{};
    const ssize_t n = read(from, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    unread.append(bytes.data(), static_cast<std::size_t>(n));
  }
}

bool writeAll(int to, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = write(to, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

Result<LabReply> answer(std::unique_ptr<LocalLab>& lab, const LabQuestion& question) {
  if (question.kind == Kind::kOpen) {
    lab.reset();
    CUBEJIT_TRY(opened, LocalLab::open(question.task, question.turnFile));
    lab = std::move(opened);
    return LabReply{};
  }
  if (lab == nullptr) return LabReply{TrialStatus::kFailed, "nothing was opened", {}, {}};
  switch (question.kind) {
    case Kind::kLoad: return lab->load(question.numbers.front(), question.plan);
    case Kind::kVerify: return lab->verify(question.numbers.front());
    case Kind::kSample: return lab->sample(question.numbers, question.rounds);
    default: lab->drop(question.numbers.front()); return LabReply{};
  }
}

}  // namespace

bool serveLab(int from, int to) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit noCore{0, 0};
  setrlimit(RLIMIT_CORE, &noCore);  // crashing is part of the job
  std::unique_ptr<LocalLab> lab;
  std::string unread, line;
  while (readLine(from, unread, line)) {
    const auto question = questionFromJson(line);
    if (!question.ok()) return false;
    const auto reply = withoutThrowing(Stage::kRun, [&] { return answer(lab, *question); });
    const LabReply out = reply.ok() ? *reply : LabReply{TrialStatus::kFailed, reply.error().message, {}, {}};
    if (!writeAll(to, replyToJson(out) + "\n")) return true;
  }
  return true;
}

}  // namespace cubejit
