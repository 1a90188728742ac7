// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which rounds end and which are broken off; see the header.
#include "runtime/cores/core_barrier.h"

namespace cubejit {

std::string CoreBarrier::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  const std::int64_t round = round_;
  if (round < broken_ && ++waiting_ == cores_) {
    waiting_ = 0;
    ++round_;
    ended_.notify_all();
  }
  ended_.wait(lock, [&] { return round_ != round || round >= broken_; });
  return round >= broken_ ? why_ : "";
}

void CoreBarrier::leave(std::int64_t core) {
  refuse("core " + std::to_string(core) +
         " ended with fewer calls; every block must call it as often as all others, which on the chip would wait for "
         "ever");
}

void CoreBarrier::refuse(const std::string& why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (broken_ != INT64_MAX) return;
  broken_ = round_;
  why_ = why;
  ended_.notify_all();
}

}  // namespace cubejit
