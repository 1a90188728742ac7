// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing: one and three dimensions, and what programs do when something goes wrong: they end the runtime first and let
// deleters run afterwards, which does no harm.
#include <iostream>
#include <memory>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/level2/aclnn_convolution_backward.h"  // as older toolkits have it

namespace {

template <class T>
using Handle = std::unique_ptr<T, aclnnStatus (*)(const T*)>;

Handle<aclTensor> tensorOf(const std::vector<int64_t>& shape, std::vector<float>& values, float value) {
  std::size_t elements = 1;
  for (int64_t extent : shape) elements *= static_cast<std::size_t>(extent);
  values.assign(elements, value);
  const aclFormat format = shape.size() == 1 ? ACL_FORMAT_ND : shape.size() == 3 ? ACL_FORMAT_NCL : ACL_FORMAT_NCDHW;
  return Handle<aclTensor>(aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, nullptr, 0, format, shape.data(),
                                           shape.size(), values.data()),
                           aclDestroyTensor);
}

Handle<aclIntArray> repeated(int64_t value, std::size_t count) {
  const std::vector<int64_t> values(count, value);
  return Handle<aclIntArray>(aclCreateIntArray(values.data(), count), aclDestroyIntArray);
}

// Gradients of a convolution of ones with `axes` spatial axes of 7; with a stride of 0, what phase 1 says of it.
int gradients(std::size_t axes, int64_t strideOf, bool endFirst) {
  std::vector<int64_t> image(2, 2), kernel(2, 2);
  image.insert(image.end(), axes, 7);
  kernel.insert(kernel.end(), axes, 1);
  std::vector<float> dy, x, w, dx, dw, db;
  const auto gradOutput = tensorOf(image, dy, 1), input = tensorOf(image, x, 1), weight = tensorOf(kernel, w, 1),
             gradInput = tensorOf(image, dx, 0), gradWeight = tensorOf(kernel, dw, 0), gradBias = tensorOf({2}, db, 0);
  const auto stride = repeated(strideOf, axes), padding = repeated(0, axes), dilation = repeated(1, axes),
             outputPadding = repeated(0, axes), biasSizes = repeated(2, 1);
  const bool all[] = {true, true, true};
  const Handle<aclBoolArray> mask(aclCreateBoolArray(all, 3), aclDestroyBoolArray);
  uint64_t workspaceSize = 0;
  aclOpExecutor* executor = nullptr;
  const int prepared = aclnnConvolutionBackwardGetWorkspaceSize(
      gradOutput.get(), input.get(), weight.get(), biasSizes.get(), stride.get(), padding.get(), dilation.get(), false,
      outputPadding.get(), 1, mask.get(), 0, gradInput.get(), gradWeight.get(), gradBias.get(), &workspaceSize,
      &executor);
  if (prepared != ACL_SUCCESS) {
    std::cout << "phase 1: " << prepared << ": " << aclGetRecentErrMsg() << "\n";
    if (endFirst) aclFinalize();
    return prepared;
  }
  void* workspace = nullptr;
  if (workspaceSize > 0 && aclrtMalloc(&workspace, workspaceSize, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) return 1;
  int status = aclnnConvolutionBackward(workspace, workspaceSize, executor, nullptr);
  if (status == ACL_SUCCESS) status = aclrtSynchronizeStream(nullptr);
  if (workspace != nullptr) aclrtFree(workspace);
  std::cout << axes << "D: " << dx[0] << " " << dw[0] << " " << db[0] << "\n";
  return status;
}

}  // namespace

int main() {
  if (aclInit(nullptr) != ACL_SUCCESS) return 1;
  if (gradients(1, 1, false) != ACL_SUCCESS || gradients(3, 1, false) != ACL_SUCCESS) return 1;
  if (gradients(3, 0, true) != ACLNN_ERR_PARAM_INVALID) return 1;
  std::cout << "done\n";
  return 0;
}
