// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whether what a core touches of a tensor lies in the tensor's memory, and how the tensor is shown to the core.
#pragma once

#include <string>

#include "api/ascendc/kernel/core_context.h"
#include "api/ascendc/kernel/single_shape.h"

namespace cubejit::ascendc {

/// What is wrong with touching these elements, "" if nothing is known to be. `verb` is "read" or "written".
std::string outsideMemory(const CoreContext& core, const char* tensor, const char* verb, const GlobalRange& range,
                          const Reach& reach, DType type);

/// The addresses of these elements. Precondition: the tensor has memory.
Bounds addressesOf(const GlobalRange& range, const Reach& reach, DType type);

/// What is wrong with writing a block where `operand` is read, "" if they are apart.
std::string overlap(const Bounds& written, const char* operand, const Bounds& read);

/// What a single shape reads of a tensor whose pointer is `back` elements behind where row 0 is, or would be. Precondition: outsideMemory()
/// finds nothing.
TaskOperand operandOf(const GlobalRange& range, std::int64_t back, const Reach& reach, DType type);

}  // namespace cubejit::ascendc
