// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which blocks each core runs and what the launcher tells its caller. Leaves threads to the runtime.
#include "cubejit_ascendc/launch.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>

#include "api/ascendc/kernel/core_context.h"
#include "api/ascendc/kernel/write_log.h"
#include "cubejit/machines.h"
#include "cubejit_ascendc/chip.h"
#include "cubejit_ascendc/last_error.h"
#include "runtime/cores/core_threads.h"
#include "runtime/face/environment.h"
#include "runtime/text/json_machine.h"
#include "tiling/rule_lines.h"

namespace cubejit::ascendc {
namespace {

constexpr std::int64_t kMostBlocks = 65535;  // of a launch, on every chip

struct Launch {
  std::vector<std::unique_ptr<CoreContext>> cores;
  std::int64_t blocks = 0;
  const std::function<void()>* body = nullptr;
};

void runBlocks(CoreContext& core, const Launch& launch, std::int64_t first) {
  CoreContext* const before = enterCore(&core);
  for (std::int64_t block = first; block < launch.blocks; block += static_cast<std::int64_t>(launch.cores.size())) {
    core.block = block;
    try {
      (*launch.body)();
    } catch (const std::exception& e) {
      core.fault("the kernel", std::string("threw ") + e.what());
    } catch (...) {
      core.fault("the kernel", "threw");
    }
  }
  enterCore(before);
}

Error failure(ErrorCode code, const std::string& message) {
  setLastError(message);
  return Error{code, Stage::kRun, message};
}

// trace.json, trace.2.json, trace.3.json, ...
std::string numbered(const std::string& file, std::int64_t launch) {
  if (file.empty() || launch == 1) return file;
  const std::size_t name = file.find_last_of('/') + 1, dot = file.rfind('.');
  const std::size_t at = dot == std::string::npos || dot <= name ? file.size() : dot;
  return file.substr(0, at) + "." + std::to_string(launch) + file.substr(at);
}

// The caller's wishes; where there are none, those of the environment.
LaunchOptions withEnvironment(LaunchOptions options, const Environment& all) {
  const LaunchEnvironment& environment = all.launch;
  options.fast = options.fast || environment.fast;
  options.strict = options.strict || environment.strict;
  options.sanitize = options.sanitize || all.options.sanitize;
  if (options.soc.empty()) options.soc = environment.soc.empty() ? kUsualChip : environment.soc;
  if (!options.files.any() && environment.files.any()) {
    static std::atomic<std::int64_t> launches{0};
    const std::int64_t launch = ++launches;
    options.files = {numbered(environment.files.trace, launch), numbered(environment.files.timeline, launch)};
  }
  options.trace = options.trace || options.files.any();
  return options;
}

Result<Machine> machineOf(const LaunchOptions& options) {
  if (!options.machine.has_value()) return machineByName(options.soc);
  return *options.machine;
}

void collect(const CoreContext& core, LaunchReport& report, std::vector<Fault>& faults, std::int64_t& dropped) {
  report.cores.push_back(core.report);
  report.cycles = std::max(report.cycles, core.report.counts.cycles);
  report.trace.insert(report.trace.end(), core.events.begin(), core.events.end());
  report.eventsDropped += core.eventsDropped;
  report.findings.insert(report.findings.end(), core.findings().begin(), core.findings().end());
  faults.insert(faults.end(), core.faults().begin(), core.faults().end());
  dropped += core.droppedFaults();
  for (const std::string& note : core.notes()) {
    if (std::find(report.notes.begin(), report.notes.end(), note) == report.notes.end()) report.notes.push_back(note);
  }
}

std::vector<std::string> notesAndFindings(const LaunchReport& report) {
  std::vector<std::string> all;
  for (const std::string& note : report.notes) all.push_back("note: " + note);
  for (const Finding& finding : report.findings) all.push_back(describe(finding));
  return all;
}

// How cores generate and run code.
Options optionsOfCores(const Environment& environment, const Machine& machine, const LaunchOptions& launch) {
  Options options = environment.options;
  options.diagnostics = environment.diagnostics;
  options.machine = machine;
  options.elideCopies = launch.fast;
  options.sanitize = launch.sanitize;
  return options;
}

Result<LaunchReport> runAll(const LaunchOptions& options, const Environment& environment,
                            const std::vector<GlobalMemory>& memory, const std::function<void()>& body) {
  const Result<Machine> machine = machineOf(options);
  if (!machine.ok()) return failure(machine.error().code, machine.error().message);
  if (!machine->isEmulated())
    return failure(ErrorCode::kUnsupported, machine->name + " has no cube; name a chip of `cubejit targets`");
  WriteLog writes(memory, options.sanitize);
  Launch launch;
  launch.blocks = options.blocks == 0 ? machine->cores : options.blocks;
  launch.body = &body;
  if (launch.blocks < 1 || launch.blocks > kMostBlocks)
    return failure(ErrorCode::kInvalidProblem,
                   "blocks = " + std::to_string(options.blocks) + " must be 0 to " + std::to_string(kMostBlocks));
  if (options.hostThreads < 0)
    return failure(ErrorCode::kInvalidProblem,
                   "hostThreads = " + std::to_string(options.hostThreads) + " must not be negative");
  if (options.mostEvents < 0)
    return failure(ErrorCode::kInvalidProblem,
                   "mostEvents = " + std::to_string(options.mostEvents) + " must not be negative");
  const auto cores = static_cast<int>(std::min<std::int64_t>(machine->cores, launch.blocks));
  const Options coreOptions = optionsOfCores(environment, *machine, options);
  const std::string spelled = machineToJson(*machine);
  CoreBarrier barrier(cores);
  if (launch.blocks > cores)
    barrier.refuse("blocks = " + std::to_string(launch.blocks) + " must be at most " + std::to_string(cores) +
                   ", the cores of " + machine->name +
                   ": more take turns, and those that wait would never see the others");
  for (int i = 0; i < cores; ++i) {
    launch.cores.push_back(std::make_unique<CoreContext>(coreOptions, spelled, i));
    CoreContext& core = *launch.cores.back();
    core.blocks = launch.blocks;
    core.memory = &memory;
    core.writes = &writes;
    core.sanitize = options.sanitize;
    core.barrier = &barrier;
    core.mostEvents = options.trace ? options.mostEvents / cores : 0;
  }
  runCoreThreads(
      cores, options.hostThreads == 0 ? cores : options.hostThreads,
      [](void* context, int core) {
        const auto& all = *static_cast<const Launch*>(context);
        runBlocks(*all.cores[static_cast<std::size_t>(core)], all, core);
      },
      &launch, &barrier);
  LaunchReport report;
  report.machine = machine->name;
  std::vector<Fault> faults;
  std::int64_t dropped = 0;
  for (const auto& core : launch.cores) collect(*core, report, faults, dropped);
  if (options.sanitize && faults.empty()) {
    for (const Collision& c : writes.unwritten()) report.findings.push_back(findingOf(FindingKind::kInit, c, {}));
  }
  report.microseconds = machine->npu.mhz > 0 ? report.cycles / machine->npu.mhz : 0;
  const Status drawn =
      writeTimelines(options.files, *machine, {{"launch", report.cycles, &report.trace, report.eventsDropped}});
  if (faults.empty() && !drawn.ok()) return failure(drawn.error().code, drawn.error().message);
  const std::vector<std::string> strict = options.strict ? notesAndFindings(report) : std::vector<std::string>{};
  if (faults.empty() && strict.empty()) return report;
  if (faults.empty()) return failure(ErrorCode::kInvalidProblem, inLines(strict));
  return failure(ErrorCode::kInvalidProblem,
                 describe(faults) + (dropped > 0 ? "\nand " + std::to_string(dropped) + " more" : ""));
}

}  // namespace

Result<LaunchReport> runOnCores(const LaunchOptions& options, const std::vector<GlobalMemory>& memory,
                                const std::function<void()>& body) {
  const Result<Environment> environment = readEnvironment();
  if (!environment.ok()) return failure(environment.error().code, environment.error().message);
  return runAll(withEnvironment(options, *environment), *environment, memory, body);
}

}  // namespace cubejit::ascendc
