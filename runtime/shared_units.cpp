// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "runtime/shared_units.h"

#include <utility>

namespace cubejit {

const UnitCode* SharedUnits::codeFor(DType operand, std::string& why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Slot& slot : slots_) {
    if (slot.operand != operand) continue;
    why = slot.why;
    return slot.units == nullptr ? nullptr : &slot.units->code;
  }
  Slot slot;
  slot.operand = operand;
  auto loaded = loadUnits(operand, options_);
  if (loaded.ok())
    slot.units = std::move(*loaded);
  else
    slot.why = loaded.error().message;
  why = slot.why;
  slots_.push_back(std::move(slot));
  return slots_.back().units == nullptr ? nullptr : &slots_.back().units->code;
}

}  // namespace cubejit
