// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order: generate, describe, write.
#include "runtime/dump/dump.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "runtime/dump/files.h"
#include "runtime/exec/program_memory.h"
#include "runtime/host/aligned_memory.h"
#include "runtime/loader/backends.h"
#include "runtime/loader/llvm_component.h"
#include "runtime/loader/load_kernel.h"
#include "runtime/loader/load_programs.h"
#include "runtime/pipeline/compile.h"
#include "runtime/tuning/known_plans.h"
#include "runtime/tuning/measured_plans.h"
#include "runtime/verify/reference_conv.h"
#include "tiling/no_throw.h"

namespace cubejit {
namespace {

constexpr double kMeasuredSeconds = 0.2;

// Runs the pass for a moment, and tells the fastest run and its share of the peak that multiply-adds reached just before.
std::string measuredText(const PassStages& s, const Options& options) {
  if (s.machine.isEmulated() || !checkRunnable(s.machine.isa.level).ok()) return {};
  const auto& [problem, plan] = std::get<OfConvolution>(s.origin);
  const MeasuredPlans runs = measurePlans(options, s.machine, problem, plan, {});
  if (!runs.chosen) return "not measured: " + runs.whyNot;
  const double ns = runs.chosen->cycles / runs.gigahertz, gflops = passFlops(problem, plan.pass) / ns;
  char text[160];
  std::snprintf(text, sizeof text,
                "measured here: %.4g ms on %d threads, %.4g GFLOP/s, %.0f %% of the peak of f32 multiply-adds",
                ns * 1e-6, s.machine.cores, gflops, 100 * gflops / (flopsPerCycle(s.machine) * runs.gigahertz));
  return text;
}

// The same of a kernel's program, on random numbers. What multiplies and what moves is not told apart: there is no peak to compare with.
Result<std::string> measuredText(CompiledPass& part, const Machine& machine, const Options& options) {
  if (!checkRunnable(machine.isa.level).ok()) return std::string();
  CUBEJIT_TRY(loaded, loadPrograms({&part}, options));
  const LoadedCode code = std::move(loaded);
  CUBEJIT_TRY(memory, ProgramMemory::of(part.tile.buffers, 1));
  const int threads = threadsOf(options);
  const std::size_t bytes = part.launch->workspaceBytes(threads);
  const AlignedMemory workspace = alignedMemory(bytes);
  if (workspace == nullptr && bytes > 0)
    return Error{ErrorCode::kLimitExceeded, Stage::kRun,
                 "no memory for a workspace of " + std::to_string(bytes) + " bytes"};
  const Team team{threads, options.parallelFor, options.pinThreads, options.wakeCycles};
  double best = 0, all = 0;
  for (int run = 0; run < 3 || all < kMeasuredSeconds; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    part.launch->run(memory.addresses(), nullptr, static_cast<char*>(static_cast<void*>(workspace.get())), team);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    best = run == 0 ? seconds : std::min(best, seconds);
    all += seconds;
  }
  char text[96];
  std::snprintf(text, sizeof text, "measured here: %.4g ms on %d threads", best * 1e3, threads);
  return std::string(text);
}

// An interpreter makes no code: what it interprets is shown as xbyak spells it.
Options withCode(Options options, const Machine& machine) {
  if (!emitsCode(options.backend)) options.backend = usualBackend(machine.isa.level);
  return options;
}

Result<std::vector<std::string>> dumpAll(const Session& session, const CompileRequest& request,
                                         const DumpRequest& dump) {
  CUBEJIT_RETURN_IF_ERROR(session.status());
  CUBEJIT_RETURN_IF_ERROR(parseDumpStages(dump.stages));
  if (!request.passes.any()) return invalidInput("no pass is asked for; choose from y, dx, dw, db");
  Options options = withCode(session.options(), session.machine());
  // What a session would run is dumped: pins and records count, but nothing is measured for it.
  if (options.tune != TuneMode::kOff) options.tune = TuneMode::kUse;
  std::vector<std::string> folders;
  for (const Pass pass : kPasses) {
    if (!request.passes.has(pass)) continue;
    CompileRequest alone = request;
    alone.passes = maskOf(pass);
    CUBEJIT_TRY(sourced, withKnownPlans(alone, session.machine(), options));
    CUBEJIT_TRY(generated, generateExecutable(sourced.request, session.machine(), options));
    const CompiledPass& part = *generated->state().parts.front();
    PassStages stages = stagesOf(part, session.machine());
    if (dump.measure) stages.measured = measuredText(stages, options);
    CUBEJIT_TRY(folder, dumpPass(stages, dump, options));
    if (!folder.empty()) folders.push_back(folder);
  }
  return folders;
}

}  // namespace

PassStages stagesOf(const CompiledPass& part, const Machine& machine) {
  return {OfConvolution{part.problem, part.plan}, machine, part.tile, part.vectors, part.codes, part.lowered};
}

Result<std::string> dumpPass(const PassStages& stages, const DumpRequest& request, const Options& options) {
  CUBEJIT_TRY(wanted, parseDumpStages(request.stages));
  FilesRequest files;
  files.stages = wanted;
  files.kernels = request.kernels;
  files.prefix = request.symbol;
  const auto* const convolution = std::get_if<OfConvolution>(&stages.origin);
  const PlanBackend planned = convolution == nullptr ? PlanBackend::kSession : convolution->plan.backend;
  files.backend = toString(backendOf(planned, options.backend));
  // LLVM ends the process where it finds no memory: it is not even loaded for stages that do without.
  const bool needed = std::any_of(wanted.begin(), wanted.end(), needsComponent);
  const auto component = needed ? llvmComponent(options.llvmComponent) : Result<const LlvmComponent*>(nullptr);
  if (!component.ok()) {
    files.missing = component.error().message;
  } else if (needed) {
    files.tools = &(*component)->binary;
    files.emit = (*component)->emitLlvm;
    files.ir = [text = (*component)->llvmText](const VectorProgram& program, bool optimised) {
      return text(program, optimised ? IrStage::kOptimised : IrStage::kBuilt);
    };
  }
  CUBEJIT_TRY(contents, dumpFiles(stages, files));
  if (contents.empty()) return std::string();
  const std::string name = dumpName(stages);
  CUBEJIT_RETURN_IF_ERROR(writeFolder(request.directory, name, contents));
  return (std::filesystem::path(request.directory) / name).string();
}

Result<std::string> dumpKernel(const std::string& text, const lang::Settings& parameters, const DumpRequest& request,
                               const Machine& machine, Options options) {
  CUBEJIT_RETURN_IF_ERROR(parseDumpStages(request.stages));
  options = withCode(std::move(options), machine);
  CUBEJIT_TRY(kernel, generateKernel(text, parameters, machine, options));
  const CompiledPass& part = *kernel.part;
  PassStages stages{OfKernelText{text, kernel.source}, machine, part.tile, part.vectors, part.codes, part.lowered};
  if (request.measure) {
    CUBEJIT_TRY(measured, measuredText(*kernel.part, machine, options));
    stages.measured = measured;
  }
  return dumpPass(stages, request, options);
}

Result<std::vector<std::string>> dump(const Session& session, const CompileRequest& request, const DumpRequest& dump) {
  return withoutThrowing(Stage::kRun, [&] { return dumpAll(session, request, dump); });
}

}  // namespace cubejit
