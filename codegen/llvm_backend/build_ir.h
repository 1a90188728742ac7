// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the form of the IR: one function a program, registers as SSA values, loops as blocks with phis.
// Leaves the spelling of vector ops to spell, and making it faster to optimise and LLVM's code generator.
#pragma once

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <memory>

#include "codegen/vector/program.h"

namespace cubejit {

/// Precondition: checkLegal(program) is ok. Names and order depend on the program only. The debug location of an IR instruction is the program's instruction it came from: line = index + 1.
std::unique_ptr<llvm::Module> buildIr(llvm::LLVMContext& context, const VectorProgram& program);

}  // namespace cubejit
