// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "runtime/loader/backends.h"

#include "codegen/backend.h"
#include "runtime/loader/llvm_component.h"
#include "runtime/loader/load_raw.h"

namespace cubejit {

Result<CodeBackend> codeBackend(const Options& options) {
  if (options.backend == BackendKind::kXbyak) {
    if (kUsualBackend == BackendKind::kXbyak) return CodeBackend{emitXbyak, loadRaw, false};
    return Error{ErrorCode::kUnsupported, Stage::kEmit, "xbyak writes x86-64 code only; use backend llvm here"};
  }
  if (!emitsCode(options.backend)) return CodeBackend{nullptr, loadRaw, false};  // of nothing
  CUBEJIT_TRY(component, llvmComponent(options.llvmComponent));
  return CodeBackend{component->emitLlvm, component->loadOrc, true};
}

Result<CodeBackend> codeBackend(PlanBackend wanted, const Options& options) {
  const BackendKind kind = backendOf(wanted, options.backend);
  if (kind == options.backend) return codeBackend(options);
  Options other;
  other.backend = kind;
  other.llvmComponent = options.llvmComponent;
  return codeBackend(other);
}

}  // namespace cubejit
