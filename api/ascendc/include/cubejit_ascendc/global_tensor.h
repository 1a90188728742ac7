// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a GlobalTensor is on a host: an address and the memory around it, so that what reaches beyond can be reported.
// Copies share the memory. C++17.
#pragma once

#include <cstdint>

#include "cubejit_ascendc/core.h"
#include "cubejit_ascendc/qualifiers.h"

namespace AscendC {

template <typename T>
class GlobalTensor {
 public:
  using PrimType = T;

  /// `elements` elements from `buffer` on; accesses beyond are reported.
  void SetGlobalBuffer(__gm__ T* buffer, uint64_t elements) {
    range_ = {buffer, buffer, (elements < uint64_t{kMostElements} ? elements : uint64_t{kMostElements}) * sizeof(T)};
    start_ = 0;
  }
  /// Without a size, only what the launcher was told about the memory bounds accesses.
  void SetGlobalBuffer(__gm__ T* buffer) { SetGlobalBuffer(buffer, 0); }

  /// The tensor that begins `offset` elements further on. Nothing is touched yet. Differences that are less than 0 lead back; what no
  /// memory reaches is a tensor without memory.
  GlobalTensor operator[](uint64_t offset) const {
    GlobalTensor moved = *this;
    moved.start_ += offset;
    const auto start = static_cast<int64_t>(moved.start_);
    moved.range_.address =
        range_.buffer == nullptr || start > kMostElements || start < -kMostElements
            ? nullptr
            : reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(range_.buffer) + moved.start_ * sizeof(T));
    return moved;
  }

  /// An element; 0, and a report, outside the memory.
  T GetValue(uint64_t offset) const { return touches(offset, "GlobalTensor::GetValue") ? *at(offset) : T{}; }
  void SetValue(uint64_t offset, T value) const {
    if (touches(offset, "GlobalTensor::SetValue")) *at(offset) = value;
  }
  /// An element; outside the memory a place of no meaning, and a report.
  T& operator()(uint64_t offset) const {
    static thread_local T nowhere;
    return touches(offset, "GlobalTensor::operator()") ? *at(offset) : nowhere;
  }

  /// Elements from here to the end of what SetGlobalBuffer was told; 0 if it was told nothing.
  uint64_t GetSize() const {
    const uint64_t all = range_.bytes / sizeof(T);
    return all > start_ ? all - start_ : 0;
  }
  __gm__ T* GetPhyAddr() const { return static_cast<T*>(range_.address); }
  __gm__ T* GetPhyAddr(uint64_t offset) const { return at(offset); }

  /// Beyond the documented interface: what the gradients are told.
  const cubejit::ascendc::GlobalRange& range() const { return range_; }

 private:
  static constexpr int64_t kMostElements = int64_t{1} << 48;  ///< more than addresses tell apart

  T* at(uint64_t offset) const { return (*this)[offset].GetPhyAddr(); }
  bool touches(uint64_t offset, const char* call) const {
    return cubejit::ascendc::mayTouch((*this)[offset].range_, 0, sizeof(T), call);
  }

  cubejit::ascendc::GlobalRange range_;
  uint64_t start_ = 0;  ///< elements from the buffer, modulo 2^64
};

}  // namespace AscendC
