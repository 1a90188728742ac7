// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how tests call the C interface: handles that are destroyed at the end, memory with sentinels around and between elements.
// Leaves what is called to the tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_convolution.h"
#include "aclnnop/aclnn_convolution_backward.h"
#include "cubejit/float16.h"
#include "cubejit_acl/soc.h"
#include "eight_bit_numbers.h"

namespace acl_test {

inline constexpr int kOk = 0, kNull = ACLNN_ERR_PARAM_NULLPTR, kInvalid = ACLNN_ERR_PARAM_INVALID,
                     kInner = ACLNN_ERR_INNER_NULLPTR;
inline constexpr const char *k910 = "Ascend910A", *k310p = "Ascend310P3", *kA2 = "Ascend910B2", *kA3 = "Ascend910_9391",
                            *k950 = "Ascend950PR_9599", *k310b = "Ascend310B1", *kHost = "host";
inline constexpr const char* kParts[] = {k910, k310p, kA2, kA3, k950};

using Ints = std::vector<std::int64_t>;

inline bool isEightBit(aclDataType type) { return type == ACL_HIFLOAT8 || type == ACL_FLOAT8_E4M3FN; }
inline std::string message() { return aclGetRecentErrMsg() == nullptr ? "" : aclGetRecentErrMsg(); }
inline std::size_t bytesOf(aclDataType type) {
  return type == ACL_FLOAT || type == ACL_INT32 ? 4 : type == ACL_INT8 || isEightBit(type) ? 1 : 2;
}
inline aclFormat formatOfRank(std::size_t rank) {
  return rank == 3 ? ACL_FORMAT_NCL : rank == 4 ? ACL_FORMAT_NCHW : rank == 5 ? ACL_FORMAT_NCDHW : ACL_FORMAT_ND;
}
inline std::int64_t product(const Ints& dims) {
  std::int64_t p = 1;
  for (const std::int64_t d : dims) p *= d;
  return p;
}

/// Chooses the part for a test and the host's rules afterwards.
class OnPart {
 public:
  explicit OnPart(const char* soc) { EXPECT_EQ(cubejit_acl_set_soc(soc), ACL_SUCCESS) << message(); }
  ~OnPart() { cubejit_acl_set_soc("host"); }
  OnPart(const OnPart&) = delete;
  OnPart& operator=(const OnPart&) = delete;
};

/// Gradients are computed on the emulated part meanwhile.
class Emulated {
 public:
  explicit Emulated(bool on = true) { EXPECT_EQ(cubejit_acl_set_emulation(on ? 1 : 0), ACL_SUCCESS) << message(); }
  ~Emulated() { cubejit_acl_set_emulation(0); }
  Emulated(const Emulated&) = delete;
  Emulated& operator=(const Emulated&) = delete;
};

/// A tensor with memory of its own: any strides, offset elements in front, sentinels wherever no element is.
class OwnTensor {
 public:
  OwnTensor(Ints dims, aclDataType type, aclFormat format, Ints strides = {}, std::int64_t offset = 0)
      : dims_(std::move(dims)), strides_(std::move(strides)), type_(type), offset_(offset) {
    if (strides_.empty()) {
      strides_.assign(dims_.size(), 1);
      for (std::size_t i = dims_.size(); i-- > 1;) strides_[i - 1] = strides_[i] * std::max<std::int64_t>(1, dims_[i]);
    }
    std::int64_t last = offset_;
    for (std::size_t i = 0; i < dims_.size(); ++i) last += std::max<std::int64_t>(0, dims_[i] - 1) * strides_[i];
    storage_ = product(dims_) == 0 ? offset_ : last + 1;
    memory_.assign(static_cast<std::size_t>(storage_ + kFence) * bytesOf(type), kSentinel);
    handle_ = aclCreateTensor(dims_.data(), dims_.size(), type, strides_.data(), offset, format, &storage_, 1,
                              memory_.data());
  }
  ~OwnTensor() { aclDestroyTensor(handle_); }
  OwnTensor(const OwnTensor&) = delete;
  OwnTensor& operator=(const OwnTensor&) = delete;

  aclTensor* handle() const { return handle_; }
  void* data() { return memory_.data(); }
  const Ints& dims() const { return dims_; }
  std::int64_t elements() const { return product(dims_); }

  /// Values in the order of the dimensions.
  void write(const std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i)
      store(place(static_cast<std::int64_t>(i)), static_cast<float>(values[i]));
  }
  std::vector<double> read() const {
    std::vector<double> values;
    for (std::int64_t i = 0; i < elements(); ++i) values.push_back(load(place(i)));
    return values;
  }
  /// Bytes that belong to no element and are no sentinel any more.
  int strayBytes() const {
    std::vector<bool> owned(memory_.size());
    for (std::int64_t i = 0; i < elements(); ++i)
      for (std::size_t b = 0; b < bytesOf(type_); ++b)
        owned[static_cast<std::size_t>(place(i)) * bytesOf(type_) + b] = true;
    int stray = 0;
    for (std::size_t i = 0; i < memory_.size(); ++i) stray += !owned[i] && memory_[i] != kSentinel ? 1 : 0;
    return stray;
  }
  bool untouched() const {
    for (const unsigned char byte : memory_)
      if (byte != kSentinel) return false;
    return true;
  }
  double rounded(double value) const {
    const auto f = static_cast<float>(value);
    return type_ == ACL_FLOAT16 ? cubejit::f16ToFloat(cubejit::floatToF16(f))
           : type_ == ACL_BF16  ? cubejit::bf16ToFloat(cubejit::floatToBf16(f))
           : isEightBit(type_)  ? eightBitNumber(type_, nearestEightBit(type_, f))
                                : f;
  }

