// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the component is loaded: its symbols stay its own (RTLD_LOCAL), and it is never unloaded, since code and
// executables made by it may outlive every session.
#include "runtime/loader/llvm_component.h"

#include <dlfcn.h>

namespace cubejit {
namespace {

constexpr const char* kFile = "libcubejit_llvm.so";

Error missing(const std::string& what) {
  return Error{
      ErrorCode::kUnsupported, Stage::kEmit,
      "the LLVM component is not available: " + what +
          "\nbuild it with -DCUBEJIT_LLVM=ON, say where it is with CUBEJIT_LLVM_COMPONENT, or use backend xbyak"};
}

}  // namespace

Result<const LlvmComponent*> llvmComponent(const std::string& file) {
  const std::string name = file.empty() ? kFile : file;
  // Not RTLD_DEEPBIND: the component must share the process' allocator. LLVM's symbols carry versions, so another LLVM is
  // not mixed up with it.
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) return missing(dlerror());
  const auto entry = reinterpret_cast<LlvmComponentEntry>(dlsym(handle, kLlvmComponentSymbol));
  const LlvmComponent* component = entry == nullptr ? nullptr : entry();
  if (component == nullptr) return missing(name + " is not a cubejit component");
  if (componentBuild() != component->build)
    return missing(name + " is of version " + component->build + ", this library of " + componentBuild());
  return component;
}

}  // namespace cubejit
