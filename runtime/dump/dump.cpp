// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order: generate, describe, write.
#include "runtime/dump/dump.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "runtime/dump/files.h"
#include "runtime/loader/backends.h"
#include "runtime/loader/llvm_component.h"
#include "runtime/pipeline/compile.h"
#include "runtime/tuning/known_plans.h"
#include "runtime/tuning/measured_plans.h"
#include "runtime/verify/reference_conv.h"
#include "tiling/no_throw.h"

namespace cubejit {
namespace {

// Runs the pass for a moment, and tells the fastest run and its share of the peak that multiply-adds reached just before.
std::string measuredText(const PassStages& s, const Options& options) {
  if (s.machine.isEmulated() || !checkRunnable(s.machine.isa.level).ok()) return {};
  const MeasuredPlans runs = measurePlans(options, s.machine, s.problem, s.plan, {});
  if (!runs.chosen) return "not measured: " + runs.whyNot;
  const double ns = runs.chosen->cycles / runs.gigahertz, gflops = passFlops(s.problem, s.plan.pass) / ns;
  char text[160];
  std::snprintf(text, sizeof text,
                "measured here: %.4g ms on %d threads, %.4g GFLOP/s, %.0f %% of the peak of f32 multiply-adds",
                ns * 1e-6, s.machine.cores, gflops, 100 * gflops / (flopsPerCycle(s.machine) * runs.gigahertz));
  return text;
}

Result<std::vector<std::string>> dumpAll(const Session& session, const CompileRequest& request,
                                         const DumpRequest& dump) {
  CUBEJIT_RETURN_IF_ERROR(session.status());
  CUBEJIT_RETURN_IF_ERROR(parseDumpStages(dump.stages));
  if (!request.passes.any()) return invalidInput("no pass is asked for; choose from y, dx, dw, db");
  // An interpreter makes no code: what it interprets is shown as xbyak spells it.
  Options options = session.options();
  if (!emitsCode(options.backend)) options.backend = usualBackend(session.machine().isa.level);
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
  return {part.problem, machine, part.plan, part.tile, part.vectors, part.codes, part.lowered};
}

Result<std::string> dumpPass(const PassStages& stages, const DumpRequest& request, const Options& options) {
  CUBEJIT_TRY(wanted, parseDumpStages(request.stages));
  FilesRequest files;
  files.stages = wanted;
  files.kernels = request.kernels;
  files.prefix = request.symbol;
  files.backend = toString(backendOf(stages.plan.backend, options.backend));
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

Result<std::vector<std::string>> dump(const Session& session, const CompileRequest& request, const DumpRequest& dump) {
  return withoutThrowing(Stage::kRun, [&] { return dumpAll(session, request, dump); });
}

}  // namespace cubejit
