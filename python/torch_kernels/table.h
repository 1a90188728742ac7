// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where calls find who computes them without asking Python: a table of what was decided there, which counts the calls.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "python/core/runnable.h"
#include "python/torch_kernels/key.h"

namespace cubejit::torch_kernels {

/// Shape and strides (elements) of a result.
using Lie = std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>;
using Lies = std::array<std::optional<Lie>, 4>;  ///< of dx, dw, db, y, where they are ours

/// Who computes the calls of one key. All but its counts is settled when it is published.
class Decision {
 public:
  /// runnable: is released with it; null: PyTorch computes them. threads: of each run; -1: as many as PyTorch uses at the call.
  Decision(const Key& key, const python::Runnable* runnable, int threads, Lies results)
      : key(key), runnable(runnable), threads(threads), results(std::move(results)) {}
  Decision(const Decision&) = delete;
  Decision& operator=(const Decision&) = delete;
  ~Decision() {
    if (runnable != nullptr) runnable->release(runnable);
  }

  const Key key;
  const python::Runnable* const runnable;
  const int threads;
  const Lies results;
  std::atomic<std::int64_t> left = 0;  ///< calls until Python is asked again
  std::atomic<std::int64_t> used = 0;  ///< the table's time of the last call

  void count(std::chrono::nanoseconds took) {
    calls_.fetch_add(1, std::memory_order_relaxed);
    nanoseconds_.fetch_add(took.count(), std::memory_order_relaxed);
    if (took.count() < best_.load(std::memory_order_relaxed)) best_.store(took.count(), std::memory_order_relaxed);
  }
  /// What was counted since the last time: the number of calls, the seconds that all took, and those of the shortest one.
  std::tuple<std::int64_t, double, double> take() {
    return {calls_.exchange(0), 1e-9 * static_cast<double>(nanoseconds_.exchange(0)),
            1e-9 * static_cast<double>(best_.exchange(std::numeric_limits<std::int64_t>::max()))};
  }

 private:
  std::atomic<std::int64_t> calls_ = 0, nanoseconds_ = 0, best_ = std::numeric_limits<std::int64_t>::max();
};

/// May be used by many threads. One lock guards it, for the time of a look-up.
class Table {
 public:
  std::atomic<std::int64_t> time = 0;

  /// Null: nothing has been decided, or Python is to be asked again.
  std::shared_ptr<Decision> find(const Key& key) {
    const std::lock_guard held(mutex_);
    const auto found = decisions_.find(key);
    if (found == decisions_.end()) return nullptr;
    Decision& decision = *found->second;
    decision.used.store(time.load(std::memory_order_relaxed), std::memory_order_relaxed);
    return decision.left.fetch_sub(1, std::memory_order_relaxed) > 0 ? found->second : nullptr;
  }
  void publish(const std::shared_ptr<Decision>& decision) {
    auto added = decision;
    const std::lock_guard held(mutex_);
    decisions_[decision->key].swap(added);  // what was there goes without the lock
  }
  /// Threads that have found it may still go by it.
  void withdraw(const Decision& decision) {
    std::shared_ptr<Decision> gone;
    const std::lock_guard held(mutex_);
    const auto found = decisions_.find(decision.key);
    if (found == decisions_.end() || found->second.get() != &decision) return;
    gone = std::move(found->second);
    decisions_.erase(found);
  }

  void clear() {
    decltype(decisions_) gone;
    const std::lock_guard held(mutex_);
    gone.swap(decisions_);
  }

  /// Around a fork, so that the child finds the table whole.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<Decision>, HashOfKey> decisions_;
};

}  // namespace cubejit::torch_kernels
