// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the elements' conversion and addition; see the header.
#include "api/ascendc/kernel/store_sums.h"

#include <atomic>

#include "cubejit/float16.h"

namespace cubejit::ascendc {
namespace {

// Widen and Round convert between the stored element and float.
template <class Stored, class Widen, class Round>
void store(const KernelCore& core, const Placement& place, const GroupMask& mask, bool add, Stored* output,
           const Widen& widen, const Round& round) {
  place.eachRun([&](std::int64_t r, std::int64_t c, std::int64_t count, std::int64_t at) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::atomic_ref<Stored> element(output[at + i]);
      const Stored sum = round(mask.keeps(r, c + i) ? core.sum(r, c + i) : 0);
      const Stored before = add ? element.load(std::memory_order_relaxed) : Stored{};
      element.store(add ? round(widen(before) + widen(sum)) : sum, std::memory_order_relaxed);
    }
  });
}

}  // namespace

void storeSums(const KernelCore& core, const Placement& place, const GroupMask& mask, DType type, bool add,
               void* output) {
  switch (type) {
    case DType::kF16: return store(core, place, mask, add, static_cast<std::uint16_t*>(output), f16ToFloat, floatToF16);
    case DType::kBf16:
      return store(core, place, mask, add, static_cast<std::uint16_t*>(output), bf16ToFloat, floatToBf16);
    default: {
      const auto same = [](float v) { return v; };
      return store(core, place, mask, add, static_cast<float*>(output), same, same);
    }
  }
}

}  // namespace cubejit::ascendc
