// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing: a program as a user of the ACL runtime writes it, C++11, which links cubejit::acl in place of the toolkit. All
// values are 1, so gradInput is 2 everywhere (two output channels), gradWeight and gradBias 98 (two images of 7 x 7).
#include <iostream>
#include <memory>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_convolution_backward.h"

#define CHECK(call)                                                       \
  do {                                                                    \
    const int status = (call);                                            \
    if (status != ACL_SUCCESS) {                                          \
      printf("%s failed: %d\n%s\n", #call, status, aclGetRecentErrMsg()); \
      return status;                                                      \
    }                                                                     \
  } while (0)

namespace {

struct DeviceTensor {
  std::unique_ptr<void, aclError (*)(void*)> memory{nullptr, aclrtFree};
  std::unique_ptr<aclTensor, aclnnStatus (*)(const aclTensor*)> tensor{nullptr, aclDestroyTensor};
  std::vector<float> host;

  int create(const std::vector<int64_t>& shape, float value, aclFormat format) {
    std::size_t elements = 1;
    for (int64_t extent : shape) elements *= static_cast<std::size_t>(extent);
    host.assign(elements, value);
    void* address = nullptr;
    CHECK(aclrtMalloc(&address, elements * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
    memory.reset(address);
    CHECK(aclrtMemcpy(address, elements * sizeof(float), host.data(), elements * sizeof(float),
                      ACL_MEMCPY_HOST_TO_DEVICE));
    std::vector<int64_t> strides(shape.size(), 1);
    for (std::size_t axis = shape.size() - 1; axis > 0; --axis) strides[axis - 1] = strides[axis] * shape[axis];
    tensor.reset(aclCreateTensor(shape.data(), shape.size(), aclDataType::ACL_FLOAT, strides.data(), 0, format,
                                 shape.data(), shape.size(), address));
    return tensor == nullptr ? ACL_ERROR_INTERNAL_ERROR : ACL_SUCCESS;
  }

  int fetch() {
    const std::size_t bytes = host.size() * sizeof(float);
    CHECK(aclrtMemcpy(host.data(), bytes, memory.get(), bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    return ACL_SUCCESS;
  }
};

std::unique_ptr<aclIntArray, aclnnStatus (*)(const aclIntArray*)> ints(const std::vector<int64_t>& values) {
  return {aclCreateIntArray(values.data(), values.size()), aclDestroyIntArray};
}

int gradients(aclrtStream stream) {
  DeviceTensor gradOutput, input, weight, gradInput, gradWeight, gradBias;
  CHECK(gradOutput.create({2, 2, 7, 7}, 1, aclFormat::ACL_FORMAT_NCHW));
  CHECK(input.create({2, 2, 7, 7}, 1, aclFormat::ACL_FORMAT_NCHW));
  CHECK(weight.create({2, 2, 1, 1}, 1, aclFormat::ACL_FORMAT_NCHW));
  CHECK(gradInput.create({2, 2, 7, 7}, 0, aclFormat::ACL_FORMAT_NCHW));
  CHECK(gradWeight.create({2, 2, 1, 1}, 0, aclFormat::ACL_FORMAT_NCHW));
  CHECK(gradBias.create({2}, 0, aclFormat::ACL_FORMAT_ND));
  const auto biasSizes = ints({2}), stride = ints({1, 1}), padding = ints({0, 0}), dilation = ints({1, 1}),
             outputPadding = ints({0, 0});
  const bool all[] = {true, true, true};
  const std::unique_ptr<aclBoolArray, aclnnStatus (*)(const aclBoolArray*)> outputMask(aclCreateBoolArray(all, 3),
                                                                                       aclDestroyBoolArray);
  uint64_t workspaceSize = 0;
  aclOpExecutor* executor;
  CHECK(aclnnConvolutionBackwardGetWorkspaceSize(
      gradOutput.tensor.get(), input.tensor.get(), weight.tensor.get(), biasSizes.get(), stride.get(), padding.get(),
      dilation.get(), false, outputPadding.get(), 1, outputMask.get(), 1, gradInput.tensor.get(),
      gradWeight.tensor.get(), gradBias.tensor.get(), &workspaceSize, &executor));
  std::unique_ptr<void, aclError (*)(void*)> workspace(nullptr, aclrtFree);
  if (workspaceSize > 0) {
    void* address = nullptr;
    CHECK(aclrtMalloc(&address, workspaceSize, ACL_MEM_MALLOC_HUGE_FIRST));
    workspace.reset(address);
  }
  CHECK(aclnnConvolutionBackward(workspace.get(), workspaceSize, executor, stream));
  CHECK(aclrtSynchronizeStream(stream));
  DeviceTensor* const results[] = {&gradInput, &gradWeight, &gradBias};
  const char* const names[] = {"gradInput", "gradWeight", "gradBias"};
  for (int i = 0; i < 3; ++i) {
    CHECK(results[i]->fetch());
    bool same = true;
    for (float value : results[i]->host) same = same && value == results[i]->host[0];
    printf("%s: %zu x %g%s\n", names[i], results[i]->host.size(), static_cast<double>(results[i]->host[0]),
           same ? "" : ", but not everywhere");
  }
  return ACL_SUCCESS;
}

}  // namespace

int main() {
  const int32_t device = 0;
  aclrtStream stream = nullptr;
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(device));
  CHECK(aclrtCreateStream(&stream));
  const int status = gradients(stream);
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice(device));
  CHECK(aclFinalize());
  if (status == ACL_SUCCESS) std::cout << "done" << std::endl;
  return status;
}
