// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the rows. Source of every number: the operator's public documentation, see PROVENANCE.md.
#include "api/acl/parts.h"

#include <mutex>
#include <optional>

#include "acl/acl_rt.h"
#include "api/acl/findings.h"
#include "api/acl/options.h"
#include "cubejit/machines.h"
#include "cubejit_acl/soc.h"

namespace cubejit::acl {
namespace {

constexpr std::int64_t kMost = 2147483646, kMillion = 1000000;
constexpr Range kAny{1, INT64_MAX}, kAnyPad{0, INT64_MAX}, kByte{1, 255}, kBytePad{0, 255}, kLong{1, kMost},
    kLongPad{0, kMost};
constexpr Ranges kFree{kAny, kAny, kAny, kAny, kAnyPad, kAnyPad, kAny, kAny, INT64_MAX};
constexpr Ranges kFlat2201{kByte, kLong, kLong, kLong, kBytePad, kBytePad, kByte, kByte, kMost};
constexpr Ranges kDeep2201{kByte, kLong, {1, 63}, kLong, kBytePad, kLongPad, kByte, kByte, kMost};
constexpr Ranges kTransposed3510{kByte,         kAny,  kLong,         {1, kMillion}, kLongPad,
                                 {0, kMillion}, kLong, {1, kMillion}, INT64_MAX};

// architecture, product; backward, tbc, forward; bf16, fp32Cube, rank5, eightBit; emptyInputs, outputsOfSameType, biasIsNd,
// depthwiseMultiple, groupedDwStaysHalf; hf32; ranges. Forward on a 310B has pages, but none that states its types.
constexpr Family kFamilies[] = {{0, "host", true, true, true, true, true, true, true, true, false, false, false, false,
                                 DType::kHf32, kFree, kFree, kFree},
                                {1001, "Atlas training (910)", true, true, true, false, false, false, false, false,
                                 false, false, true, false, DType::kF32, kFree, kFree, kFree},
                                {2002, "Atlas inference (310P)", true, false, true, false, false, false, false, false,
                                 false, false, true, false, DType::kF32, kFree, kFree, kFree},
                                {2201, "Atlas A2 and A3", true, true, true, true, true, true, false, true, false, true,
                                 true, true, DType::kHf32, kFlat2201, kDeep2201, kFree},
                                {3510, "Ascend 950", true, true, true, true, true, true, true, true, true, true, false,
                                 false, DType::kHf32Low, kFree, kFree, kTransposed3510},
                                {3002, "Atlas 200I/500 A2 (310B)", false, false, false, false, false, false, false,
                                 false, false, false, true, false, DType::kF32, kFree, kFree, kFree}};

struct Choice {
  std::mutex mutex;
  std::optional<Result<AclOptions>> environment;
  std::shared_ptr<const Part> part;
  std::optional<bool> emulate;
};
Choice& choice() {
  static auto* const one = new Choice;
  return *one;
}

}  // namespace

Result<std::shared_ptr<const Part>> partByName(const std::string& name) {
  const auto part = std::make_shared<Part>();
  part->name = name;
  int architecture = 0;
  if (name != "host") {
    CUBEJIT_TRY(machine, machineByName(name));
    part->name = machine.name;
    part->machine = std::make_shared<const Machine>(machine);
    architecture = machine.npu.architecture == 0 ? -1 : machine.npu.architecture;
  }
  for (const Family& family : kFamilies) {
    if (family.architecture == architecture) part->family = &family;
  }
  if (part->family != nullptr) return std::shared_ptr<const Part>(part);
  return Error{ErrorCode::kUnsupported, Stage::kProblem,
               "the rules of '" + name + "' are not documented for these operators; choose another chip, or host"};
}

Result<std::shared_ptr<const Part>> currentPart() {
  Choice& c = choice();
  const std::lock_guard<std::mutex> lock(c.mutex);
  if (!c.environment) c.environment = aclOptionsFromEnvironment();
  CUBEJIT_TRY(options, *c.environment);
  if (c.part == nullptr) {
    auto part = partByName(options.soc);
    if (!part.ok()) return Error{part.error().code, part.error().stage, "CUBEJIT_SOC: " + part.error().message};
    c.part = *part;
  }
  const bool emulated = c.emulate.value_or(options.emulate);
  if (c.part->emulated != emulated) {
    Part changed = *c.part;
    changed.emulated = emulated;
    c.part = std::make_shared<const Part>(std::move(changed));
  }
  return c.part;
}

void choosePart(const Part& part) {
  Choice& c = choice();
  const std::lock_guard<std::mutex> lock(c.mutex);
  c.part = std::make_shared<const Part>(part);
}

void chooseEmulation(bool on) {
  Choice& c = choice();
  const std::lock_guard<std::mutex> lock(c.mutex);
  c.emulate = on;
}

}  // namespace cubejit::acl

using namespace cubejit::acl;

aclError cubejit_acl_set_soc(const char* name) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&]() -> aclError {
    if (name == nullptr) return fail(ACL_ERROR_INVALID_PARAM, kRuntimeDocument, "cubejit_acl_set_soc", "name is null");
    const auto part = partByName(name);
    if (!part.ok()) return fail(ACL_ERROR_INVALID_PARAM, kRuntimeDocument, "cubejit_acl_set_soc", part.error().message);
    choosePart(**part);
    return ACL_SUCCESS;
  });
}

aclError cubejit_acl_set_emulation(int on) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&]() -> aclError {
    if (on != 0 && on != 1)
      return fail(ACL_ERROR_INVALID_PARAM, kRuntimeDocument, "cubejit_acl_set_emulation",
                  "on = " + std::to_string(on) + " must be 0 or 1");
    chooseEmulation(on == 1);
    return ACL_SUCCESS;
  });
}

const char* aclrtGetSocName() {
  return guarded<const char*>("host", [&]() -> const char* {
    const auto part = currentPart();
    if (!part.ok()) return "host";
    static thread_local std::string name;
    name = (*part)->name;
    return name.c_str();
  });
}
