// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how memory is given, device's and host's alike: the process's own, each allocation remembered so that misuse is found before
// it writes.
#include "api/acl/memory.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "acl/acl_rt.h"
#include "api/acl/findings.h"

namespace cubejit::acl {
namespace {

constexpr std::size_t kDeviceAlignment = 512;  // documented of the device's allocator

struct Allocations {
  std::shared_mutex mutex;
  std::map<std::uintptr_t, std::size_t> bytes;  ///< by address
};
Allocations& allocations() {
  static auto* const all = new Allocations;  // deleters may run after static objects are gone
  return *all;
}

aclError allocate(void** to, std::size_t size, const char* function) {
  if (to == nullptr || size == 0)
    return fail(ACL_ERROR_INVALID_PARAM, kRuntimeDocument, function,
                to == nullptr ? "the address of the pointer is null" : "size is 0");
  void* memory = nullptr;
  if (size > SIZE_MAX / 2 || posix_memalign(&memory, kDeviceAlignment, size) != 0)
    return fail(ACL_ERROR_BAD_ALLOC, kRuntimeDocument, function, "no " + std::to_string(size) + " bytes are left");
  Allocations& all = allocations();
  try {
    const std::lock_guard<std::shared_mutex> lock(all.mutex);
    all.bytes.emplace(reinterpret_cast<std::uintptr_t>(memory), size);
  } catch (...) {
    std::free(memory);
    throw;
  }
  *to = memory;
  return ACL_SUCCESS;
}

aclError release(void* memory, const char* function) {
  Allocations& all = allocations();
  {
    const std::lock_guard<std::shared_mutex> lock(all.mutex);
    if (all.bytes.erase(reinterpret_cast<std::uintptr_t>(memory)) == 0)
      return fail(ACL_ERROR_INVALID_PARAM, kRuntimeDocument, function,
                  "the address was freed before, or was not allocated by this runtime");
  }
  std::free(memory);
  return ACL_SUCCESS;
}

}  // namespace

std::size_t bytesLeft(const void* address) {
  Allocations& all = allocations();
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const std::shared_lock<std::shared_mutex> lock(all.mutex);
  auto next = all.bytes.upper_bound(at);
  if (next == all.bytes.begin()) return SIZE_MAX;
  --next;
  return at - next->first < next->second ? next->second - (at - next->first) : SIZE_MAX;
}

}  // namespace cubejit::acl

using namespace cubejit::acl;

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return guarded<aclError>(ACL_ERROR_BAD_ALLOC, [&]() -> aclError {
    if ((static_cast<unsigned>(policy) & 0xffU) > ACL_MEM_MALLOC_HUGE1G_ONLY_P2P)
      return fail(ACL_ERROR_INVALID_PARAM, kRuntimeDocument, "aclrtMalloc",
                  "policy " + std::to_string(policy) + " is not known");
    return allocate(devPtr, size, "aclrtMalloc");
  });
}
aclError aclrtFree(void* devPtr) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&] { return release(devPtr, "aclrtFree"); });
}
aclError aclrtMallocHost(void** hostPtr, size_t size) {
  return guarded<aclError>(ACL_ERROR_BAD_ALLOC, [&] { return allocate(hostPtr, size, "aclrtMallocHost"); });
}
aclError aclrtFreeHost(void* hostPtr) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&] { return release(hostPtr, "aclrtFreeHost"); });
}
