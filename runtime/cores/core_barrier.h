// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides when the cores of a launch go on behind SyncAll, and why they cannot wait for each other. Leaves reports to its callers.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

namespace cubejit {

/// A barrier of `cores` threads, which wait for each other in rounds. Thread-safe.
class CoreBarrier {
 public:
  explicit CoreBarrier(int cores) : cores_(cores) {}
  /// Until all cores wait: empty, or why they could not.
  std::string wait();
  /// A core waits no more: the round that has begun, or the next, cannot end.
  void leave(std::int64_t core);
  /// The same for any reason. The first one stays.
  void refuse(const std::string& why);

 private:
  const int cores_;
  std::mutex mutex_;
  std::condition_variable ended_;
  int waiting_ = 0;
  std::int64_t round_ = 0, broken_ = INT64_MAX;  ///< the first round that cannot end
  std::string why_;
};

}  // namespace cubejit
