// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides each variable's values, and what holds where none is set.
#include "runtime/face/environment.h"

#include <unistd.h>

#include <cstdlib>

#include "cubejit/machines.h"
#include "runtime/dump/stages.h"
#include "runtime/host/threads.h"
#include "tiling/no_throw.h"
#include "tiling/whole_number.h"

namespace cubejit {
namespace {

constexpr const char* kStoreFile = "/cubejit/tune-v1.db";

const char* readVariable(const char* variable) {
  const char* text = secure_getenv(variable);
  return text == nullptr || *text == '\0' ? nullptr : text;
}

// Where the XDG base directory specification puts a user's data.
std::string userStore() {
  if (const char* data = readVariable("XDG_DATA_HOME"); data != nullptr && *data == '/')
    return std::string(data) + kStoreFile;
  if (const char* home = readVariable("HOME")) return std::string(home) + "/.local/share" + kStoreFile;
  return {};
}

std::string turnFile() {
  const char* folder = readVariable("XDG_RUNTIME_DIR");
  return std::string(folder != nullptr ? folder : "/tmp") + "/cubejit-measure-" + std::to_string(getuid()) + ".lock";
}

// Gives a field what was read.
template <class Field, class Value>
Status set(Field& field, const Result<Value>& value) {
  if (!value.ok()) return value.error();
  field = *value;
  return Unit{};
}

template <class Field>
Status setWhole(Field& field, const std::string& text, long least = 1) {
  constexpr long kMost = 1L << 30;
  const auto value = wholeNumber<long>(text);
  if (!value || *value < least || *value > kMost)
    return invalidInput("'" + text + "' must be a whole number from " + std::to_string(least) + " to " +
                        std::to_string(kMost));
  field = static_cast<Field>(*value);
  return Unit{};
}

Status setFlag(bool& field, const std::string& text) {
  if (text != "0" && text != "1") return invalidInput("'" + text + "' must be 0 or 1");
  field = text == "1";
  return Unit{};
}

Status setText(std::string& field, const std::string& text) {
  field = text;
  return Unit{};
}

Status setMostIsa(std::optional<IsaLevel>& field, const std::string& text) {
  CUBEJIT_TRY(most, parseIsa(text));
  const std::vector<IsaLevel> runnable = runnableIsas();
  const bool same = !runnable.empty() && architectureOf(most) == architectureOf(runnable.front());
  if (same && most < runnable.front()) field = most;
  return Unit{};
}

// "host", which aclnn programs may say, names no chip.
Status setChip(std::string& field, const std::string& text) {
  if (text == "host") return Unit{};
  CUBEJIT_TRY(machine, machineByName(text));
  return setText(field, machine.name);
}

Status setStages(std::string& field, const std::string& text) {
  CUBEJIT_RETURN_IF_ERROR(parseDumpStages(text));
  return setText(field, text);
}

}  // namespace

const std::vector<EnvironmentVariable>& environmentVariables() {
  using Text = const std::string&;
  using E = Environment;
  static const std::vector<EnvironmentVariable> kAll{
      {"CUBEJIT_MAX_ISA", [](Text t, E& e) { return setMostIsa(e.options.isa, t); }},
      {"CUBEJIT_BACKEND", [](Text t, E& e) { return set(e.options.backend, parseBackend(t)); }},
      {"CUBEJIT_NUM_THREADS", [](Text t, E& e) { return set(e.options.threads, parseThreadCount(t)); }},
      {"CUBEJIT_CACHE_CAPACITY", [](Text t, E& e) { return setWhole(e.options.cacheCapacity, t); }},
      {"CUBEJIT_MEM_LIMIT", [](Text t, E& e) { return set(e.options.memLimit, parseBytes(t)); }},
      {"CUBEJIT_LLVM_COMPONENT", [](Text t, E& e) { return setText(e.options.llvmComponent, t); }},
      {"CUBEJIT_TUNE", [](Text t, E& e) { return set(e.options.tune, parseTuneMode(t)); }},
      {"CUBEJIT_TUNE_FOR", [](Text t, E& e) { return set(e.options.tuneFor, parseTuneGoal(t)); }},
      {"CUBEJIT_TUNE_SECONDS", [](Text t, E& e) { return setWhole(e.options.tuneSeconds, t); }},
      {"CUBEJIT_DB", [](Text t, E& e) { return setText(e.options.store, t); }},
      {"CUBEJIT_DB_WAIT", [](Text t, E& e) { return setWhole(e.options.storeWaitSeconds, t, 0); }},
      {"CUBEJIT_SYSTEM_DB", [](Text t, E& e) { return setText(e.options.systemStore, t); }},
      {"CUBEJIT_PIN", [](Text t, E& e) { return setText(e.options.pins, t); }},
      {"CUBEJIT_SANITIZE", [](Text t, E& e) { return setFlag(e.options.sanitize, t); }},
      {"CUBEJIT_VERBOSE", [](Text t, E& e) { return set(e.diagnostics.verbose, parseVerboseTopics(t)); }},
      {"CUBEJIT_VERBOSE_FILE", [](Text t, E& e) { return setText(e.diagnostics.verboseFile, t); }},
      {"CUBEJIT_VERBOSE_FILTER", [](Text t, E& e) { return setText(e.diagnostics.verboseFilter, t); }},
      {"CUBEJIT_JIT_PROFILE", [](Text t, E& e) { return set(e.diagnostics.jitProfile, parseJitProfile(t)); }},
      {"CUBEJIT_JIT_DIR", [](Text t, E& e) { return setText(e.diagnostics.jitDirectory, t); }},
      {"CUBEJIT_DUMP", [](Text t, E& e) { return setStages(e.diagnostics.dumpStages, t); }},
      {"CUBEJIT_DUMP_DIR", [](Text t, E& e) { return setText(e.diagnostics.dumpDirectory, t); }},
      {"CUBEJIT_DUMP_FILTER", [](Text t, E& e) { return setText(e.diagnostics.dumpKernels, t); }},
      {"CUBEJIT_LAUNCH_TRACE", [](Text t, E& e) { return setText(e.launch.files.trace, t); }},
      {"CUBEJIT_LAUNCH_TIMELINE", [](Text t, E& e) { return setText(e.launch.files.timeline, t); }},
      {"CUBEJIT_SOC", [](Text t, E& e) { return setChip(e.launch.soc, t); }},
      {"CUBEJIT_LAUNCH_FAST", [](Text t, E& e) { return setFlag(e.launch.fast, t); }},
      {"CUBEJIT_LAUNCH_STRICT", [](Text t, E& e) { return setFlag(e.launch.strict, t); }},
  };
  return kAll;
}

Result<Environment> readEnvironment() {
  Environment environment;
  environment.options.tune = TuneMode::kUse;
  environment.options.store = userStore();
  environment.options.systemStore = "/usr/share/cubejit/tune-v1.db";
  environment.options.turnFile = turnFile();
  std::optional<Error> broken;
  for (const EnvironmentVariable& variable : environmentVariables()) {
    const char* text = readVariable(variable.name);
    if (text == nullptr) continue;
    const Status heard = variable.read(text, environment);
    if (heard.ok()) continue;
    const std::string line = std::string(variable.name) + ": " + heard.error().message;
    if (broken)
      broken->message += "\n" + line;
    else
      broken = Error{heard.error().code, heard.error().stage, line};
  }
  if (broken) return *broken;
  return environment;
}

Result<Options> optionsFromEnvironment() {
  return withoutThrowing(Stage::kProblem, []() -> Result<Options> {
    CUBEJIT_TRY(environment, readEnvironment());
    return environment.options;
  });
}

Result<Diagnostics> diagnosticsFromEnvironment() {
  return withoutThrowing(Stage::kProblem, []() -> Result<Diagnostics> {
    CUBEJIT_TRY(environment, readEnvironment());
    return environment.diagnostics;
  });
}

}  // namespace cubejit
