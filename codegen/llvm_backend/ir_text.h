// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how IR is shown.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "codegen/vector/program.h"

namespace cubejit {

/// The text of a module made by buildIr. Instructions and comments of the program stand above what they became; the debug
/// locations that say so are taken out of the module.
std::string irText(llvm::Module& module, const VectorProgram& program);

}  // namespace cubejit
