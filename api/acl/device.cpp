// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the runtime's life and its switches. Nothing depends on the life: it only answers what the documents say.
#include "api/acl/device.h"

#include <array>
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

using Switches = std::array<std::atomic<std::int64_t>, 3>;
Switches processSwitches{}, contextSwitches{};
constexpr std::array<std::int64_t, 3> kMostOfSwitch{3, 1, 1};

bool known(aclSysParamOpt opt) { return opt >= ACL_OPT_DETERMINISTIC && opt <= ACL_OPT_STRONG_CONSISTENCY; }

aclError set(Switches& switches, aclSysParamOpt opt, std::int64_t value, const char* function) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&]() -> aclError {
    if (!known(opt))
      return fail(ACL_ERROR_INVALID_PARAM, kRuntimeDocument, function, "opt " + std::to_string(opt) + " is not known");
    const std::int64_t most = kMostOfSwitch[static_cast<std::size_t>(opt)];
    if (value < 0 || value > most)
      return fail(ACL_ERROR_INVALID_PARAM, kRuntimeDocument, function,
                  "value " + std::to_string(value) + " must be 0 to " + std::to_string(most));
    switches[static_cast<std::size_t>(opt)] = value;
    return ACL_SUCCESS;
  });
}

aclError get(const Switches& switches, aclSysParamOpt opt, std::int64_t* value, const char* function) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&]() -> aclError {
    if (!known(opt) || value == nullptr)
      return fail(ACL_ERROR_INVALID_PARAM, kRuntimeDocument, function,
                  value == nullptr ? "value is null" : "opt " + std::to_string(opt) + " is not known");
    *value = switches[static_cast<std::size_t>(opt)];
    return ACL_SUCCESS;
  });
}

aclError device(std::int32_t id, const char* function) {
  if (id == 0) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_DEVICE, kRuntimeDocument, function,
              "device " + std::to_string(id) + " does not exist; there is one, 0");
}

}  // namespace

bool deterministic() {
  constexpr auto kIndex = static_cast<std::size_t>(ACL_OPT_DETERMINISTIC);
  return processSwitches[kIndex] != 0 || contextSwitches[kIndex] != 0;
}

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

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return set(processSwitches, opt, value, "aclrtSetSysParamOpt");
}
aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return get(processSwitches, opt, value, "aclrtGetSysParamOpt");
}
aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return set(contextSwitches, opt, value, "aclrtCtxSetSysParamOpt");
}
aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return get(contextSwitches, opt, value, "aclrtCtxGetSysParamOpt");
}
