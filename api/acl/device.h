// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what operators ask of the runtime's switches. Leaves setting them to device.cpp's C functions.
#pragma once

namespace cubejit::acl {

/// Whether determinism is asked for, by the process's switch or the context's.
bool deterministic();

}  // namespace cubejit::acl
