// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how LLVM's code generator is set up.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

namespace cubejit {

/// Writes the module as an ELF object. False if the target cannot.
bool generate(llvm::Module& module, llvm::TargetMachine& machine, llvm::raw_pwrite_stream& out);

}  // namespace cubejit
