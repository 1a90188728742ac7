// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which of LLVM's passes run over the IR before code is generated from it.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

namespace cubejit {

/// Changes the module; results of the function stay the same bit by bit.
void optimise(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace cubejit
