// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the frame rules that LLVM put into an object are said in the words of Code, so that debuggers are told the same
// of either backend's kernels. Leaves writing them down again to codegen/binary/object.
#pragma once

#include <llvm/DebugInfo/DWARF/DWARFContext.h>

#include <vector>

#include "codegen/code.h"

namespace cubejit {

/// The rules of the only function of an object; empty if it has none that can be said.
std::vector<FrameStep> frameOf(llvm::DWARFContext& object);

}  // namespace cubejit
