// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a digest covers.
#include "runtime/tuning/local_lab.h"

#include <utility>

#include "runtime/pipeline/compile.h"
#include "runtime/tuning/digest.h"
#include "runtime/tuning/lab_verdict.h"
#include "runtime/tuning/timed_runs.h"
#include "tiling/no_throw.h"

namespace cubejit {

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
  if (!compiled.ok()) return refusalOf(compiled.error());
  Loaded loaded{*compiled, plan, 0};
  const auto once = workload_->run(*loaded.executable);
  if (!once.ok()) return refusalOf(once.error());
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
  if (!fresh.ok()) return refusalOf(fresh.error());
  workload_ = std::move(*fresh);
  for (auto& [number, loaded] : loaded_) {
    const auto once = workload_->run(*loaded.executable);
    if (!once.ok()) return refusalOf(once.error());
  }
  return {};
}

LabReply LocalLab::sample(const std::vector<int>& numbers, int rounds) {
  std::vector<TimedRun> runs;
  for (const int number : numbers) {
    const auto found = loaded_.find(number);
    if (found == loaded_.end()) return {TrialStatus::kFailed, "the plan is not loaded", {}, {}};
    Loaded& loaded = found->second;
    runs.push_back({[&loaded, this] { return workload_->run(*loaded.executable); }, &loaded.onceNs});
  }
  return timeInTurn(runs, rounds, turnFile_);
}

}  // namespace cubejit
