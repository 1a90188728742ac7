// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the life of a worker: own process group (a terminal's Ctrl-C is the tuner's to handle), dies with its parent, is
// killed when it does not answer, and is replaced when it is lost.
#include "runtime/tuning/child_lab.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

extern char** environ;

namespace cubejit {
namespace {

using Kind = LabQuestion::Kind;

bool sendAll(int to, const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t n = send(to, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

std::string describeEnd(int status) {
  if (WIFSIGNALED(status)) {
    const char* name = sigabbrev_np(WTERMSIG(status));
    return std::string("ended by signal ") + (name == nullptr ? "?" : "SIG") + (name == nullptr ? "" : name);
  }
  return "ended with code " + std::to_string(WEXITSTATUS(status));
}

// How a child ends that answers no more. One that hangs, or was stopped, on its way out is not waited for long; one that ends with 0 was not
// brought down by a plan, it had nobody to speak to, and with 4 `cubejit` says that it had no resources.
LabReply endOf(pid_t child) {
  constexpr int kMostWaits = 200;
  int status = 0;
  pid_t ended = 0;
  for (int i = 0; i < kMostWaits && ended == 0; ++i) {
    ended = waitpid(child, &status, WNOHANG);
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  kill(-child, SIGKILL);
  while (ended == 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const std::string how = ended != 0 ? describeEnd(status) : "closed its connection and did not end";
  const bool clean = ended != 0 && WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 4);
  return {clean ? TrialStatus::kFailed : TrialStatus::kCrashed, "the worker process " + how, {}, {}};
}

}  // namespace

ChildLab::ChildLab(const LabTask& task, std::string turnFile, WorkerHow how)
    : task_(task), turnFile_(std::move(turnFile)), how_(std::move(how)) {}

ChildLab::~ChildLab() { stop(); }

Result<std::unique_ptr<ChildLab>> ChildLab::open(const LabTask& task, const std::string& turnFile,
                                                 const WorkerHow& how) {
  std::unique_ptr<ChildLab> lab(new ChildLab(task, turnFile, how));
  CUBEJIT_RETURN_IF_ERROR(lab->start());
  return lab;
}

Status ChildLab::start() {
  const auto failed = [](const std::string& what, int error) {
    return Error{ErrorCode::kLimitExceeded, Stage::kRun, what + ": " + std::strerror(error)};
  };
  // A socket pair rather than pipes: writing to a worker that is gone gives an error, not a signal.
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return failed("cannot speak to a worker", errno);
  FileDescriptor ours(ends[0]);
  FileDescriptor theirs(ends[1]);
  std::vector<char*> arguments;
  for (std::string& word : how_.command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), 1);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = -1;
  const int error = posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  static_cast<void>(theirs.close());  // or a worker's end would not be seen
  if (error != 0) return failed("cannot start the worker " + how_.command.front(), error);
  child_ = child;
  socket_ = std::move(ours);
  unread_.clear();
  LabQuestion question;
  question.task = task_;
  question.turnFile = turnFile_;
  const LabReply reply = exchange(question);
  if (reply.ok()) return Unit{};
  stop();
  return Error{ErrorCode::kLimitExceeded, Stage::kRun, reply.message};
}

void ChildLab::stop() {
  if (child_ < 0) return;
  static_cast<void>(socket_.close());
  kill(static_cast<pid_t>(-child_), SIGKILL);  // the group: a worker may be a script around the real one
  while (waitpid(static_cast<pid_t>(child_), nullptr, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
}

LabReply ChildLab::exchange(const LabQuestion& question) {
  using Clock = std::chrono::steady_clock;
  const auto lost = [&](TrialStatus status, const std::string& why) { return LabReply{status, why, {}, {}}; };
  const auto crashed = [&] {
    static_cast<void>(socket_.close());
    const LabReply end = endOf(static_cast<pid_t>(child_));
    child_ = -1;
    return end;
  };
  if (!sendAll(socket_.get(), questionToJson(question) + "\n")) return crashed();
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(how_.timeoutSeconds));
  for (;;) {
    const std::size_t end = unread_.find('\n');
    if (end != std::string::npos) {
      const auto reply = replyFromJson(unread_.substr(0, end));
      unread_.erase(0, end + 1);
      return reply.ok() ? *reply : lost(TrialStatus::kFailed, reply.error().message);
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd wait{socket_.get(), POLLIN, 0};
    const int ready = left > 0 ? poll(&wait, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      stop();
      return lost(TrialStatus::kTimedOut,
                  "no answer within " + std::to_string(static_cast<long>(how_.timeoutSeconds * 1000)) + " ms");
    }
    std::array<char, 65536> bytes{};
    const ssize_t n = read(socket_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != ECONNRESET) {
      const std::string why = std::strerror(errno);
      stop();
      return lost(TrialStatus::kFailed, "cannot read what the worker process answers: " + why);
    }
    if (n <= 0) return crashed();
    unread_.append(bytes.data(), static_cast<std::size_t>(n));
  }
}

Status ChildLab::recover(int lost) {
  wanted_.erase(lost);
  CUBEJIT_RETURN_IF_ERROR(start());
  for (const auto& [number, plan] : wanted_) {
    LabQuestion again;
    again.kind = Kind::kLoad;
    again.numbers = {number};
    again.plan = plan;
    const LabReply reply = exchange(again);
    if (!reply.ok()) return Error{ErrorCode::kLimitExceeded, Stage::kRun, reply.message};
  }
  return Unit{};
}

// The last plan of a question is the one in doubt: those before it have run many times.
LabReply ChildLab::ask(const LabQuestion& question) {
  if (child_ < 0) {
    const Status back = recover(question.numbers.back());
    if (!back.ok()) return {TrialStatus::kFailed, back.error().message, {}, {}};
    if (question.kind != Kind::kLoad) return {TrialStatus::kFailed, "the plan was lost with its worker", {}, {}};
  }
  LabReply reply = exchange(question);
  if (child_ < 0) {
    const Status back = recover(question.numbers.back());
    if (!back.ok()) reply.message += "; " + back.error().message;
  }
  return reply;
}

LabReply ChildLab::load(int number, const TilingPlan& plan) {
  LabQuestion question;
  question.kind = Kind::kLoad;
  question.numbers = {number};
  question.plan = plan;
  const LabReply reply = ask(question);
  if (reply.ok()) wanted_[number] = plan;
  return reply;
}

LabReply ChildLab::verify(int number) {
  LabQuestion question;
  question.kind = Kind::kVerify;
  question.numbers = {number};
  return ask(question);
}

LabReply ChildLab::sample(const std::vector<int>& numbers, int rounds) {
  LabQuestion question;
  question.kind = Kind::kSample;
  question.numbers = numbers;
  question.rounds = rounds;
  return ask(question);
}

LabReply ChildLab::renew() {
  constexpr int kNone = -1;
  stop();
  const Status back = recover(kNone);
  return back.ok() ? LabReply{} : LabReply{TrialStatus::kFailed, back.error().message, {}, {}};
}

void ChildLab::drop(int number) {
  wanted_.erase(number);
  if (child_ < 0) return;
  LabQuestion question;
  question.kind = Kind::kDrop;
  question.numbers = {number};
  static_cast<void>(exchange(question));
}

}  // namespace cubejit
