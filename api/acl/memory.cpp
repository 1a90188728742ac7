// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how device memory is given: the process's own, each allocation remembered so that misuse is found before it writes.
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

constexpr std::size_t kAlignment = 512;  // documented of the device's allocator

struct Allocations {
  std::shared_mutex mutex;
  std::map<std::uintptr_t, std::size_t> bytes;  ///< by address
};
Allocations& allocations() {
  static auto* const all = new Allocations;  // deleters may run after static objects are gone
  return *all;
}

// The rules both writing functions have.
void checkWrite(Findings& findings, const void* to, std::size_t most, std::size_t count, const char* function) {
  const int code = ACL_ERROR_INVALID_PARAM;
  findings.require(to != nullptr, code, function, "the address written to is null");
  findings.require(count <= most, code, function,
                   std::to_string(count) + " bytes are more than the " + std::to_string(most) + " the caller allows");
  const std::size_t left = bytesLeft(to);
  findings.require(count <= left, code, function,
                   std::to_string(count) + " bytes are more than the " + std::to_string(left) +
                       " left of the allocation written to");
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
    Findings findings(kRuntimeDocument);
    const auto page = static_cast<unsigned>(policy) & 0xffU;
    findings.require(devPtr != nullptr, ACL_ERROR_INVALID_PARAM, "aclrtMalloc", "devPtr is null");
    findings.require(size > 0, ACL_ERROR_INVALID_PARAM, "aclrtMalloc", "size is 0");
    findings.require(page <= ACL_MEM_MALLOC_HUGE1G_ONLY_P2P, ACL_ERROR_INVALID_PARAM, "aclrtMalloc",
                     "policy " + std::to_string(policy) + " is not known");
    if (findings.any()) return findings.report();
    void* memory = nullptr;
    if (size > SIZE_MAX / 2 || posix_memalign(&memory, kAlignment, size) != 0)
      return fail(ACL_ERROR_BAD_ALLOC, kRuntimeDocument, "aclrtMalloc",
                  "no " + std::to_string(size) + " bytes are left");
    Allocations& all = allocations();
    try {
      const std::lock_guard<std::shared_mutex> lock(all.mutex);
      all.bytes.emplace(reinterpret_cast<std::uintptr_t>(memory), size);
    } catch (...) {
      std::free(memory);
      throw;
    }
    *devPtr = memory;
    return ACL_SUCCESS;
  });
}

aclError aclrtFree(void* devPtr) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&]() -> aclError {
    Allocations& all = allocations();
    {
      const std::lock_guard<std::shared_mutex> lock(all.mutex);
      if (all.bytes.erase(reinterpret_cast<std::uintptr_t>(devPtr)) == 0)
        return fail(ACL_ERROR_INVALID_PARAM, kRuntimeDocument, "aclrtFree",
                    "the address was freed before, or is not one of aclrtMalloc's");
    }
    std::free(devPtr);
    return ACL_SUCCESS;
  });
}

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&]() -> aclError {
    if (count == 0) return ACL_SUCCESS;
    Findings findings(kRuntimeDocument);
    checkWrite(findings, dst, destMax, count, "aclrtMemcpy");
    findings.require(src != nullptr, ACL_ERROR_INVALID_PARAM, "aclrtMemcpy", "the address read from is null");
    findings.require(count <= bytesLeft(src), ACL_ERROR_INVALID_PARAM, "aclrtMemcpy",
                     std::to_string(count) + " bytes are more than is left of the allocation read from");
    findings.require(kind >= ACL_MEMCPY_HOST_TO_HOST && kind <= ACL_MEMCPY_INTER_DEVICE_TO_DEVICE,
                     ACL_ERROR_INVALID_PARAM, "aclrtMemcpy", "kind " + std::to_string(kind) + " is not known");
    if (findings.any()) return findings.report();
    std::memmove(dst, src, count);
    return ACL_SUCCESS;
  });
}

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&]() -> aclError {
    if (count == 0) return ACL_SUCCESS;
    Findings findings(kRuntimeDocument);
    checkWrite(findings, devPtr, maxCount, count, "aclrtMemset");
    if (findings.any()) return findings.report();
    std::memset(devPtr, value, count);
    return ACL_SUCCESS;
  });
}
