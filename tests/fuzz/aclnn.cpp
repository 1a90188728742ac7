// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of any sequence of aclnn calls that it ends, with memory touched only inside tensors: handles that are dead, swapped or null, phases
// in any order, tensors of any view. An input is the sequence. What a call refuses it must say why.
#include "aclnnop/aclnn_convolution_backward.h"

#include <array>
#include <memory>
#include <vector>

#include "acl/acl.h"
#include "cubejit_acl/soc.h"
#include "tests/fuzz/target.h"
#include "tests/support/fenced_memory.h"

using cubejit::Fence;
using cubejit::FencedMemory;
using cubejit::fuzz::Bytes;

namespace {

using Ints = std::vector<std::int64_t>;

constexpr aclDataType kTypes[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_INT8, ACL_HIFLOAT8, ACL_FLOAT8_E4M3FN};
constexpr std::int64_t kMostElements = 20000;

std::int64_t bytesOf(aclDataType type) {
  return type == ACL_FLOAT ? 4 : type == ACL_FLOAT16 || type == ACL_BF16 ? 2 : 1;
}

class Caller {
 public:
  explicit Caller(Bytes& bytes) : bytes_(bytes) {}
  ~Caller() {
    aclrtSynchronizeStream(nullptr);
    for (aclOpExecutor* executor : executors_) aclDestroyAclOpExecutor(executor);
    for (const aclTensor* tensor : tensors_) aclDestroyTensor(tensor);
    for (const aclIntArray* array : arrays_) aclDestroyIntArray(array);
    for (const aclBoolArray* mask : masks_) aclDestroyBoolArray(mask);
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  void callSomething() {
    switch (bytes_.below(10)) {
      case 0: return convolution();
      case 1: slots_[static_cast<std::size_t>(bytes_.below(6))] = any(tensors_); return;
      case 2: attributes_[static_cast<std::size_t>(bytes_.below(5))] = any(arrays_); return;
      case 3: aclDestroyTensor(any(tensors_)); return;
      case 4: aclDestroyIntArray(any(arrays_)); return;
      case 5: aclDestroyAclOpExecutor(any(executors_)); return;
      case 6: aclSetAclOpExecutorRepeatable(any(executors_)); return;
      case 7: slots_[static_cast<std::size_t>(bytes_.below(6))] = oddTensor(); return;
      case 8: return phaseOne();
      default: return phaseTwo();
    }
  }

 private:
  // A handle of the kind, dead ones among them, or null.
  template <class T>
  T any(const std::vector<T>& handles) {
    const auto at = static_cast<std::size_t>(bytes_.below(static_cast<std::int64_t>(handles.size()) + 1));
    return at == handles.size() ? nullptr : handles[at];
  }
  Ints ints(std::size_t count, std::int64_t least, std::int64_t most) {
    Ints values(count);
    for (std::int64_t& value : values) value = least + bytes_.below(most - least + 1);
    return values;
  }
  aclIntArray* array(const Ints& values) {
    return arrays_.emplace_back(aclCreateIntArray(values.data(), values.size()));
  }

  // Memory holds what the tensor says, and not a byte more.
  aclTensor* tensor(const Ints& dims, const Ints& strides, std::int64_t offset, std::int64_t storage, aclDataType type,
                    aclFormat format) {
    memory_.push_back(std::make_unique<FencedMemory>(storage * bytesOf(type), Fence::kBehind));
    aclTensor* made = aclCreateTensor(dims.data(), dims.size(), type, strides.data(), offset, format, &storage, 1,
                                      memory_.back()->data());
    cubejit::fuzz::hold(made != nullptr || aclGetRecentErrMsg() != nullptr, "what makes no tensor says why");
    return tensors_.emplace_back(made);
  }
  aclTensor* dense(const Ints& dims, aclDataType type) {
    Ints strides(dims.size(), 1);
    for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<std::int64_t>(1, dims[i]);
    std::int64_t elements = 1;
    for (const std::int64_t extent : dims) elements *= std::max<std::int64_t>(0, extent);
    const aclFormat formats[] = {ACL_FORMAT_ND,  ACL_FORMAT_ND,   ACL_FORMAT_ND,
                                 ACL_FORMAT_NCL, ACL_FORMAT_NCHW, ACL_FORMAT_NCDHW};
    if (elements > kMostElements) return nullptr;
    return tensor(dims, strides, 0, elements, type, formats[dims.size()]);
  }
  // Any view of a little memory; strides may make it reach out of that.
  aclTensor* oddTensor() {
    const auto axes = static_cast<std::size_t>(bytes_.below(7));
    const Ints dims = ints(axes, -1, 9), strides = ints(axes, -1, 40);
    const aclDataType type = kTypes[bytes_.below(6)];
    return tensor(dims, strides, bytes_.below(10) - 1, bytes_.below(600), type,
                  static_cast<aclFormat>(bytes_.below(40) - 1));
  }

  // A right call; what comes later may spoil it.
  void convolution() {
    const auto axes = static_cast<std::size_t>(1 + bytes_.below(3));
    const std::int64_t groups = 1 + bytes_.below(3), inner = 1 + bytes_.below(5), outer = 1 + bytes_.below(5);
    const aclDataType type = kTypes[bytes_.below(3)];
    const Ints kernel = ints(axes, 1, 3), stride = ints(axes, 1, 2), padding = ints(axes, 0, 2),
               dilation = ints(axes, 1, 2);
    Ints x{bytes_.below(3), groups * inner}, y{x[0], groups * outer}, w{groups * outer, inner};
    for (std::size_t a = 0; a < axes; ++a) {
      y.push_back(1 + bytes_.below(6));
      x.push_back(
          std::max<std::int64_t>(1, (y.back() - 1) * stride[a] + (kernel[a] - 1) * dilation[a] + 1 - 2 * padding[a]));
      w.push_back(kernel[a]);
    }
    const bool values[] = {bytes_.below(4) != 0, bytes_.below(4) != 0, bytes_.below(4) != 0};
    groups_ = static_cast<int>(groups);
    slots_ = {dense(y, type), dense(x, type), dense(w, type), dense(x, type), dense(w, type), dense({y[1]}, type)};
    attributes_ = {array({y[1]}), array(stride), array(padding), array(dilation), array(Ints(axes, 0))};
    mask_ = masks_.emplace_back(aclCreateBoolArray(values, 3));
  }

  void phaseOne() {
    aclOpExecutor* executor = nullptr;
    const bool transposed = bytes_.below(6) == 0;
    const auto mathType = static_cast<std::int8_t>(bytes_.below(8) == 0 ? bytes_.below(256) : 0);
    if (bytes_.below(12) == 0) groups_ = static_cast<int>(bytes_.below(9)) - 2;
    const aclnnStatus status = aclnnConvolutionBackwardGetWorkspaceSize(
        slots_[0], slots_[1], slots_[2], attributes_[0], attributes_[1], attributes_[2], attributes_[3], transposed,
        attributes_[4], groups_, mask_, mathType, slots_[3], slots_[4], slots_[5], &workspaceBytes_, &executor);
    cubejit::fuzz::hold((status == 0) == (executor != nullptr), "phase 1 makes an executor or fails");
    cubejit::fuzz::hold(status == 0 || aclGetRecentErrMsg() != nullptr, "phase 1 says why it fails");
    if (status == 0) executors_.push_back(executor);
  }

  void phaseTwo() {
    aclOpExecutor* executor = bytes_.below(4) == 0 || executors_.empty() ? any(executors_) : executors_.back();
    if (workspaceBytes_ > 1 << 26) return;
    const std::uint64_t bytes = (workspaceBytes_ + 63) / 64 * 64;
    const FencedMemory workspace(static_cast<std::int64_t>(bytes), Fence::kBehind);
    // Another executor's promise may be less than this one needs; then it must be refused.
    const aclnnStatus status = aclnnConvolutionBackward(bytes_.below(8) == 0 ? nullptr : workspace.data(),
                                                        bytes_.below(8) == 0 ? bytes / 2 : bytes, executor, nullptr);
    cubejit::fuzz::hold(status == 0 || aclGetRecentErrMsg() != nullptr, "phase 2 says why it fails");
    aclrtSynchronizeStream(nullptr);
  }

  Bytes& bytes_;
  std::vector<std::unique_ptr<FencedMemory>> memory_;
  std::vector<aclTensor*> tensors_;
  std::vector<aclIntArray*> arrays_;
  std::vector<aclBoolArray*> masks_;
  std::vector<aclOpExecutor*> executors_;
  std::array<aclTensor*, 6> slots_{};
  std::array<aclIntArray*, 5> attributes_{};
  aclBoolArray* mask_ = nullptr;
  int groups_ = 1;
  std::uint64_t workspaceBytes_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  constexpr const char* kParts[] = {"host", "host", "Ascend910B2", "Ascend310P3", "Ascend950DT_9591"};
  cubejit_acl_set_soc(kParts[bytes.below(5)]);
  Caller caller(bytes);
  for (int calls = 0; calls < 40 && !bytes.empty(); ++calls) caller.callSomething();
  return 0;
}
