// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the runtime's and the objects' functions answer, misuse above all.
#include "acl/acl.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "calls.h"

extern "C" int callFromC();

namespace acl_test {
namespace {

TEST(AclRuntime, HeadersAreC) { EXPECT_EQ(callFromC(), 0); }

constexpr int kParam = ACL_ERROR_INVALID_PARAM;

TEST(AclRuntime, LifeInTheOrderOfTheDocuments) {
  EXPECT_EQ(aclFinalize(), ACL_ERROR_UNINITIALIZE);
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
  EXPECT_EQ(aclnnInit(nullptr), ACLNN_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(1), ACL_ERROR_INVALID_DEVICE);
  void* memory = nullptr;
  EXPECT_EQ(aclrtMalloc(&memory, 100, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  const Ints dims{2};
  aclTensor* const tensor =
      aclCreateTensor(dims.data(), 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims.data(), 1, memory);
  aclrtStream stream = nullptr;
  EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE);
  EXPECT_EQ(aclnnFinalize(), ACLNN_SUCCESS);
  // Deleters run late in the documented sample.
  EXPECT_EQ(aclDestroyTensor(tensor), ACLNN_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
  std::uint32_t count = 0;
  EXPECT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  EXPECT_EQ(count, 1U);
  aclrtRunMode mode = ACL_DEVICE;
  EXPECT_EQ(aclrtGetRunMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_HOST);
  EXPECT_EQ(aclrtGetRunMode(nullptr), kParam);
}

TEST(AclRuntime, Memory) {
  void* memory = nullptr;
  EXPECT_EQ(aclrtMalloc(nullptr, 8, ACL_MEM_MALLOC_HUGE_FIRST), kParam);
  EXPECT_EQ(aclrtMalloc(&memory, 0, ACL_MEM_MALLOC_HUGE_FIRST), kParam);
  EXPECT_EQ(aclrtMalloc(&memory, 8, static_cast<aclrtMemMallocPolicy>(9)), kParam);
  EXPECT_EQ(aclrtMalloc(&memory, SIZE_MAX - 4096, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_BAD_ALLOC);
  EXPECT_EQ(memory, nullptr);
  ASSERT_EQ(aclrtMalloc(&memory, 8, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 512, 0U);
  char eight[9] = "abcdefgh", back[9] = "........";
  EXPECT_EQ(aclrtMemcpy(memory, 8, eight, 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpy(back, 4, memory, 8, ACL_MEMCPY_DEVICE_TO_HOST), kParam);   // destMax
  EXPECT_EQ(aclrtMemcpy(memory, 9, eight, 9, ACL_MEMCPY_HOST_TO_DEVICE), kParam);  // the allocation
  EXPECT_EQ(aclrtMemcpy(back, 9, memory, 9, ACL_MEMCPY_DEVICE_TO_HOST), kParam);
  EXPECT_EQ(aclrtMemcpy(nullptr, 8, eight, 8, ACL_MEMCPY_HOST_TO_DEVICE), kParam);
  EXPECT_EQ(aclrtMemcpy(memory, 8, nullptr, 8, ACL_MEMCPY_HOST_TO_DEVICE), kParam);
  EXPECT_EQ(aclrtMemcpy(memory, 8, eight, 8, static_cast<aclrtMemcpyKind>(8)), kParam);
  EXPECT_STREQ(back, "........");
  EXPECT_EQ(aclrtMemcpy(back, 8, memory, 8, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  EXPECT_STREQ(back, "abcdefgh");
  EXPECT_EQ(aclrtMemset(memory, 8, 'x', 9), kParam);
  EXPECT_EQ(aclrtMemset(memory, 8, 'x', 4), ACL_SUCCESS);
  EXPECT_EQ(static_cast<char*>(memory)[3], 'x');
  EXPECT_EQ(static_cast<char*>(memory)[4], 'e');
  EXPECT_EQ(aclrtFree(static_cast<char*>(memory) + 1), kParam);
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(memory), kParam);
  EXPECT_EQ(aclrtFree(eight), kParam);
  EXPECT_EQ(aclrtFree(nullptr), kParam);
}

TEST(AclRuntime, Switches) {
  std::int64_t value = -1;
  for (const auto& [set, get] : {std::pair{&aclrtSetSysParamOpt, &aclrtGetSysParamOpt},
                                 std::pair{&aclrtCtxSetSysParamOpt, &aclrtCtxGetSysParamOpt}}) {
    EXPECT_EQ(set(ACL_OPT_DETERMINISTIC, 3), ACL_SUCCESS);
    EXPECT_EQ(get(ACL_OPT_DETERMINISTIC, &value), ACL_SUCCESS);
    EXPECT_EQ(value, 3);
    EXPECT_EQ(set(ACL_OPT_DETERMINISTIC, 4), kParam);
    EXPECT_EQ(set(ACL_OPT_STRONG_CONSISTENCY, 2), kParam);
    EXPECT_EQ(set(static_cast<aclSysParamOpt>(3), 0), kParam);
    EXPECT_EQ(get(ACL_OPT_DETERMINISTIC, nullptr), kParam);
    EXPECT_EQ(set(ACL_OPT_DETERMINISTIC, 0), ACL_SUCCESS);
  }
}

TEST(AclRuntime, ContextsHaveSwitchesOfTheirOwn) {
  aclrtContext own = nullptr, made = nullptr, now = nullptr;
  std::int64_t value = -1;
  EXPECT_EQ(aclrtGetCurrentContext(&own), ACL_SUCCESS);
  EXPECT_NE(own, nullptr);
  EXPECT_EQ(aclrtCreateContext(&made, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetCurrentContext(&now), ACL_SUCCESS);
  EXPECT_EQ(now, made);
  EXPECT_EQ(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1), ACL_SUCCESS);
  std::thread([&] {  // another thread has the device's own
    EXPECT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), ACL_SUCCESS);
    EXPECT_EQ(value, 0);
    EXPECT_EQ(aclrtSetCurrentContext(made), ACL_SUCCESS);
    EXPECT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), ACL_SUCCESS);
    EXPECT_EQ(value, 1);
  })
      .join();
  {  // what follows from the switch: grouped FLOAT gradWeight of FLOAT16 products
    const OnPart on("Ascend910B2");
    Case c = simple({1, 4, 6, 6}, {4, 2, 1, 1}, {1, 4, 6, 6}, ACL_FLOAT);
    c.groups = 2, c.mathType = 2;
    EXPECT_EQ(statusOf(c), ACLNN_ERR_INNER_NULLPTR) << message();
    EXPECT_EQ(aclrtSetCurrentContext(own), ACL_SUCCESS);
    EXPECT_EQ(statusOf(c), ACLNN_SUCCESS) << message();
    EXPECT_EQ(aclrtSetCurrentContext(made), ACL_SUCCESS);
  }
  EXPECT_EQ(aclrtDestroyContext(made), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyContext(made), kParam);
  EXPECT_EQ(aclrtSetCurrentContext(made), kParam);
  EXPECT_EQ(aclrtSetCurrentContext(nullptr), kParam);
  EXPECT_EQ(aclrtDestroyContext(own), kParam);
  EXPECT_EQ(aclrtGetCurrentContext(&now), ACL_SUCCESS);
  EXPECT_EQ(now, own);
  EXPECT_EQ(aclrtGetCurrentContext(nullptr), kParam);
  EXPECT_EQ(aclrtCreateContext(nullptr, 0), kParam);
  EXPECT_EQ(aclrtCreateContext(&made, 7), ACL_ERROR_INVALID_DEVICE);
  std::int32_t device = -1;
  EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(aclrtGetDevice(nullptr), kParam);
}

TEST(AclRuntime, Parts) {
  EXPECT_STREQ(aclrtGetSocName(), "host");
  EXPECT_EQ(cubejit_acl_set_soc("Ascend910B9"), kParam);
  EXPECT_NE(message().find("ascend910b"), std::string::npos) << message();
  EXPECT_EQ(cubejit_acl_set_soc(nullptr), kParam);
  EXPECT_EQ(cubejit_acl_set_soc("ASCEND910B2"), ACL_SUCCESS);
  EXPECT_NE(std::string(aclrtGetSocName()).find("910"), std::string::npos);
  EXPECT_EQ(cubejit_acl_set_soc("toy"), kParam);  // an NPU, but not one with such operators
  EXPECT_EQ(cubejit_acl_set_soc("host"), ACL_SUCCESS);
}

TEST(AclObjects, TensorsSayWhatTheyAre) {
  const Ints dims{2, 3}, strides{7, 2}, storage{20};
  float data[20];
  aclTensor* const t =
      aclCreateTensor(dims.data(), 2, ACL_FLOAT, strides.data(), 4, ACL_FORMAT_ND, storage.data(), 1, data);
  ASSERT_NE(t, nullptr);
  std::int64_t* values = nullptr;
  std::uint64_t count = 0;
  ASSERT_EQ(aclGetViewShape(t, &values, &count), ACLNN_SUCCESS);
  EXPECT_EQ(Ints(values, values + count), dims);
  delete[] values;
  ASSERT_EQ(aclGetViewStrides(t, &values, &count), ACLNN_SUCCESS);
  EXPECT_EQ(Ints(values, values + count), strides);
  delete[] values;
  ASSERT_EQ(aclGetStorageShape(t, &values, &count), ACLNN_SUCCESS);
  EXPECT_EQ(Ints(values, values + count), storage);
  delete[] values;
  std::int64_t offset = 0;
  EXPECT_EQ(aclGetViewOffset(t, &offset), ACLNN_SUCCESS);
  EXPECT_EQ(offset, 4);
  aclFormat format = ACL_FORMAT_UNDEFINED;
  EXPECT_EQ(aclGetFormat(t, &format), ACLNN_SUCCESS);
  EXPECT_EQ(format, ACL_FORMAT_ND);
  aclDataType type = ACL_DT_UNDEFINED;
  EXPECT_EQ(aclGetDataType(t, &type), ACLNN_SUCCESS);
  EXPECT_EQ(type, ACL_FLOAT);
  void* address = nullptr;
  EXPECT_EQ(aclGetRawTensorAddr(t, &address), ACLNN_SUCCESS);
  EXPECT_EQ(address, data);
  EXPECT_EQ(aclSetRawTensorAddr(t, data + 1), ACLNN_SUCCESS);
  EXPECT_EQ(aclGetRawTensorAddr(t, &address), ACLNN_SUCCESS);
  EXPECT_EQ(address, data + 1);
  EXPECT_EQ(aclInitTensor(t, storage.data(), 1, ACL_BF16, nullptr, 0, ACL_FORMAT_NCL, storage.data(), 1, data),
            ACLNN_SUCCESS);
  EXPECT_EQ(aclGetDataType(t, &type), ACLNN_SUCCESS);
  EXPECT_EQ(type, ACL_BF16);
  EXPECT_EQ(aclGetViewShape(t, nullptr, &count), kNull);
  EXPECT_EQ(aclGetViewShape(nullptr, &values, &count), kNull);
  EXPECT_EQ(aclDestroyTensor(t), ACLNN_SUCCESS);
  EXPECT_EQ(aclDestroyTensor(t), kInvalid);
  EXPECT_EQ(aclDestroyTensor(nullptr), ACLNN_SUCCESS);
  EXPECT_EQ(aclGetFormat(t, &format), kInvalid);
  EXPECT_EQ(aclInitTensor(t, storage.data(), 1, ACL_BF16, nullptr, 0, ACL_FORMAT_NCL, nullptr, 0, data), kInvalid);
}

TEST(AclObjects, WhatCannotBeMadeIsNull) {
  const auto make = [](const Ints& dims, const Ints& strides, std::int64_t offset) {
    aclTensor* const t =
        aclCreateTensor(dims.data(), dims.size(), ACL_FLOAT, strides.empty() ? nullptr : strides.data(), offset,
                        ACL_FORMAT_ND, nullptr, 0, nullptr);
    aclDestroyTensor(t);
    return t != nullptr;
  };
  EXPECT_TRUE(make({2, 0, 3}, {}, 0));
  EXPECT_FALSE(make({2, -1}, {}, 0));
  EXPECT_FALSE(make({2, 2}, {1, -1}, 0));
  EXPECT_NE(message().find("-1"), std::string::npos);
  EXPECT_FALSE(make({2, 2}, {}, -1));
  EXPECT_FALSE(make(Ints(9, 1), {}, 0));
  EXPECT_FALSE(make({INT64_MAX, 2}, {}, 0));
  EXPECT_FALSE(make({2}, {INT64_MAX}, 0));
  EXPECT_EQ(aclCreateTensor(nullptr, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr), nullptr);
  EXPECT_EQ(aclCreateIntArray(nullptr, 2), nullptr);
  const std::int64_t one = 1;
  EXPECT_EQ(aclCreateIntArray(&one, UINT64_MAX), nullptr);
  EXPECT_EQ(aclCreateBoolArray(nullptr, 1), nullptr);
  EXPECT_EQ(aclCreateScalar(nullptr, ACL_FLOAT), nullptr);
  float f = 1;
  EXPECT_EQ(aclCreateScalar(&f, ACL_DT_UNDEFINED), nullptr);
}

TEST(AclObjects, ArraysScalarsAndLists) {
  const float floats[] = {1, 2};
  std::uint64_t count = 0;
  aclFloatArray* const array = aclCreateFloatArray(floats, 2);
  EXPECT_EQ(aclGetFloatArraySize(array, &count), ACLNN_SUCCESS);
  EXPECT_EQ(count, 2U);
  EXPECT_EQ(aclDestroyFloatArray(array), ACLNN_SUCCESS);
  EXPECT_EQ(aclDestroyFloatArray(array), kInvalid);
  const std::int64_t ints[] = {1, 2, 3};
  aclIntArray* const intArray = aclCreateIntArray(ints, 3);
  EXPECT_EQ(aclGetIntArraySize(intArray, &count), ACLNN_SUCCESS);
  EXPECT_EQ(count, 3U);
  EXPECT_EQ(aclDestroyIntArray(intArray), ACLNN_SUCCESS);
  float value = 2.5F;
  aclScalar* const scalar = aclCreateScalar(&value, ACL_FLOAT);
  aclScalarList* const scalars = aclCreateScalarList(&scalar, 1);
  EXPECT_EQ(aclGetScalarListSize(scalars, &count), ACLNN_SUCCESS);
  EXPECT_EQ(aclDestroyScalarList(scalars), ACLNN_SUCCESS);
  EXPECT_EQ(aclDestroyScalar(scalar), kInvalid);  // the list had taken it
  const std::int64_t dim = 2;
  aclTensor* const t = aclCreateTensor(&dim, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &dim, 1, nullptr);
  aclTensorList* const tensors = aclCreateTensorList(&t, 1);
  EXPECT_EQ(aclGetTensorListSize(tensors, &count), ACLNN_SUCCESS);
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(aclDestroyTensorList(tensors), ACLNN_SUCCESS);
  EXPECT_EQ(aclDestroyTensorList(tensors), kInvalid);
  EXPECT_EQ(aclDestroyTensor(t), kInvalid);
  EXPECT_EQ(aclGetTensorListSize(tensors, nullptr), kNull);
}

// The environment is read once, when the first operator is asked for, so a process of its own asks: this program, which answers and
// ends before any test begins when it finds the variable.
constexpr const char* kAsk = "CUBEJIT_ACL_TEST_ASK";
const bool asked = [] {
  if (std::getenv(kAsk) == nullptr) return false;
  const aclnnStatus status = statusOf(simple({1, 2, 4, 4}, {2, 2, 1, 1}, {1, 2, 4, 4}));
  std::printf("%d %s", status, aclrtGetSocName());
  std::fflush(stdout);
  _exit(0);
}();

std::string answerWith(const std::string& environment) {
  char self[4096] = {};
  if (asked || readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0) return "no path";
  const std::string line = environment + " " + kAsk + "=1 '" + self + "' 2>/dev/null";
  FILE* const pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) return "no pipe";
  char answer[256] = {};
  const std::size_t length = std::fread(answer, 1, sizeof(answer) - 1, pipe);
  pclose(pipe);
  return std::string(answer, length);
}

TEST(AclRuntime, TheEnvironmentIsTakenOrRefused) {
  const std::string noExecutor = std::to_string(ACLNN_ERR_INNER_CREATE_EXECUTOR) + " host";
  EXPECT_EQ(answerWith(""), "0 host");
  EXPECT_EQ(answerWith("CUBEJIT_SOC=Ascend910B2"), "0 ascend910b2");
  EXPECT_EQ(answerWith("CUBEJIT_SOC=Ascend910A"), std::to_string(kInvalid) + " ascend910a");  // FLOAT, kept
  EXPECT_EQ(answerWith("CUBEJIT_SOC=nonsense"), noExecutor);
  EXPECT_EQ(answerWith("CUBEJIT_ACL_EMULATE=1"), noExecutor);
  EXPECT_EQ(answerWith("CUBEJIT_SOC=Ascend910B2 CUBEJIT_ACL_EMULATE=1"), "0 ascend910b2");
  EXPECT_EQ(answerWith("CUBEJIT_ACL_EMULATE=0"), "0 host");
  EXPECT_EQ(answerWith("CUBEJIT_ACL_EMULATE=yes"), noExecutor);
  EXPECT_EQ(answerWith("CUBEJIT_BACKEND=nonsense"), noExecutor);
}

}  // namespace
}  // namespace acl_test
