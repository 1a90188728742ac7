// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the life of executors and workspaces: used up or repeatable, addresses that change, memory that is too small, shared or gone.
// After every refusal nothing has been written.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calls.h"

namespace acl_test {
namespace {

// 2 x 3 images of ones: dx = 6 taps x channels inside, dw = 72, db = 72.
Case ones(std::int64_t channels = 4) {
  return simple({2, channels, 6, 6}, {channels, channels, 1, 1}, {2, channels, 6, 6});
}

void fillWithOnes(Call& call) {
  for (OwnTensor* t : {call.dy.get(), call.x.get(), call.w.get()})
    t->write(std::vector<double>(static_cast<std::size_t>(t->elements()), 1.0));
}

void expectOnes(const Call& call) {
  const auto channels = static_cast<double>(call.given.x[1]);
  EXPECT_EQ(call.dx->read(), std::vector<double>(static_cast<std::size_t>(call.dx->elements()), channels));
  EXPECT_EQ(call.dw->read(), std::vector<double>(static_cast<std::size_t>(call.dw->elements()), 72.0));
  EXPECT_EQ(call.db->read(), std::vector<double>(static_cast<std::size_t>(call.db->elements()), 72.0));
}

void expectUntouched(const Call& call) {
  for (const OwnTensor* t : {call.dx.get(), call.dw.get(), call.db.get()}) EXPECT_TRUE(t->untouched());
}

bool says(const std::string& text) { return message().find(text) != std::string::npos; }

TEST(AclExecutor, IsUsedUpByPhaseTwo) {
  Call call(ones());
  fillWithOnes(call);
  ASSERT_EQ(call.phaseOne(), ACLNN_SUCCESS) << message();
  aclOpExecutor* const executor = call.executor;
  ASSERT_EQ(call.phaseTwo(), ACLNN_SUCCESS) << message();
  expectOnes(call);
  EXPECT_EQ(aclnnConvolutionBackward(nullptr, 0, executor, nullptr), kInvalid);
  EXPECT_TRUE(says("used up")) << message();
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(executor), kInvalid);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), kInvalid);
  EXPECT_EQ(aclnnConvolutionBackward(nullptr, 0, nullptr, nullptr), kNull);
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(nullptr), kInner);
  EXPECT_EQ(aclDestroyAclOpExecutor(nullptr), kInner);
}

