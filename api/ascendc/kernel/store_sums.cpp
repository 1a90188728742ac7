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
void store(const CubeCore& core, const Placement& place, const GroupMask& mask, bool add, Stored* output,
           const Widen& widen, const Round& round) {
  for (std::int64_t r = 0; r < place.rows; ++r) {
    for (std::int64_t c = 0; c < place.columns; ++c) {
      const std::atomic_ref<Stored> element(output[place.at(r, c)]);
      const Stored sum = round(mask.keeps(r, c) ? core.sum(r, c) : 0);
      if (!add) {
        element.store(sum, std::memory_order_relaxed);
        continue;
      }
      Stored before = element.load(std::memory_order_relaxed);
      while (!element.compare_exchange_weak(before, round(widen(before) + widen(sum)), std::memory_order_relaxed)) {
      }
    }
  }
}

}  // namespace

void storeSums(const CubeCore& core, const Placement& place, const GroupMask& mask, DType type, bool add,
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
