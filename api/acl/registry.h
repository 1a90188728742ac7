// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a C caller's handles are: numbers that are never used twice, so that a destroyed one is recognised and a stranger's
// pointer is not followed. Leaves what objects are to objects.h, executor.h and stream.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

namespace cubejit::acl {

/// The objects of one kind that exist. Its own are made with registry() below and live until the process ends, so that handles can
/// be destroyed by whatever runs last.
template <class T>
class Registry {
 public:
  /// `kind` is 1 to 127. It is the top byte of the handles, which makes them addresses that no x86-64 or AArch64 process maps.
  explicit Registry(std::uint64_t kind) : next_(kind << 56) {}

  void* add(std::shared_ptr<T> object) {
    const std::uint64_t handle = next_.fetch_add(16, std::memory_order_relaxed) + 16;
    const std::lock_guard<std::shared_mutex> lock(mutex_);
    objects_.emplace(handle, std::move(object));
    return reinterpret_cast<void*>(handle);  // NOLINT: never followed
  }

  /// Null if there is no such object (any more). The caller's share keeps it alive while it is used.
  std::shared_ptr<T> find(const void* handle) const {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<std::uint64_t>(handle));
    return found == objects_.end() ? nullptr : found->second;
  }

  /// Null if there is no such object.
  std::shared_ptr<T> remove(const void* handle) {
    const std::lock_guard<std::shared_mutex> lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<std::uint64_t>(handle));
    if (found == objects_.end()) return nullptr;
    std::shared_ptr<T> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

  /// Puts another object behind an existing handle; those who found the old one keep it. False if there is no such handle.
  bool replace(const void* handle, std::shared_ptr<T> object) {
    const std::lock_guard<std::shared_mutex> lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<std::uint64_t>(handle));
    if (found == objects_.end()) return false;
    found->second.swap(object);
    return true;
  }

  template <class Visitor>
  void forEach(Visitor&& visit) const {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    for (const auto& [handle, object] : objects_) visit(object);
  }

 private:
  std::atomic<std::uint64_t> next_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::uint64_t, std::shared_ptr<T>> objects_;
};

/// The registry of a kind of object; T::kKind numbers it.
template <class T>
Registry<T>& registry() {
  static auto* const objects = new Registry<T>(T::kKind);
  return *objects;
}

}  // namespace cubejit::acl
