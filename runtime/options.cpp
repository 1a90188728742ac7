// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the environment may say to the library. The ACL face, a library of its own, reads its two words in api/acl/options.cpp.
#include "cubejit/options.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <utility>
#include <vector>

#include "algorithms/algorithm.h"
#include "cubejit/cubejit.hpp"
#include "runtime/dump/stages.h"
#include "runtime/launch_environment.h"

namespace cubejit {
namespace {

Result<long> parsePositive(const char* variable, const std::string& text) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (end == text.c_str() || *end != '\0' || value < 1 || value > (1L << 30)) {
    return Error{ErrorCode::kInvalidProblem, Stage::kProblem,
                 std::string(variable) + " = '" + text + "' must be a whole number of at least 1"};
  }
  return value;
}

Result<bool> parseFlag(const char* variable, const std::string& text) {
  if (text == "0" || text == "1") return text == "1";
  return Error{ErrorCode::kInvalidProblem, Stage::kProblem, std::string(variable) + " = '" + text + "' must be 0 or 1"};
}

constexpr const char* kStoreFile = "/cubejit/tune-v1.db";

const char* read(const char* variable) {
  const char* text = secure_getenv(variable);
  return text == nullptr || *text == '\0' ? nullptr : text;
}

// Where the XDG base directory specification puts a user's data.
std::string userStore() {
  if (const char* data = read("XDG_DATA_HOME"); data != nullptr && *data == '/') return std::string(data) + kStoreFile;
  if (const char* home = read("HOME")) return std::string(home) + "/.local/share" + kStoreFile;
  return {};
}

std::string turnFile() {
  const char* folder = read("XDG_RUNTIME_DIR");
  return std::string(folder != nullptr ? folder : "/tmp") + "/cubejit-measure-" + std::to_string(getuid()) + ".lock";
}

}  // namespace

Result<IsaLevel> parseIsa(const std::string& name) {
  std::string all;
  for (const IsaLevel level : kAllIsaLevels) {
    if (name == toString(level)) return level;
    all += (all.empty() ? "" : ", ") + std::string(toString(level));
  }
  return Error{ErrorCode::kUnsupported, Stage::kProblem, "unknown ISA '" + name + "'; there are " + all};
}

Result<BackendKind> parseBackend(const std::string& name) {
  std::string all;
  for (const BackendKind kind : kAllBackends) {
    if (name == toString(kind)) return kind;
    all += (all.empty() ? "" : ", ") + std::string(toString(kind));
  }
  return Error{ErrorCode::kUnsupported, Stage::kProblem, "unknown backend '" + name + "'; there are " + all};
}

Result<TuneMode> parseTuneMode(const std::string& name) {
  for (const TuneMode mode : {TuneMode::kOff, TuneMode::kUse, TuneMode::kMissing, TuneMode::kAlways}) {
    if (name == toString(mode)) return mode;
  }
  return Error{ErrorCode::kInvalidProblem, Stage::kProblem,
               "CUBEJIT_TUNE = '" + name + "' is not known; there are off, use, missing, always"};
}

Result<TuneGoal> parseTuneGoal(const std::string& name) {
  for (const TuneGoal goal : {TuneGoal::kCycles, TuneGoal::kHostTime}) {
    if (name == toString(goal)) return goal;
  }
  return Error{ErrorCode::kInvalidProblem, Stage::kProblem,
               "unknown goal of tuning (--for, CUBEJIT_TUNE_FOR) '" + name + "'; there are cycles, host-time"};
}

Result<std::string> parseAlgorithm(const std::string& name) {
  for (const Algorithm* algorithm : algorithms()) {
    if (algorithm->gradient != Gradient::kDb && name == algorithm->name) return name;
  }
  return Error{ErrorCode::kInvalidProblem, Stage::kPlan,
               "unknown algorithm '" + name + "'; this build has " + algorithmNames()};
}

Result<MathMode> parseMathMode(const std::string& name) {
  for (const MathMode mode : kAllMathModes) {
    if (name == toString(mode)) return mode;
  }
  return Error{ErrorCode::kInvalidProblem, Stage::kProblem,
               "unknown math mode '" + name + "'; there are strict, relaxed"};
}

namespace {

// Reads a list of names: each sets the flag of that name.
Status parseFlags(const std::string& what, const std::string& text,
                  std::initializer_list<std::pair<const char*, bool*>> flags) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    begin = end + 1;
    bool known = name == "all";
    std::string names;
    for (const auto& [flagName, flag] : flags) {
      if (name == "all" || name == flagName) *flag = known = true;
      names += (names.empty() ? "" : ", ") + std::string(flagName);
    }
    if (!known)
      return Error{ErrorCode::kUnsupported, Stage::kProblem, "unknown " + what + " '" + name + "'; there are " + names};
  }
  return Unit{};
}

}  // namespace

