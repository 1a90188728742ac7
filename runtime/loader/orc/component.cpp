// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what libcubejit_llvm.so offers: one symbol, one table.
#include <string>

#include "codegen/llvm_backend/emit.h"
#include "cubejit/export.h"
#include "runtime/loader/llvm_component.h"
#include "runtime/loader/orc/announce.h"
#include "runtime/loader/orc/load_orc.h"

extern "C" CUBEJIT_API const cubejit::LlvmComponent* cubejit_llvm_component() {
  static const std::string build = cubejit::componentBuild();
  static const cubejit::LlvmComponent table{build.c_str(),    cubejit::emitLlvm,      cubejit::llvmText,
                                            cubejit::loadOrc, cubejit::binaryTools(), cubejit::announceCode};
  return &table;
}
