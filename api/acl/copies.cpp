// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides when bytes are copied and set: at once, or when a stream comes to it. What is asked is judged at once in either case.
#include <cstring>
#include <string>

#include "acl/acl_rt.h"
#include "api/acl/findings.h"
#include "api/acl/memory.h"
#include "api/acl/stream.h"

namespace cubejit::acl {
namespace {

constexpr int kParam = ACL_ERROR_INVALID_PARAM;

void checkWrite(Findings& findings, const void* to, std::size_t most, std::size_t count, const char* function) {
  findings.require(to != nullptr, kParam, function, "the address written to is null");
  findings.require(count <= most, kParam, function,
                   std::to_string(count) + " bytes are more than the " + std::to_string(most) + " the caller allows");
  const std::size_t left = bytesLeft(to);
  findings.require(count <= left, kParam, function,
                   std::to_string(count) + " bytes are more than the " + std::to_string(left) +
                       " left of the allocation written to");
}

void checkRead(Findings& findings, const void* from, std::size_t count, aclrtMemcpyKind kind, const char* function) {
  findings.require(from != nullptr, kParam, function, "the address read from is null");
  findings.require(count <= bytesLeft(from), kParam, function,
                   std::to_string(count) + " bytes are more than is left of the allocation read from");
  findings.require(kind >= ACL_MEMCPY_HOST_TO_HOST && kind <= ACL_MEMCPY_INTER_DEVICE_TO_DEVICE, kParam, function,
                   "kind " + std::to_string(kind) + " is not known");
}

// Does `work` after what the stream has queued.
template <class Work>
aclError later(aclrtStream stream, const char* function, Work&& work) {
  const auto queue = streamOf(stream);
  if (queue == nullptr)
    return fail(ACL_ERROR_INVALID_RESOURCE_HANDLE, kRuntimeDocument, function,
                "the stream was destroyed, or never made");
  const Status queued = queue->submit([work]() -> Status {
    work();
    return Unit{};
  });
  return queued.ok() ? ACL_SUCCESS : fail(ACL_ERROR_RT_FAILURE, kRuntimeDocument, function, queued.error().message);
}

}  // namespace
}  // namespace cubejit::acl

using namespace cubejit::acl;

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&]() -> aclError {
    if (count == 0) return ACL_SUCCESS;
    Findings findings(kRuntimeDocument);
    checkWrite(findings, dst, destMax, count, "aclrtMemcpy");
    checkRead(findings, src, count, kind, "aclrtMemcpy");
    if (findings.any()) return findings.report();
    std::memmove(dst, src, count);
    return ACL_SUCCESS;
  });
}
aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&]() -> aclError {
    Findings findings(kRuntimeDocument);
    if (count > 0) {
      checkWrite(findings, dst, destMax, count, "aclrtMemcpyAsync");
      checkRead(findings, src, count, kind, "aclrtMemcpyAsync");
    }
    if (findings.any()) return findings.report();
    return later(stream, "aclrtMemcpyAsync", [=] {
      if (count > 0) std::memmove(dst, src, count);
    });
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
aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&]() -> aclError {
    Findings findings(kRuntimeDocument);
    if (count > 0) checkWrite(findings, devPtr, maxCount, count, "aclrtMemsetAsync");
    if (findings.any()) return findings.report();
    return later(stream, "aclrtMemsetAsync", [=] {
      if (count > 0) std::memset(devPtr, value, count);
    });
  });
}
