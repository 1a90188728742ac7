// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what tensors and arrays hold. They never change: a tensor that is described anew is another object behind the same handle.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "aclnn/acl_meta.h"

namespace cubejit::acl {

inline constexpr int kMostDims = 8;

struct Tensor {
  static constexpr std::uint64_t kKind = 1;
  aclDataType dtype = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  int rank = 0, storageRank = 0;
  std::array<std::int64_t, kMostDims> dims{}, strides{}, storageDims{};
  std::int64_t offset = 0;    ///< of the first element, in elements
  std::int64_t elements = 0;  ///< product of dims
  void* data = nullptr;
  bool empty() const { return elements == 0; }
  friend bool sameView(const Tensor& a, const Tensor& b) {
    return a.dtype == b.dtype && a.format == b.format && a.rank == b.rank && a.dims == b.dims &&
           a.strides == b.strides && a.offset == b.offset;
  }
};
using TensorPtr = std::shared_ptr<const Tensor>;

template <class Value, std::uint64_t Kind>
struct Array {
  static constexpr std::uint64_t kKind = Kind;
  std::vector<Value> values;
};
using IntArray = Array<std::int64_t, 2>;
using FloatArray = Array<float, 3>;
using BoolArray = Array<std::uint8_t, 4>;
using Scalar = Array<std::uint8_t, 5>;  ///< the bytes of the value
using TensorList = Array<const aclTensor*, 6>;
using ScalarList = Array<const aclScalar*, 7>;
using IntArrayPtr = std::shared_ptr<const IntArray>;

/// Bytes of an element; 0 if it is not a number of whole bytes.
std::int64_t elementBytes(aclDataType dtype);
const char* nameOf(aclDataType dtype);
const char* nameOf(aclFormat format);
/// "[2, 3, 4]"
std::string text(const std::int64_t* values, std::size_t count);
inline std::string shapeText(const Tensor& t) { return text(t.dims.data(), static_cast<std::size_t>(t.rank)); }
inline std::string text(const IntArray& a) { return text(a.values.data(), a.values.size()); }

}  // namespace cubejit::acl
