// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which functions stand behind a BackendKind that makes machine code.
#pragma once

#include <vector>

#include "codegen/code.h"
#include "codegen/vector/program.h"
#include "cubejit/options.h"
#include "cubejit/plan.h"
#include "cubejit/result.h"
#include "runtime/loader/loaded_code.h"

namespace cubejit {

/// The last two arrows of the line. The two belong together: what one emits the other loads.
struct CodeBackend {
  Result<Code> (*emit)(const VectorProgram&) = nullptr;  ///< null if the backend interprets
  Result<LoadedCode> (*load)(const std::vector<Code>&) = nullptr;
  bool slow = false;  ///< emitting takes so long that kernels are shared among threads
};

/// True for backends that make machine code; the others interpret.
inline bool emitsCode(BackendKind backend) { return backend == BackendKind::kXbyak || backend == BackendKind::kLlvm; }

/// What makes code for a level when nothing else is said: kUsualBackend writes for the architecture it was built for.
constexpr BackendKind usualBackend(IsaLevel level) {
  return architectureOf(level) == Architecture::kX86_64 ? kUsualBackend : BackendKind::kLlvm;
}

/// What makes the kernels of a plan in a session: the plan's choice where the session makes machine code at all.
inline BackendKind backendOf(PlanBackend wanted, BackendKind session) {
  return wanted == PlanBackend::kLlvm && emitsCode(session) ? BackendKind::kLlvm : session;
}

/// Loads the LLVM component if that is the backend: kUnsupported if it is missing.
Result<CodeBackend> codeBackend(const Options& options);
/// The same for the kernels of a plan.
Result<CodeBackend> codeBackend(PlanBackend wanted, const Options& options);

}  // namespace cubejit
