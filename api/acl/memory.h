// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is known of memory: the allocations of aclrtMalloc and aclrtMallocHost. Memory from elsewhere is taken as it is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cubejit::acl {

/// Bytes from the address to the end of its allocation; SIZE_MAX if it lies in no allocation of this runtime.
std::size_t bytesLeft(const void* address);

}  // namespace cubejit::acl
