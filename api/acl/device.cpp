// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the runtime's life and its one device. Nothing depends on the life: it only answers what the documents say.
#include <atomic>
#include <string>

#include "acl/acl.h"
#include "aclnn/aclnn_base.h"
#include "api/acl/findings.h"
#include "api/acl/stream.h"

namespace cubejit::acl {
namespace {

enum class Life : int { kNew, kRunning, kEnded };
std::atomic<Life> life{Life::kNew};

aclError device(std::int32_t id, const char* function) {
  if (id == 0) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_DEVICE, kRuntimeDocument, function,
              "device " + std::to_string(id) + " does not exist; there is one, 0");
}

}  // namespace

std::string& recentMessage() {
  static thread_local std::string text;
  return text;
}

}  // namespace cubejit::acl

using namespace cubejit::acl;

aclError aclInit(const char*) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&]() -> aclError {
    if (life.exchange(Life::kRunning) != Life::kRunning) return ACL_SUCCESS;
    return fail(ACL_ERROR_REPEAT_INITIALIZE, kRuntimeDocument, "aclInit", "the runtime has been begun already");
  });
}

aclError aclFinalize() {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&]() -> aclError {
    Life expected = Life::kRunning;
    if (life.compare_exchange_strong(expected, Life::kEnded)) {
      waitForAllStreams();
      return ACL_SUCCESS;
    }
    return expected == Life::kNew
               ? fail(ACL_ERROR_UNINITIALIZE, kRuntimeDocument, "aclFinalize", "the runtime has not been begun")
               : fail(ACL_ERROR_REPEAT_FINALIZE, kRuntimeDocument, "aclFinalize", "the runtime has been ended already");
  });
}

const char* aclGetRecentErrMsg() {
  return guarded<const char*>(nullptr, [] { return recentMessage().empty() ? nullptr : recentMessage().c_str(); });
}

aclnnStatus aclnnInit(const char*) { return ACLNN_SUCCESS; }
aclnnStatus aclnnFinalize() { return ACLNN_SUCCESS; }

aclError aclrtSetDevice(int32_t deviceId) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&] { return device(deviceId, "aclrtSetDevice"); });
}
aclError aclrtResetDevice(int32_t deviceId) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&] {
    const aclError known = device(deviceId, "aclrtResetDevice");
    if (known == ACL_SUCCESS) waitForAllStreams();
    return known;
  });
}
aclError aclrtGetDevice(int32_t* deviceId) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&]() -> aclError {
    if (deviceId == nullptr)
      return fail(ACL_ERROR_INVALID_PARAM, kRuntimeDocument, "aclrtGetDevice", "deviceId is null");
    *deviceId = 0;
    return ACL_SUCCESS;
  });
}
aclError aclrtGetDeviceCount(uint32_t* count) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&]() -> aclError {
    if (count == nullptr)
      return fail(ACL_ERROR_INVALID_PARAM, kRuntimeDocument, "aclrtGetDeviceCount", "count is null");
    *count = 1;
    return ACL_SUCCESS;
  });
}
aclError aclrtGetRunMode(aclrtRunMode* runMode) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&]() -> aclError {
    if (runMode == nullptr)
      return fail(ACL_ERROR_INVALID_PARAM, kRuntimeDocument, "aclrtGetRunMode", "runMode is null");
    *runMode = ACL_HOST;
    return ACL_SUCCESS;
  });
}
