// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how streams run: in order within one, side by side across. When the process ends, what is queued is finished first.
#include "api/acl/stream.h"

#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "acl/acl_rt.h"
#include "api/acl/findings.h"
#include "api/acl/registry.h"

namespace cubejit::acl {
namespace {

struct DefaultStream {
  std::mutex mutex;
  std::shared_ptr<Stream> stream;
};
DefaultStream& defaultStream() {
  static auto* const one = new DefaultStream;
  return *one;
}

std::vector<std::shared_ptr<Stream>> allStreams() {
  std::vector<std::shared_ptr<Stream>> all;
  registry<Stream>().forEach([&](const std::shared_ptr<Stream>& stream) { all.push_back(stream); });
  const std::lock_guard<std::mutex> lock(defaultStream().mutex);
  if (defaultStream().stream != nullptr) all.push_back(defaultStream().stream);
  return all;
}

// A job that throws has failed, and the stream goes on.
Status withoutFailing(const Stream::Job& job, FloatMode floats) noexcept {
  const FloatScope environment(floats);
  try {
    return job();
  } catch (...) {
    return Error{ErrorCode::kLimitExceeded, Stage::kRun, "out of memory"};
  }
}

// Made with the first stream, so that it goes before anything a job uses.
struct StopAtExit {
  ~StopAtExit() {
    for (const auto& stream : allStreams()) stream->stop();
  }
};

}  // namespace

Stream::Stream() : process_(getpid()) {}

Result<std::shared_ptr<Stream>> Stream::make() {
  static const StopAtExit stopAtExit;
  try {
    std::shared_ptr<Stream> stream(new Stream);
    stream->thread_ = std::thread([raw = stream.get()] { raw->work(); });
    return stream;
  } catch (const std::system_error& error) {
    return Error{ErrorCode::kLimitExceeded, Stage::kRun, std::string("no thread for a stream: ") + error.what()};
  }
}

Stream::~Stream() { stop(); }

void Stream::stop() {
  if (getpid() != process_) {  // the thread is the parent's
    if (thread_.joinable()) thread_.detach();
    return;
  }
  std::thread ending;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    ending.swap(thread_);
  }
  arrived_.notify_all();
  if (ending.joinable()) ending.join();
}

Status Stream::submit(Job job) {
  if (getpid() != process_)
    return Error{ErrorCode::kUnsupported, Stage::kRun,
                 "the stream was made before fork(); make streams in the process that uses them"};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stopping_) return Error{ErrorCode::kUnsupported, Stage::kRun, "the stream is being destroyed"};
    jobs_.push_back({std::move(job), FloatMode::ofThisThread()});
    ++submitted_;
  }
  arrived_.notify_one();
  return Unit{};
}

Status Stream::synchronize() {
  if (getpid() != process_) return Error{ErrorCode::kUnsupported, Stage::kRun, "the stream was made before fork()"};
  std::unique_lock<std::mutex> lock(mutex_);
  const std::uint64_t upTo = submitted_;
  while (completed_ < upTo) {
    awaited_ = std::min(awaited_.load(), upTo);
    if (completed_ < upTo) finished_.wait(lock);  // asked again: the job may not have seen that it is awaited
  }
  if (failure_.empty()) return Unit{};
  return Error{ErrorCode::kInternal, Stage::kRun, std::exchange(failure_, std::string())};
}

void Stream::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    arrived_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    std::deque<Queued> taken;
    taken.swap(jobs_);
    lock.unlock();
    for (Queued& queued : taken) complete(queued);
    lock.lock();
  }
}

void Stream::complete(Queued& queued) {
  const Status done = withoutFailing(queued.job, queued.floats);
  queued.job = nullptr;  // what it holds is released before anybody is told
  if (!done.ok()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (failure_.empty()) failure_ = done.error().message;
  }
  if (++completed_ < awaited_) return;  // waking a thread for nothing takes a core from the next job
  const std::lock_guard<std::mutex> lock(mutex_);
  awaited_ = kNothing;
  finished_.notify_all();
}

std::shared_ptr<Stream> streamOf(const void* handle) {
  if (handle != nullptr) return registry<Stream>().find(handle);
  DefaultStream& one = defaultStream();
  const std::lock_guard<std::mutex> lock(one.mutex);
  if (one.stream == nullptr) {
    auto made = Stream::make();
    if (made.ok()) one.stream = *made;
  }
  return one.stream;
}

void waitForAllStreams() {
  for (const auto& stream : allStreams()) {
    const Status done = stream->synchronize();
    static_cast<void>(done);  // reported by aclrtSynchronizeStream
  }
}

}  // namespace cubejit::acl

using namespace cubejit::acl;

namespace {

aclError noStream(const char* function) {
  return fail(ACL_ERROR_INVALID_RESOURCE_HANDLE, kRuntimeDocument, function, "the stream was destroyed, or never made");
}

aclError synchronize(const std::shared_ptr<Stream>& stream, const char* function) {
  const cubejit::Status done = stream->synchronize();
  return done.ok() ? ACL_SUCCESS : fail(ACL_ERROR_RT_FAILURE, kRuntimeDocument, function, done.error().message);
}

}  // namespace

aclError aclrtCreateStream(aclrtStream* stream) {
  return guarded<aclError>(ACL_ERROR_BAD_ALLOC, [&]() -> aclError {
    if (stream == nullptr)
      return fail(ACL_ERROR_INVALID_PARAM, kRuntimeDocument, "aclrtCreateStream", "stream is null");
    const auto made = Stream::make();
    if (!made.ok()) return fail(ACL_ERROR_RT_FAILURE, kRuntimeDocument, "aclrtCreateStream", made.error().message);
    *stream = registry<Stream>().add(*made);
    return ACL_SUCCESS;
  });
}

aclError aclrtDestroyStream(aclrtStream stream) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&]() -> aclError {
    const auto removed = registry<Stream>().remove(stream);
    if (removed == nullptr) return noStream("aclrtDestroyStream");
    removed->stop();
    return ACL_SUCCESS;
  });
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&]() -> aclError {
    const auto found = streamOf(stream);
    if (found == nullptr) return noStream("aclrtSynchronizeStream");
    return synchronize(found, "aclrtSynchronizeStream");
  });
}

aclError aclrtSynchronizeDevice() {
  return guarded<aclError>(ACL_ERROR_INTERNAL_ERROR, [&]() -> aclError {
    aclError first = ACL_SUCCESS;
    for (const auto& stream : allStreams()) {
      const aclError done = synchronize(stream, "aclrtSynchronizeDevice");
      if (first == ACL_SUCCESS) first = done;
    }
    return first;
  });
}