Result<JitProfile> parseJitProfile(const std::string& text) {
  JitProfile p;
  CUBEJIT_TRY(read,
              parseFlags("profiler", text,
                         {{"perfmap", &p.perfMap}, {"jitdump", &p.jitDump}, {"gdb", &p.gdb}, {"vtune", &p.vtune}}));
  static_cast<void>(read);
  return p;
}

Result<VerboseTopics> parseVerboseTopics(const std::string& text) {
  VerboseTopics t;
  CUBEJIT_TRY(read,
              parseFlags("topic", text,
                         {{"plan", &t.plan}, {"dispatch", &t.dispatch}, {"cache", &t.cache}, {"profile", &t.profile}}));
  static_cast<void>(read);
  return t;
}

Result<Diagnostics> diagnosticsFromEnvironment() {
  Diagnostics d;
  const auto text = [](const char* variable) { return std::string(read(variable) == nullptr ? "" : read(variable)); };
  d.dumpStages = text("CUBEJIT_DUMP");
  if (!d.dumpStages.empty()) {
    CUBEJIT_TRY(stages, parseDumpStages(d.dumpStages));
    static_cast<void>(stages);
  }
  d.dumpDirectory = text("CUBEJIT_DUMP_DIR");
  d.dumpKernels = text("CUBEJIT_DUMP_FILTER");
  if (const char* list = read("CUBEJIT_JIT_PROFILE")) {
    CUBEJIT_TRY(profile, parseJitProfile(list));
    d.jitProfile = profile;
  }
  d.jitDirectory = text("CUBEJIT_JIT_DIR");
  if (const char* list = read("CUBEJIT_VERBOSE")) {
    CUBEJIT_TRY(topics, parseVerboseTopics(list));
    d.verbose = topics;
  }
  d.verboseFile = text("CUBEJIT_VERBOSE_FILE");
  d.verboseFilter = text("CUBEJIT_VERBOSE_FILTER");
  return d;
}

Result<Options> optionsFromEnvironment() {
  Options options;
  options.tune = TuneMode::kUse;
  options.store = userStore();
  options.systemStore = "/usr/share/cubejit/tune-v1.db";
  options.turnFile = turnFile();
  if (const char* text = read("CUBEJIT_TUNE")) {
    CUBEJIT_TRY(mode, parseTuneMode(text));
    options.tune = mode;
  }
  if (const char* text = read("CUBEJIT_TUNE_FOR")) {
    CUBEJIT_TRY(goal, parseTuneGoal(text));
    options.tuneFor = goal;
  }
  if (const char* text = read("CUBEJIT_TUNE_SECONDS")) {
    CUBEJIT_TRY(seconds, parsePositive("CUBEJIT_TUNE_SECONDS", text));
    options.tuneSeconds = static_cast<double>(seconds);
  }
  if (const char* text = read("CUBEJIT_DB")) options.store = text;
  if (const char* text = read("CUBEJIT_SYSTEM_DB")) options.systemStore = text;
  if (const char* text = read("CUBEJIT_PIN")) options.pins = text;
  if (const char* text = read("CUBEJIT_MAX_ISA")) {
    CUBEJIT_TRY(most, parseIsa(text));
    const std::vector<IsaLevel> runnable = runnableIsas();
    const bool same = !runnable.empty() && architectureOf(most) == architectureOf(runnable.front());
    if (same && most < runnable.front()) options.isa = most;
  }
  if (const char* text = read("CUBEJIT_BACKEND")) {
    CUBEJIT_TRY(backend, parseBackend(text));
    options.backend = backend;
  }
  if (const char* text = read("CUBEJIT_NUM_THREADS")) {
    CUBEJIT_TRY(threads, parsePositive("CUBEJIT_NUM_THREADS", text));
    options.threads = static_cast<int>(threads);
  }
  if (const char* text = read("CUBEJIT_CACHE_CAPACITY")) {
    CUBEJIT_TRY(capacity, parsePositive("CUBEJIT_CACHE_CAPACITY", text));
    options.cacheCapacity = static_cast<std::size_t>(capacity);
  }
  if (const char* text = read("CUBEJIT_LLVM_COMPONENT")) options.llvmComponent = text;
  return options;
}

Result<LaunchEnvironment> launchEnvironment() {
  LaunchEnvironment e;
  if (const char* text = read("CUBEJIT_LAUNCH_TRACE")) e.files.trace = text;
  if (const char* text = read("CUBEJIT_LAUNCH_TIMELINE")) e.files.timeline = text;
  if (const char* text = read("CUBEJIT_LAUNCH_FAST")) {
    CUBEJIT_TRY(flag, parseFlag("CUBEJIT_LAUNCH_FAST", text));
    e.fast = flag;
  }
  return e;
}

}  // namespace cubejit
