// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the LLVM backend reaches the library: a shared object of its own, loaded when first asked for, so that only
// those who use LLVM carry it. Leaves compiling and linking to what is in it (codegen/llvm_backend, runtime/loader/orc).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "codegen/binary/tools.h"
#include "codegen/llvm_backend/emit.h"
#include "cubejit/result.h"
#include "runtime/loader/loaded_code.h"
#include "runtime/loader/orc/announce.h"

namespace cubejit {

/// What the component offers; each as the function of the same name.
struct LlvmComponent {
  const char* build;  ///< must be componentBuild(): the tables of different versions are not to be mixed
  Result<Code> (*emitLlvm)(const VectorProgram&);
  Result<std::string> (*llvmText)(const VectorProgram&, IrStage);
  Result<LoadedCode> (*loadOrc)(const std::vector<Code>&);
  BinaryTools binary;
  Result<std::shared_ptr<void>> (*announceCode)(const Announcement&);
};

/// The one symbol the component exports, a LlvmComponentEntry.
inline constexpr const char* kLlvmComponentSymbol = "cubejit_llvm_component";
using LlvmComponentEntry = const LlvmComponent* (*)();

/// Identifies the version, and the layout of what crosses the border.
inline std::string componentBuild() {
  std::string text = CUBEJIT_VERSION;
  for (const std::size_t size : {sizeof(LlvmComponent), sizeof(Code), sizeof(VectorProgram), sizeof(VInstr),
                                 sizeof(LoadedCode), sizeof(Error), sizeof(Announcement), sizeof(ObjectInput)})
    text += "/" + std::to_string(size);
  return text;
}

/// The component from `file`; empty: libcubejit_llvm.so where the dynamic linker looks (run path of the program or library,
/// LD_LIBRARY_PATH, system folders). Loaded once per file and never unloaded; a failure is not remembered. Thread-safe.
/// Fails with kUnsupported if it is missing, cannot be loaded, or is of another version.
Result<const LlvmComponent*> llvmComponent(const std::string& file);

}  // namespace cubejit
