// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how often a sample repeats a short run, and what a digest covers.
#include "runtime/tuning/local_lab.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "runtime/host/file_descriptor.h"
#include "runtime/pipeline/compile.h"
#include "runtime/tuning/digest.h"
#include "runtime/tuning/lab_verdict.h"
#include "tiling/no_throw.h"

namespace cubejit {
namespace {

// A sample shorter than this is mostly timer and wake-up noise: short runs are repeated until one lasts that long.
constexpr std::int64_t kSampleNs = 300000;
constexpr std::int64_t kMostRepeats = 64;
// The reference compares every element up to this many multiply-adds, above it a sample that costs about as much.

class Turn {
 public:
  explicit Turn(const std::string& path) {
    if (!path.empty()) file_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    // Whoever keeps the lock for that long is not measuring.
    for (int wait = 0; file_ && wait < kMostWaits && flock(file_.get(), LOCK_EX | LOCK_NB) != 0; ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }

 private:
  static constexpr int kMostWaits = 5000;
  FileDescriptor file_;
};

LabReply refusal(const Error& error) {
  const bool resource = isOutOfMemory(error) || (error.code == ErrorCode::kLimitExceeded &&
                                                 (error.stage == Stage::kRun || error.stage == Stage::kLoad));
  return LabReply{resource ? TrialStatus::kFailed : TrialStatus::kRefused, error.message, {}, {}};
}

}  // namespace

std::string codeDigest(const Executable& executable, Pass pass) {
  Digest digest;
  const std::string program = executable.tileProgram(pass);
  digest.add(program.data(), program.size());
  for (const KernelView& kernel : executable.kernels()) {
    if (kernel.pass == pass) digest.add(kernel.bytes.data(), kernel.bytes.size());
  }
  return digest.text();
}

Result<std::unique_ptr<LocalLab>> LocalLab::open(const LabTask& task, const std::string& turnFile) {
  Options options;
  CUBEJIT_TRY(isa, parseIsa(task.isa));
  CUBEJIT_TRY(backend, parseBackend(task.backend));
  options.isa = isa;
  options.backend = backend;
  options.threads = task.threads;
  options.pinThreads = true;
  options.llvmComponent = task.llvmComponent;
  options.machine = task.machine;
  options.elideCopies = task.elideCopies;
  std::unique_ptr<LocalLab> lab(new LocalLab(task, options, turnFile));
  CUBEJIT_TRY(workload, Workload::create(task.problem, lab->mask()));
  lab->workload_ = std::move(workload);
  return lab;
}

LocalLab::LocalLab(const LabTask& task, const Options& options, std::string turnFile)
    : task_(task), turnFile_(std::move(turnFile)), session_(options) {}
LocalLab::~LocalLab() = default;

PassMask LocalLab::mask() const { return maskOf(task_.pass); }

LabReply LocalLab::load(int number, const TilingPlan& plan) {
  if (plan.pass != task_.pass) return {TrialStatus::kRefused, "the plan is for another pass", {}, {}};
  const auto compiled = session_.compile(CompileRequest{task_.problem, mask(), {plan}});
  if (!compiled.ok()) return refusal(compiled.error());
  Loaded loaded{*compiled, plan, 0};
  const auto once = workload_->run(*loaded.executable);
  if (!once.ok()) return refusal(once.error());
  loaded.onceNs = *once;
  LabReply reply;
  reply.code = codeDigest(*loaded.executable, task_.pass);
  if (task_.keepBits) reply.results = workload_->resultDigest(task_.pass);
  loaded_.insert_or_assign(number, std::move(loaded));
  return reply;
}

LabReply LocalLab::verify(int number) {
  const auto found = loaded_.find(number);
  if (found == loaded_.end()) return {TrialStatus::kFailed, "the plan is not loaded", {}, {}};
  VerifyRequest request;
  request.problem = task_.problem;
  request.passes = mask();
  request.threads = {task_.threads, task_.threads + 1};
  request.plans = {found->second.plan};
  request.sampleAbove = kVerifiedMultiplyAdds;
  return replyOf(verifyProblem(session_, request));
}

LabReply LocalLab::renew() {
  auto fresh = Workload::create(task_.problem, mask());  // before the old one goes: not the same memory
  if (!fresh.ok()) return refusal(fresh.error());
  workload_ = std::move(*fresh);
  for (auto& [number, loaded] : loaded_) {
    const auto once = workload_->run(*loaded.executable);
    if (!once.ok()) return refusal(once.error());
  }
  return {};
}

LabReply LocalLab::sample(const std::vector<int>& numbers, int rounds) {
  LabReply reply;
  std::vector<Loaded*> plans;
  std::int64_t longest = 1;
  for (const int number : numbers) {
    const auto found = loaded_.find(number);
    if (found == loaded_.end()) return {TrialStatus::kFailed, "the plan is not loaded", {}, {}};
    plans.push_back(&found->second);
    longest = std::max(longest, found->second.onceNs);
  }
  const std::int64_t repeats = std::clamp<std::int64_t>(kSampleNs / longest, 1, kMostRepeats);
  reply.samplesNs.resize(plans.size());
  const Turn turn(turnFile_);
  for (int round = 0; round < rounds; ++round) {
    // Every other round goes backwards: what one plan leaves in the caches does not always meet the same other.
    for (std::size_t k = 0; k < plans.size(); ++k) {
      const std::size_t i = round % 2 == 0 ? k : plans.size() - 1 - k;
      std::int64_t total = 0;
      for (std::int64_t repeat = 0; repeat < repeats; ++repeat) {
        const auto ns = workload_->run(*plans[i]->executable);
        if (!ns.ok()) return refusal(ns.error());
        total += *ns;
        plans[i]->onceNs = std::min(plans[i]->onceNs, *ns);
      }
      reply.samplesNs[i].push_back(std::max<std::int64_t>(1, total / repeats));
    }
  }
  return reply;
}

}  // namespace cubejit