TEST(AclExecutor, RepeatableRunsAgainWithOtherAddresses) {
  Call first(ones()), second(ones());
  fillWithOnes(first), fillWithOnes(second);
  ASSERT_EQ(first.phaseOne(), ACLNN_SUCCESS) << message();
  aclOpExecutor* const executor = first.executor;
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), ACLNN_SUCCESS);
  ASSERT_EQ(first.phaseTwo(), ACLNN_SUCCESS) << message();
  expectOnes(first);
  OwnTensor* const from[] = {first.dy.get(), first.x.get(),  first.w.get(),
                             first.dx.get(), first.dw.get(), first.db.get()};
  void* aligned[6];
  for (std::size_t i = 0; i < 6; ++i) {
    const std::size_t bytes = static_cast<std::size_t>(from[i]->elements()) * 4;
    ASSERT_EQ(aclrtMalloc(&aligned[i], bytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    for (std::size_t e = 0; e < bytes / 4; ++e) static_cast<float*>(aligned[i])[e] = i < 3 ? 2.0F : -1.0F;
    EXPECT_EQ(i < 2   ? aclSetInputTensorAddr(executor, i, from[i]->handle(), aligned[i])
              : i < 4 ? aclSetTensorAddr(executor, i, from[i]->handle(), aligned[i])
                      : AclSetOutputTensorAddr(executor, i - 3, from[i]->handle(), aligned[i]),
              ACLNN_SUCCESS)
        << message();
  }
  first.executor = executor;
  ASSERT_EQ(first.phaseTwo(), ACLNN_SUCCESS) << message();
  EXPECT_EQ(static_cast<float*>(aligned[3])[5], 16.0F);
  EXPECT_EQ(static_cast<float*>(aligned[4])[5], 288.0F);
  EXPECT_EQ(static_cast<float*>(aligned[5])[3], 144.0F);

  EXPECT_EQ(aclSetInputTensorAddr(nullptr, 0, from[0]->handle(), aligned[0]), kInner);
  EXPECT_EQ(aclSetInputTensorAddr(executor, 0, nullptr, aligned[0]), kInner);
  EXPECT_EQ(aclSetInputTensorAddr(executor, 0, from[0]->handle(), nullptr), kInner);
  EXPECT_EQ(aclSetInputTensorAddr(executor, 3, from[0]->handle(), aligned[0]), kInvalid);
  EXPECT_EQ(aclSetOutputTensorAddr(executor, 3, from[3]->handle(), aligned[0]), kInvalid);
  EXPECT_EQ(aclSetTensorAddr(executor, 6, from[3]->handle(), aligned[0]), kInvalid);
  EXPECT_EQ(aclSetInputTensorAddr(executor, 0, from[2]->handle(), aligned[0]), kInvalid);  // another shape
  EXPECT_EQ(aclSetInputTensorAddr(executor, 0, from[0]->handle(), static_cast<char*>(aligned[0]) + 4), kInvalid);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
  EXPECT_EQ(aclSetInputTensorAddr(executor, 0, from[0]->handle(), aligned[0]), kInvalid);
  for (void* memory : aligned) EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
}

// f16 mode with strided results needs room for conversions, results and kernels; an unreadable page follows it.
TEST(AclExecutor, WorkspaceIsWhatIsNeededAndNoMore) {
  Case c = ones(20);
  c.mathType = 2;
  Call call(c);
  call.dx = std::make_unique<OwnTensor>(c.x, ACL_FLOAT, ACL_FORMAT_NCHW, Ints{2000, 50, 8, 1});
  call.tensors[3] = call.dx->handle();
  fillWithOnes(call);
  ASSERT_EQ(call.phaseOne(), ACLNN_SUCCESS) << message();
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  ASSERT_GT(call.workspaceBytes, 0U);
  const std::size_t pages = (call.workspaceBytes + page - 1) / page * page;
  char* const mapped =
      static_cast<char*>(mmap(nullptr, pages + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(mapped, MAP_FAILED);
  ASSERT_EQ(mprotect(mapped, page, PROT_NONE), 0);
  ASSERT_EQ(mprotect(mapped + page + pages, page, PROT_NONE), 0);
  char* const workspace = mapped + page + pages - call.workspaceBytes;
  const auto refused = [&](void* at, std::uint64_t bytes, int code, const char* why) {
    EXPECT_EQ(aclnnConvolutionBackward(at, bytes, call.executor, nullptr), code) << why;
    EXPECT_TRUE(says(why)) << message();
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
    expectUntouched(call);
  };
  refused(workspace, call.workspaceBytes - 1, kInvalid, "is less than");
  refused(nullptr, 0, kInvalid, "is less than");
  refused(workspace - 8, call.workspaceBytes + 8, kInvalid, "multiple of 64");
  void* small = nullptr;
  ASSERT_EQ(aclrtMalloc(&small, call.workspaceBytes - 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  refused(small, call.workspaceBytes, kInvalid, "allocation");
  EXPECT_EQ(aclrtFree(small), ACL_SUCCESS);
  EXPECT_EQ(aclnnConvolutionBackward(workspace, call.workspaceBytes, call.executor, nullptr), ACLNN_SUCCESS)
      << message();
  call.executor = nullptr;
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS) << message();
  expectOnes(call);
  EXPECT_EQ(call.dx->strayBytes(), 0);
  munmap(mapped, pages + 2 * page);
}

TEST(AclExecutor, NullWorkspaceDestroysIt) {
  Call call(ones());
  fillWithOnes(call);
  ASSERT_EQ(call.phaseOne(), ACLNN_SUCCESS) << message();
  EXPECT_EQ(aclnnConvolutionBackward(nullptr, call.workspaceBytes + 64, call.executor, nullptr), kNull);
  EXPECT_EQ(aclDestroyAclOpExecutor(call.executor), kInvalid);
  call.executor = nullptr;
  expectUntouched(call);
}

TEST(AclExecutor, TensorsThatCannotBeUsedAreRefused) {
  const auto refused = [](Call& call, int code, const std::string& why) {
    ASSERT_EQ(call.phaseOne(), ACLNN_SUCCESS) << message();
    EXPECT_EQ(call.phaseTwo(), code) << message();
    EXPECT_TRUE(says(why)) << message();
  };
  {  // no data
    Call call(ones());
    ASSERT_EQ(aclSetRawTensorAddr(call.tensors[1], nullptr), ACLNN_SUCCESS);
    refused(call, kNull, "input: its data is null");
    expectUntouched(call);
  }
  {  // an output on an input, a result on a result
    Call call(ones());
    ASSERT_EQ(aclSetRawTensorAddr(call.tensors[3], call.x->data()), ACLNN_SUCCESS);
    refused(call, kInvalid, "shares memory with input");
    Call twice(ones());
    ASSERT_EQ(aclSetRawTensorAddr(twice.tensors[3], twice.db->data()), ACLNN_SUCCESS);
    refused(twice, kInvalid, "shares memory with gradBias");
  }
  {  // results whose elements are apart: on one another they are seen where they begin, on the workspace anywhere
    const Ints apart{288, 72, 12, 2};
    const auto scattered = [&](Call& call, void* data) {
      call.tensors[3] =
          aclCreateTensor(call.given.x.data(), 4, ACL_FLOAT, apart.data(), 0, ACL_FORMAT_NCHW, nullptr, 0, data);
      ASSERT_NE(call.tensors[3], nullptr) << message();
    };
    std::vector<float> memory(4096);
    Call call(ones());
    scattered(call, memory.data());
    ASSERT_EQ(aclSetRawTensorAddr(call.tensors[4], memory.data()), ACLNN_SUCCESS);
    refused(call, kInvalid, "shares memory with gradWeight");
    ASSERT_EQ(aclSetRawTensorAddr(call.tensors[4], call.dw->data()), ACLNN_SUCCESS);
    ASSERT_EQ(call.phaseOne(), ACLNN_SUCCESS) << message();
    ASSERT_GT(call.workspaceBytes, 0U);
    void* workspace = nullptr;
    ASSERT_EQ(aclrtMalloc(&workspace, call.workspaceBytes + 4096, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ASSERT_EQ(aclSetRawTensorAddr(call.tensors[3], static_cast<char*>(workspace) + 4), ACLNN_SUCCESS);
    ASSERT_EQ(aclDestroyAclOpExecutor(call.executor), ACLNN_SUCCESS);
    ASSERT_EQ(call.phaseOne(), ACLNN_SUCCESS) << message();
    EXPECT_EQ(aclnnConvolutionBackward(workspace, call.workspaceBytes, call.executor, nullptr), kInvalid);
    EXPECT_TRUE(says("shares memory with workspace")) << message();
    aclDestroyTensor(call.tensors[3]);
    aclrtFree(workspace);
  }
  {  // beyond its allocation
    Call call(ones());
    void* small = nullptr;
    ASSERT_EQ(aclrtMalloc(&small, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ASSERT_EQ(aclSetRawTensorAddr(call.tensors[4], small), ACLNN_SUCCESS);
    Call large(ones(8));
    ASSERT_EQ(aclSetRawTensorAddr(large.tensors[4], small), ACLNN_SUCCESS);
    refused(large, kInvalid, "its allocation has 64");
    EXPECT_EQ(call.phaseOne(), ACLNN_SUCCESS);  // 4 x 4 floats fit
    EXPECT_EQ(call.phaseTwo(), ACLNN_SUCCESS) << message();
    aclrtFree(small);
  }
  {  // not aligned to an element
    Call call(ones());
    ASSERT_EQ(aclSetRawTensorAddr(call.tensors[0], static_cast<char*>(call.dy->data()) + 1), ACLNN_SUCCESS);
    refused(call, kInvalid, "aligned to an element");
  }
  {  // a view that leaves its storage, and one whose elements share memory
    Call call(ones());
    const Ints storage{10};
    aclTensor* const outside = aclCreateTensor(call.given.x.data(), 4, ACL_FLOAT, nullptr, 0, ACL_FORMAT_NCHW,
                                               storage.data(), 1, call.x->data());
    call.tensors[1] = outside;
    EXPECT_EQ(call.phaseOne(), kInvalid);
    EXPECT_TRUE(says("reaches element 287 of a storage of 10")) << message();
    const Ints flat{0, 0, 6, 1};
    aclTensor* const shared = aclCreateTensor(call.given.x.data(), 4, ACL_FLOAT, flat.data(), 0, ACL_FORMAT_NCHW,
                                              nullptr, 0, call.dx->data());
    call.tensors[1] = shared;  // as an input: a broadcast
    EXPECT_EQ(call.phaseOne(), ACLNN_SUCCESS) << message();
    aclDestroyAclOpExecutor(call.executor);
    call.executor = nullptr;
    call.tensors[1] = call.x->handle(), call.tensors[3] = shared;
    EXPECT_EQ(call.phaseOne(), kInvalid);
    EXPECT_TRUE(says("share memory")) << message();
    aclDestroyTensor(outside);
    aclDestroyTensor(shared);
  }
}

TEST(AclExecutor, DestroyedHandlesAreRecognised) {
  for (std::size_t i = 0; i < 6; ++i) {
    Call call(ones());
    aclDestroyTensor(call.tensors[i]);
    EXPECT_EQ(call.phaseOne(), kInvalid) << i;
    EXPECT_TRUE(says("was destroyed")) << message();
  }
  for (std::size_t i = 0; i < 4; ++i) {
    Call call(ones());
    aclDestroyIntArray(call.arrays[i]);
    EXPECT_EQ(call.phaseOne(), kInvalid) << i;
  }
  Call call(ones());
  aclDestroyBoolArray(call.mask);
  EXPECT_EQ(call.phaseOne(), kInvalid);
  Call stranger(ones());
  int notTensor = 0;
  stranger.tensors[2] = reinterpret_cast<aclTensor*>(&notTensor);
  EXPECT_EQ(stranger.phaseOne(), kInvalid);
  stranger.tensors[2] = reinterpret_cast<aclTensor*>(stranger.arrays[0]);
  EXPECT_EQ(stranger.phaseOne(), kInvalid);
}

// Handles may be destroyed between the phases: the executor has what it needs.
TEST(AclExecutor, KeepsWhatItNeeds) {
  Call call(ones());
  fillWithOnes(call);
  ASSERT_EQ(call.phaseOne(), ACLNN_SUCCESS) << message();
  for (aclTensor* tensor : call.tensors) EXPECT_EQ(aclDestroyTensor(tensor), ACLNN_SUCCESS);
  ASSERT_EQ(call.phaseTwo(), ACLNN_SUCCESS) << message();
  expectOnes(call);
}

}  // namespace
}  // namespace acl_test
