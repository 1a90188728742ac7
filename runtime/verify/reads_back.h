// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that what a verification saw can be written down: a program's texts are the program.
#pragma once

#include "cubejit/result.h"

namespace cubejit {

struct CompiledPass;

/// kInternal if the text of its tile program, or of one of its vector programs, reads back as another one or not at all.
Status readsBack(const CompiledPass& program);

}  // namespace cubejit
