// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which context a thread has: the one it chose, until that is destroyed; else the device's own, which cannot be.
#include "api/acl/context.h"

#include <memory>
#include <string>

#include "acl/acl_rt.h"
#include "api/acl/findings.h"
#include "api/acl/registry.h"

namespace cubejit::acl {
namespace {

Switches processSwitches{};
constexpr std::array<std::int64_t, 3> kMostOfSwitch{3, 1, 1};

struct Chosen {
  std::weak_ptr<Context> context;
  void* handle = nullptr;
};
Chosen& chosen() {
  static thread_local Chosen one;
  return one;
}

const Chosen& devicesOwn() {
  static const auto* const one = [] {
    static auto* const kept = new std::shared_ptr<Context>(std::make_shared<Context>());
    return new Chosen{*kept, registry<Context>().add(*kept)};
  }();
  return *one;
}

Chosen current() {
  Chosen& one = chosen();
  return one.context.expired() ? devicesOwn() : one;
}

bool known(aclSysParamOpt opt) { return opt >= ACL_OPT_DETERMINISTIC && opt <= ACL_OPT_STRONG_CONSISTENCY; }

aclError set(Switches& switches, aclSysParamOpt opt, std::int64_t value, const char* function) {
  if (!known(opt))
    return fail(ACL_ERROR_INVALID_PARAM, kRuntimeDocument, function, "opt " + std::to_string(opt) + " is not known");
  const std::int64_t most = kMostOfSwitch[static_cast<std::size_t>(opt)];
  if (value < 0 || value > most)
    return fail(ACL_ERROR_INVALID_PARAM, kRuntimeDocument, function,
                "value " + std::to_string(value) + " must be 0 to " + std::to_string(most));
  switches[static_cast<std::size_t>(opt)] = value;
  return ACL_SUCCESS;
}

aclError get(const Switches& switches, aclSysParamOpt opt, std::int64_t* value, const char* function) {
  if (!known(opt) || value == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, kRuntimeDocument, function,
                value == nullptr ? "value is null" : "opt " + std::to_string(opt) + " is not known");
  *value = switches[static_cast<std::size_t>(opt)];
  return ACL_SUCCESS;
}

aclError noContext(const char* function) {
  return fail(ACL_ERROR_INVALID_PARAM, kRuntimeDocument, function, "the context was destroyed, or never made");
}

template <class Body>
aclError withContext(Body&& body) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&]() -> aclError {
    const std::shared_ptr<Context> context = current().context.lock();
    return body(context == nullptr ? processSwitches : context->switches);
  });
}

}  // namespace

bool deterministic() {
  constexpr auto kIndex = static_cast<std::size_t>(ACL_OPT_DETERMINISTIC);
  const std::shared_ptr<Context> context = current().context.lock();
  return processSwitches[kIndex] != 0 || (context != nullptr && context->switches[kIndex] != 0);
}

}  // namespace cubejit::acl

using namespace cubejit::acl;

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  return guarded<aclError>(ACL_ERROR_BAD_ALLOC, [&]() -> aclError {
    if (context == nullptr)
      return fail(ACL_ERROR_INVALID_PARAM, kRuntimeDocument, "aclrtCreateContext", "context is null");
    if (const aclError status = aclrtSetDevice(deviceId); status != ACL_SUCCESS) return status;
    const auto made = std::make_shared<Context>();
    *context = registry<Context>().add(made);
    chosen() = {made, *context};
    return ACL_SUCCESS;
  });
}
aclError aclrtDestroyContext(aclrtContext context) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&]() -> aclError {
    if (context == devicesOwn().handle)
      return fail(ACL_ERROR_INVALID_PARAM, kRuntimeDocument, "aclrtDestroyContext", "the device's own context stays");
    return registry<Context>().remove(context) != nullptr ? ACL_SUCCESS : noContext("aclrtDestroyContext");
  });
}
aclError aclrtSetCurrentContext(aclrtContext context) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&]() -> aclError {
    const auto found = registry<Context>().find(context);
    if (found == nullptr) return noContext("aclrtSetCurrentContext");
    chosen() = {found, context};
    return ACL_SUCCESS;
  });
}
aclError aclrtGetCurrentContext(aclrtContext* context) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&]() -> aclError {
    if (context == nullptr)
      return fail(ACL_ERROR_INVALID_PARAM, kRuntimeDocument, "aclrtGetCurrentContext", "context is null");
    *context = current().handle;
    return ACL_SUCCESS;
  });
}

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR,
                           [&] { return set(processSwitches, opt, value, "aclrtSetSysParamOpt"); });
}
aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR,
                           [&] { return get(processSwitches, opt, value, "aclrtGetSysParamOpt"); });
}
aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return withContext([&](Switches& switches) { return set(switches, opt, value, "aclrtCtxSetSysParamOpt"); });
}
aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return withContext([&](Switches& switches) { return get(switches, opt, value, "aclrtCtxGetSysParamOpt"); });
}
