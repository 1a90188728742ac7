// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what streams promise: order within one, work side by side across several, nothing left undone after synchronising, and
// handles that are recognised when they are gone. Run under ThreadSanitizer, too.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>
#include <thread>

#include "calls.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace acl_test {
namespace {

aclrtStream makeStream() {
  aclrtStream stream = nullptr;
  EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS) << message();
  return stream;
}

Case cube(std::int64_t channels) {
  Case c = simple({1, channels, 5, 5}, {channels, channels, 1, 1}, {1, channels, 5, 5});
  c.mask = {true, false, false};
  return c;
}

// gradInput = gradOutput * channels when weights are ones. Each step reads what the one before has written.
void chain(aclrtStream stream, int steps, std::int64_t channels) {
  std::vector<std::unique_ptr<Call>> calls;
  const std::vector<double> one(static_cast<std::size_t>(channels * channels), 1.0);
  for (int i = 0; i < steps; ++i) {
    calls.push_back(std::make_unique<Call>(cube(channels)));
    Call& call = *calls.back();
    call.w->write(one);
    if (i == 0)
      call.dy->write(std::vector<double>(static_cast<std::size_t>(call.dy->elements()), 1.0));
    else
      call.tensors[0] = calls[static_cast<std::size_t>(i) - 1]->tensors[3];
    ASSERT_EQ(call.phaseOne(), ACLNN_SUCCESS) << message();
    if (call.workspaceBytes > 0) {
      ASSERT_EQ(aclrtMalloc(&call.workspace, call.workspaceBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    }
  }
  for (auto& call : calls) {
    ASSERT_EQ(aclnnConvolutionBackward(call->workspace, call->workspaceBytes, call->executor, stream), ACLNN_SUCCESS)
        << message();
    call->executor = nullptr;
  }
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS) << message();
  double want = 1;
  for (auto& call : calls) {
    want *= static_cast<double>(channels);
    EXPECT_EQ(call->dx->read(), std::vector<double>(static_cast<std::size_t>(call->dx->elements()), want));
    if (call->workspace != nullptr) aclrtFree(call->workspace);
    call->workspace = nullptr;
  }
}

TEST(AclStream, WorkOfOneStreamIsInOrder) {
  const aclrtStream stream = makeStream();
  for (int round = 0; round < 5; ++round) chain(stream, 12, 2 + round % 2);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST(AclStream, FourThreadsWithFourStreams) {
  std::vector<std::thread> threads;
  std::atomic<int> done{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &done] {
      const aclrtStream stream = makeStream();
      for (int round = 0; round < 6; ++round) chain(stream, 6, 2 + (t + round) % 3);
      EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
      ++done;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 4);
}

TEST(AclStream, FourThreadsOnOneStream) {
  const aclrtStream stream = makeStream();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back([stream] { chain(stream, 6, 3); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

// One repeatable executor, many threads: whoever asks last has the same right answer.
TEST(AclStream, OneExecutorFromManyThreads) {
  Call call(cube(3));
  call.w->write(std::vector<double>(9, 1.0));
  call.dy->write(std::vector<double>(75, 1.0));
  ASSERT_EQ(call.phaseOne(), ACLNN_SUCCESS) << message();
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(call.executor), ACLNN_SUCCESS);
  const aclrtStream stream = makeStream();
  void* workspace = nullptr;
  ASSERT_EQ(aclrtMalloc(&workspace, call.workspaceBytes + 1, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i)
        EXPECT_EQ(aclnnConvolutionBackward(workspace, call.workspaceBytes, call.executor, stream), ACLNN_SUCCESS);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(call.dx->read(), std::vector<double>(75, 3.0));
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(workspace), ACL_SUCCESS);
}

// Two calls with one executor that is not repeatable: exactly one runs.
TEST(AclStream, TwoThreadsCannotUseOneExecutorTwice) {
  for (int round = 0; round < 20; ++round) {
    Call call(cube(2));
    call.w->write(std::vector<double>(4, 1.0));
    call.dy->write(std::vector<double>(50, 1.0));
    ASSERT_EQ(call.phaseOne(), ACLNN_SUCCESS) << message();
    void* workspace = nullptr;
    ASSERT_EQ(aclrtMalloc(&workspace, call.workspaceBytes + 1, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    std::atomic<int> taken{0};
    const auto run = [&] {
      if (aclnnConvolutionBackward(workspace, call.workspaceBytes, call.executor, nullptr) == ACLNN_SUCCESS) ++taken;
    };
    std::thread a(run), b(run);
    a.join(), b.join();
    call.executor = nullptr;
    EXPECT_EQ(taken, 1);
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
    aclrtFree(workspace);
  }
}

#if defined(__x86_64__)
// A stream's thread has the environment of whoever made it; a call has that of its caller.
TEST(AclStream, DenormalsAreFlushedAsTheCallerHasIt) {
  const aclrtStream stream = makeStream();
  for (const unsigned flush : {0x8040U, 0U, 0x8040U}) {  // FTZ, DAZ
    Call call(cube(3));
    call.w->write(std::vector<double>(9, 1.0));
    call.dy->write(std::vector<double>(75, 1e-39));
    ASSERT_EQ(call.phaseOne(), ACLNN_SUCCESS) << message();
    if (call.workspaceBytes > 0) {
      ASSERT_EQ(aclrtMalloc(&call.workspace, call.workspaceBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    }
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | flush);
    EXPECT_EQ(aclnnConvolutionBackward(call.workspace, call.workspaceBytes, call.executor, stream), ACLNN_SUCCESS);
    EXPECT_EQ(_mm_getcsr(), before | flush);
    _mm_setcsr(before);
    call.executor = nullptr;
    ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS) << message();
    for (const double value : call.dx->read()) ASSERT_EQ(value == 0, flush != 0);
    aclrtFree(call.workspace);
    call.workspace = nullptr;
  }
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}
#endif

// In, compute, out: what is copied is there when the stream comes to it.
TEST(AclStream, CopiesAreInOrderWithOperators) {
  const aclrtStream stream = makeStream();
  Call call(cube(3));
  const std::size_t bytes = static_cast<std::size_t>(call.dx->elements()) * sizeof(float);
  void *in = nullptr, *out = nullptr;
  ASSERT_EQ(aclrtMallocHost(&in, bytes), ACL_SUCCESS);
  ASSERT_EQ(aclrtMallocHost(&out, bytes), ACL_SUCCESS);
  std::fill_n(static_cast<float*>(in), call.dx->elements(), 2.0F);
  call.w->write(std::vector<double>(9, 1.0));
  ASSERT_EQ(call.phaseOne(), ACLNN_SUCCESS) << message();
  if (call.workspaceBytes > 0) {
    ASSERT_EQ(aclrtMalloc(&call.workspace, call.workspaceBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  }
  EXPECT_EQ(aclrtMemsetAsync(call.dy->data(), bytes, 1, bytes, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpyAsync(call.dy->data(), bytes, in, bytes, ACL_MEMCPY_HOST_TO_DEVICE, stream), ACL_SUCCESS);
  EXPECT_EQ(aclnnConvolutionBackward(call.workspace, call.workspaceBytes, call.executor, stream), ACLNN_SUCCESS);
  call.executor = nullptr;
  EXPECT_EQ(aclrtMemcpyAsync(out, bytes, call.dx->data(), bytes, ACL_MEMCPY_DEVICE_TO_HOST, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpyAsync(nullptr, 0, nullptr, 0, ACL_MEMCPY_DEFAULT, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS) << message();
  for (std::int64_t i = 0; i < call.dx->elements(); ++i) ASSERT_EQ(static_cast<float*>(out)[i], 6.0F);
  EXPECT_EQ(aclrtMemcpyAsync(out, bytes + 1, in, bytes + 1, ACL_MEMCPY_HOST_TO_HOST, stream), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemsetAsync(out, bytes - 1, 0, bytes, stream), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemsetAsync(out, bytes, 0, bytes, stream), ACL_ERROR_INVALID_RESOURCE_HANDLE);
  EXPECT_EQ(aclrtMemcpyAsync(out, bytes, in, bytes, ACL_MEMCPY_HOST_TO_HOST, stream),
            ACL_ERROR_INVALID_RESOURCE_HANDLE);
  aclrtFree(call.workspace);
  EXPECT_EQ(aclrtFreeHost(in), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHost(out), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHost(out), ACL_ERROR_INVALID_PARAM);
}

// Streams and tensors go while other threads use them: each call is done, or answers what is documented of dead handles.
TEST(AclStream, HandlesThatAreDestroyedElsewhere) {
  std::array<std::atomic<void*>, 4> streams{};
  std::atomic<aclTensor*> weight{nullptr};
  std::vector<float> ones(16, 1.0F);
  const Ints shape{4, 4, 1, 1};
  const auto describe = [&] {
    return aclCreateTensor(shape.data(), 4, ACL_FLOAT, nullptr, 0, ACL_FORMAT_NCHW, nullptr, 0, ones.data());
  };
  for (auto& stream : streams) stream = makeStream();
  weight = describe();
  std::mutex mutex;
  std::vector<std::unique_ptr<Call>> calls;  // a stream that is being destroyed may still be busy with them
  std::atomic<int> computed{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 40; ++i) {
        auto& stream = streams[(i / 4 + t) % streams.size()];
        if (i % 4 == t) {
          EXPECT_EQ(aclrtDestroyStream(stream.exchange(makeStream())), ACL_SUCCESS);
          EXPECT_EQ(aclDestroyTensor(weight.exchange(describe())), ACLNN_SUCCESS);
        }
        auto call = std::make_unique<Call>(cube(4));
        call->dy->write(std::vector<double>(100, 1.0));
        call->tensors[2] = weight;
        const aclnnStatus first = call->phaseOne();
        EXPECT_TRUE(first == ACLNN_SUCCESS || first == ACLNN_ERR_PARAM_INVALID) << message();
        if (first != ACLNN_SUCCESS) continue;
        if (call->workspaceBytes > 0) {
          EXPECT_EQ(aclrtMalloc(&call->workspace, call->workspaceBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
        }
        void* const used = stream;
        const aclnnStatus second =
            aclnnConvolutionBackward(call->workspace, call->workspaceBytes, call->executor, used);
        EXPECT_TRUE(second == ACLNN_SUCCESS || second == ACLNN_ERR_RUNTIME_ERROR) << message();
        if (second == ACLNN_SUCCESS) call->executor = nullptr;
        const aclError done = aclrtSynchronizeStream(used);
        EXPECT_TRUE(done == ACL_SUCCESS || done == ACL_ERROR_INVALID_RESOURCE_HANDLE) << message();
        if (second == ACLNN_SUCCESS && done == ACL_SUCCESS) {
          EXPECT_EQ(call->dx->read(), std::vector<double>(100, 4.0));
          ++computed;
        }
        const std::lock_guard<std::mutex> lock(mutex);
        calls.push_back(std::move(call));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (auto& stream : streams) EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  for (auto& call : calls) {
    if (call->workspace != nullptr) aclrtFree(call->workspace);
  }
  EXPECT_EQ(aclDestroyTensor(weight), ACLNN_SUCCESS);
  EXPECT_GT(computed, 40);
}

TEST(AclStream, PhaseTwoDoesNotWait) {
  constexpr std::int64_t kChannels = 64, kSize = 56;
  Case c =
      simple({2, kChannels, kSize, kSize}, {kChannels, kChannels, 3, 3}, {2, kChannels, kSize, kSize}, ACL_FLOAT, 1);
  c.mask = {true, false, false};
  Call call(c), last(c);
  for (Call* each : {&call, &last}) {
    each->w->write(std::vector<double>(static_cast<std::size_t>(each->w->elements()), 1.0));
    each->dy->write(std::vector<double>(static_cast<std::size_t>(each->dy->elements()), 1.0));
    ASSERT_EQ(each->phaseOne(), ACLNN_SUCCESS) << message();
  }
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(call.executor), ACLNN_SUCCESS);
  void* workspace = nullptr;
  ASSERT_EQ(aclrtMalloc(&workspace, call.workspaceBytes + 1, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  const aclrtStream stream = makeStream();
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(aclnnConvolutionBackward(workspace, call.workspaceBytes, call.executor, stream), ACLNN_SUCCESS);
  }
  ASSERT_EQ(aclnnConvolutionBackward(workspace, call.workspaceBytes, last.executor, stream), ACLNN_SUCCESS);
  last.executor = nullptr;
  EXPECT_TRUE(last.dx->untouched()) << "work was done before it was waited for";
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(last.dx->read()[kSize + 1], 9.0 * kChannels);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(workspace), ACL_SUCCESS);
}

// Destroying a stream finishes its work first.
TEST(AclStream, DestroyingFinishesWhatIsQueued) {
  Call call(cube(2));
  call.w->write(std::vector<double>(4, 1.0));
  call.dy->write(std::vector<double>(50, 1.0));
  ASSERT_EQ(call.phaseOne(), ACLNN_SUCCESS) << message();
  const aclrtStream stream = makeStream();
  void* workspace = nullptr;
  ASSERT_EQ(aclrtMalloc(&workspace, call.workspaceBytes + 1, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclnnConvolutionBackward(workspace, call.workspaceBytes, call.executor, stream), ACLNN_SUCCESS);
  call.executor = nullptr;
  ASSERT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(call.dx->read(), std::vector<double>(50, 2.0));
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_ERROR_INVALID_RESOURCE_HANDLE);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_INVALID_RESOURCE_HANDLE);
  ASSERT_EQ(call.phaseOne(), ACLNN_SUCCESS);
  call.dx->write(std::vector<double>(50, 7.0));
  EXPECT_EQ(aclnnConvolutionBackward(workspace, call.workspaceBytes, call.executor, stream), ACLNN_ERR_RUNTIME_ERROR);
  EXPECT_EQ(call.dx->read(), std::vector<double>(50, 7.0));
  EXPECT_EQ(aclrtFree(workspace), ACL_SUCCESS);
}

#if !defined(__SANITIZE_THREAD__)  // which does not follow threads into a child
TEST(AclStream, AForkedChildIsTold) {
  const aclrtStream stream = makeStream();
  chain(stream, 1, 2);
  Call call(cube(2));
  ASSERT_EQ(call.phaseOne(), ACLNN_SUCCESS);
  std::vector<std::uint64_t> room(call.workspaceBytes / 8 + 16);
  char* workspace = reinterpret_cast<char*>(room.data());
  workspace += (64 - reinterpret_cast<std::uintptr_t>(workspace) % 64) % 64;
  const pid_t child = fork();
  if (child == 0) {
    const aclnnStatus status = aclnnConvolutionBackward(workspace, call.workspaceBytes, call.executor, stream);
    _exit(status == ACLNN_ERR_RUNTIME_ERROR ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}
#endif

}  // namespace
}  // namespace acl_test
