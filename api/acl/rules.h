// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which requests are taken, in the documented order of checks, with the documented codes. Within one group of checks all
// violated rules are found; the first one's code counts. Leaves null arguments to the functions that resolve handles.
#pragma once

#include <initializer_list>

#include "api/acl/eight_bit.h"
#include "api/acl/findings.h"
#include "api/acl/request.h"

namespace cubejit::acl {

/// Types, formats, attributes, cubeMathType: steps 4 to 8. If nothing is found, the type operands are rounded to is returned.
DType checkTypes(const ConvRequest& request, Findings& findings);

/// Shapes of tensors against one another: steps 10 to 13.
void checkShapes(const ConvRequest& request, Findings& findings);

/// The rules of empty tensors: step 14.
void checkEmpty(const ConvRequest& request, Findings& findings);

/// Array lengths alone; everything after them needs it.
void checkLengths(const ConvRequest& request, Findings& findings);

/// What the part's own operators refuse: steps 15 to 17. `compute` is what checkTypes returned.
void checkPart(const ConvRequest& request, DType compute, Findings& findings);

/// Whether a view stays within its storage; asked of all tensors that are there.
void checkStorage(const Tensor& tensor, const char* name, Findings& findings);

/// The type that operands of a promoted type are rounded to, or why not.
DType computeType(const Part& part, aclDataType promoted, int mathType, Findings& findings);
/// FLOAT unless all are FLOAT16, or all BF16.
aclDataType promotedType(std::initializer_list<aclDataType> types);
bool isFloating(aclDataType dtype);
DType dtypeOf(aclDataType dtype);  ///< of 8 bits: FLOAT16, which has all their numbers
EightBit eightBitOf(aclDataType dtype);

}  // namespace cubejit::acl