 private:
  static constexpr unsigned char kSentinel = 0xa5;
  static constexpr std::int64_t kFence = 16;

  std::int64_t place(std::int64_t index) const {
    std::int64_t at = offset_;
    for (std::size_t i = dims_.size(); i-- > 0;) {
      at += index % dims_[i] * strides_[i];
      index /= dims_[i];
    }
    return at;
  }
  void store(std::int64_t at, float value) {
    unsigned char* to = memory_.data() + static_cast<std::size_t>(at) * bytesOf(type_);
    const std::uint16_t half = type_ == ACL_BF16 ? cubejit::floatToBf16(value) : cubejit::floatToF16(value);
    if (isEightBit(type_))
      *to = static_cast<unsigned char>(nearestEightBit(type_, value));
    else if (type_ == ACL_FLOAT)
      std::memcpy(to, &value, 4);
    else
      std::memcpy(to, &half, 2);
  }
  double load(std::int64_t at) const {
    const unsigned char* from = memory_.data() + static_cast<std::size_t>(at) * bytesOf(type_);
    float value = 0;
    std::uint16_t half = 0;
    if (type_ == ACL_FLOAT) {
      std::memcpy(&value, from, 4);
      return value;
    }
    if (isEightBit(type_)) return eightBitNumber(type_, *from);
    std::memcpy(&half, from, 2);
    return type_ == ACL_BF16 ? cubejit::bf16ToFloat(half) : cubejit::f16ToFloat(half);
  }

  Ints dims_, strides_;
  aclDataType type_;
  std::int64_t offset_, storage_ = 0;
  std::vector<unsigned char> memory_;
  aclTensor* handle_ = nullptr;
};
using TensorPtr = std::unique_ptr<OwnTensor>;

class OwnInts {
 public:
  explicit OwnInts(const Ints& values) : handle_(aclCreateIntArray(values.data(), values.size())) {}
  ~OwnInts() { aclDestroyIntArray(handle_); }
  OwnInts(const OwnInts&) = delete;
  OwnInts& operator=(const OwnInts&) = delete;
  aclIntArray* handle() const { return handle_; }

 private:
  aclIntArray* handle_;
};

/// Arguments of one problem; every field may be changed before handles are made.
struct Case {
  Ints x, w, y;
  Ints stride, padding, dilation, outputPadding;
  bool transposed = false;
  int groups = 1;
  std::vector<bool> mask{true, true, true};
  int mathType = 0;
  aclDataType type = ACL_FLOAT;  // of all that is not said
  std::optional<aclDataType> gradWeightType, biasType, outputType;
  std::optional<aclFormat> format;  // of the five
  std::optional<Ints> biasSizes;
  std::optional<Ints> gradInput, gradWeight, gradBias;  // shapes, if not those that follow
};

/// A case with the usual attributes.
inline Case simple(Ints x, Ints w, Ints y, aclDataType type = ACL_FLOAT, std::int64_t padding = 0) {
  Case c;
  const std::size_t axes = w.size() - 2;
  c.x = std::move(x), c.w = std::move(w), c.y = std::move(y), c.type = type;
  c.stride = c.dilation = Ints(axes, 1);
  c.padding = Ints(axes, padding), c.outputPadding = Ints(axes, 0);
  return c;
}

inline Case with(Case c, const std::function<void(Case&)>& change) {
  change(c);
  return c;
}

/// Queues phase 2 with a workspace of exactly what was promised, and waits.
template <class PhaseTwo>
aclnnStatus runPhaseTwo(PhaseTwo phaseTwo, std::uint64_t bytes, aclOpExecutor* executor, aclrtStream stream) {
  void* workspace = nullptr;
  if (bytes > 0 && aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) return -1;
  const aclnnStatus queued = phaseTwo(workspace, bytes, executor, stream);
  const aclError done = aclrtSynchronizeStream(stream);
  if (workspace != nullptr) aclrtFree(workspace);
  return queued != 0 ? queued : done;
}

