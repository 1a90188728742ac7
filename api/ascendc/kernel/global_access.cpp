// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides bounds and views by address; see the header.
#include "api/ascendc/kernel/global_access.h"

namespace cubejit::ascendc {

std::string outsideMemory(const CoreContext& core, const char* tensor, const char* verb, const GlobalRange& range,
                          const Reach& reach, DType type) {
  if (!reach.any()) return "";
  if (range.address == nullptr) return std::string(tensor) + kNoMemory;
  const Bounds bounds = core.boundsOf(range);
  if (!bounds.known()) return "";
  const std::int64_t size = byteSize(type);
  const auto at = reinterpret_cast<std::uintptr_t>(range.address);
  const auto before = static_cast<std::int64_t>(at - bounds.begin), behind = static_cast<std::int64_t>(bounds.end - at);
  if (before >= 0 && reach.first * size >= -before && (reach.last + 1) * size <= behind) return "";
  return std::string(tensor) + ": elements " + std::to_string(reach.first) + " to " + std::to_string(reach.last) +
         " from where it begins are " + verb + ", its memory has " + std::to_string(behind / size) +
         " from there; check the offset it was given and the single shape";
}

Bounds addressesOf(const GlobalRange& range, const Reach& reach, DType type) {
  if (!reach.any()) return {};
  const auto at = reinterpret_cast<std::uintptr_t>(range.address);
  return {at + static_cast<std::uintptr_t>(reach.first * byteSize(type)),
          at + static_cast<std::uintptr_t>((reach.last + 1) * byteSize(type))};
}

std::string overlap(const Bounds& written, const char* operand, const Bounds& read) {
  if (written.begin >= read.end || read.begin >= written.end) return "";
  return std::string("output: the block lies in what is read of ") + operand +
         ", which later blocks read again; give " + "the result memory of its own";
}

TaskOperand operandOf(const GlobalRange& range, std::int64_t back, const Reach& reach, DType type) {
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<const std::byte*>(address); };
  const Bounds read = addressesOf(range, reach, type);
  return {at(reinterpret_cast<std::uintptr_t>(range.address) - static_cast<std::uintptr_t>(back * byteSize(type))),
          at(read.begin), static_cast<std::int64_t>(read.end - read.begin)};
}

}  // namespace cubejit::ascendc
