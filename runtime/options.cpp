// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the environment may say. No other file reads it.
#include "cubejit/options.h"

#include <cstdlib>
#include <vector>

#include "cubejit/cubejit.hpp"

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

const char* read(const char* variable) {
  const char* text = secure_getenv(variable);
  return text == nullptr || *text == '\0' ? nullptr : text;
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

Result<Options> optionsFromEnvironment() {
  Options options;
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

}  // namespace cubejit
