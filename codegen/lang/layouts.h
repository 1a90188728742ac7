// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how values lie in memory: packed into words where lang/pairs says so; and in blocks, a tile behind the other, where every statement goes over the
// last dimension in tiles of one size, as packed panels of a factor are gone over.
#pragma once

#include "codegen/lang/source.h"
#include "cubejit/host_isa.h"

namespace cubejit::lang {

/// The kernel with its values laid out for the ISA.
Source laidOut(Source kernel, const HostIsa& isa);

}  // namespace cubejit::lang
