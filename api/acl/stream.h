// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a stream is: a queue and one thread that empties it in order. Leaves what is queued to executor.cpp.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "cubejit/float_mode.h"
#include "cubejit/result.h"

namespace cubejit::acl {

class Stream {
 public:
  static constexpr std::uint64_t kKind = 9;
  using Job = std::function<Status()>;

  /// kLimitExceeded if the system gives no thread.
  static Result<std::shared_ptr<Stream>> make();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Queues a job, which runs in the floating-point environment of the call that queues it (float_mode.h). kUnsupported in a forked child, where the thread does not exist, and after the end of the process has begun.
  Status submit(Job job);
  /// Waits until what was queued before is done; returns the first error since the last call.
  Status synchronize();
  /// Finishes what is queued and ends the thread. Later calls of submit() fail.
  void stop();

 private:
  static constexpr std::uint64_t kNothing = UINT64_MAX;
  Stream();
  struct Queued {
    Job job;
    FloatMode floats;
  };
  void work();
  void complete(Queued& queued);

  std::mutex mutex_;
  std::condition_variable arrived_, finished_;
  std::deque<Queued> jobs_;
  std::uint64_t submitted_ = 0;
  std::atomic<std::uint64_t> completed_{0};
  std::atomic<std::uint64_t> awaited_{kNothing};  ///< the fewest completed jobs that anybody waits for
  bool stopping_ = false;
  std::string failure_;
  const long process_;
  std::thread thread_;
};

/// The stream of a handle; null = the default stream, which is made when it is first used. Null result: there is none.
std::shared_ptr<Stream> streamOf(const void* handle);

/// Waits for all streams; errors stay with their streams.
void waitForAllStreams();

}  // namespace cubejit::acl