/// The handles of a case. Public: tests spoil single ones.
struct Call {
  explicit Call(const Case& c)
      : given(c),
        stride(c.stride),
        padding(c.padding),
        dilation(c.dilation),
        outputPadding(c.outputPadding),
        biasSizes(c.biasSizes.value_or(Ints{1})) {
    const auto make = [&](const Ints& dims, std::optional<aclDataType> type) {
      return std::make_unique<OwnTensor>(dims, type.value_or(c.type), c.format.value_or(formatOfRank(dims.size())));
    };
    dy = make(c.y, {}), x = make(c.x, {}), w = make(c.w, {});
    dx = make(c.gradInput.value_or(c.x), {});
    dw = make(c.gradWeight.value_or(c.w), c.gradWeightType);
    db = std::make_unique<OwnTensor>(c.gradBias.value_or(Ints{c.y.size() > 1 ? c.y[1] : 1}),
                                     c.biasType.value_or(c.type), ACL_FORMAT_ND);
    bool values[8] = {};
    for (std::size_t i = 0; i < c.mask.size(); ++i) values[i] = c.mask[i];
    mask = aclCreateBoolArray(values, c.mask.size());
    arrays[0] = stride.handle(), arrays[1] = padding.handle(), arrays[2] = dilation.handle();
    arrays[3] = outputPadding.handle();
    tensors[0] = dy->handle(), tensors[1] = x->handle(), tensors[2] = w->handle();
    tensors[3] = dx->handle(), tensors[4] = dw->handle(), tensors[5] = db->handle();
    bias = c.biasSizes ? biasSizes.handle() : nullptr;
    maskHandle = mask;
  }
  ~Call() {
    if (executor != nullptr) aclDestroyAclOpExecutor(executor);
    aclDestroyBoolArray(mask);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  aclnnStatus phaseOne() {
    return aclnnConvolutionBackwardGetWorkspaceSize(tensors[0], tensors[1], tensors[2], bias, arrays[0], arrays[1],
                                                    arrays[2], given.transposed, arrays[3], given.groups, maskHandle,
                                                    static_cast<std::int8_t>(given.mathType), tensors[3], tensors[4],
                                                    tensors[5], &workspaceBytes, &executor);
  }
  /// Phase 2 on a stream.
  aclnnStatus phaseTwo(aclrtStream stream = nullptr) {
    return runPhaseTwo(aclnnConvolutionBackward, workspaceBytes, std::exchange(executor, nullptr), stream);
  }

  Case given;
  OwnInts stride, padding, dilation, outputPadding, biasSizes;
  TensorPtr dy, x, w, dx, dw, db;
  aclBoolArray *mask = nullptr, *maskHandle = nullptr;
  aclIntArray* arrays[4] = {};
  aclIntArray* bias = nullptr;
  aclTensor* tensors[6] = {};
  std::uint64_t workspaceBytes = 0;
  aclOpExecutor* executor = nullptr;
  void* workspace = nullptr;  ///< of tests that queue phase 2 themselves
};

/// The same of forward, which has a bias in place of masks and gradients.
struct ForwardCall {
  explicit ForwardCall(const Case& c)
      : given(c), stride(c.stride), padding(c.padding), dilation(c.dilation), outputPadding(c.outputPadding) {
    const auto make = [&](const Ints& dims, std::optional<aclDataType> type) {
      return std::make_unique<OwnTensor>(dims, type.value_or(c.type), c.format.value_or(formatOfRank(dims.size())));
    };
    x = make(c.x, {}), w = make(c.w, {}), y = make(c.y, c.outputType);
    bias = std::make_unique<OwnTensor>(Ints{c.y.size() > 1 ? c.y[1] : 1}, c.biasType.value_or(c.type), ACL_FORMAT_ND);
    take();
    arrays[0] = stride.handle(), arrays[1] = padding.handle(), arrays[2] = dilation.handle();
    arrays[3] = outputPadding.handle();
  }
  ~ForwardCall() {
    if (executor != nullptr) aclDestroyAclOpExecutor(executor);
  }
  ForwardCall(const ForwardCall&) = delete;
  ForwardCall& operator=(const ForwardCall&) = delete;

  /// Calls with the tensors as they are now.
  void take() {
    const OwnTensor* const all[] = {x.get(), w.get(), bias.get(), y.get()};
    for (std::size_t i = 0; i < 4; ++i) tensors[i] = all[i]->handle();
  }
  aclnnStatus phaseOne() {
    return aclnnConvolutionGetWorkspaceSize(tensors[0], tensors[1], tensors[2], arrays[0], arrays[1], arrays[2],
                                            given.transposed, arrays[3], given.groups, tensors[3],
                                            static_cast<std::int8_t>(given.mathType), &workspaceBytes, &executor);
  }
  aclnnStatus phaseTwo(aclrtStream stream = nullptr) {
    return runPhaseTwo(aclnnConvolution, workspaceBytes, std::exchange(executor, nullptr), stream);
  }

  Case given;
  OwnInts stride, padding, dilation, outputPadding;
  TensorPtr x, w, bias, y;
  aclIntArray* arrays[4] = {};
  aclTensor* tensors[4] = {};  // input, weight, bias, output
  std::uint64_t workspaceBytes = 0;
  aclOpExecutor* executor = nullptr;
};

/// Phase 1's status for a case.
inline aclnnStatus statusOf(const Case& c) { return Call(c).phaseOne(); }

}  // namespace acl_test
