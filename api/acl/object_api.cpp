// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the functions that make, ask and destroy tensors and arrays do. Leaves handles to registry.h.
#include <algorithm>
#include <type_traits>

#include "api/acl/findings.h"
#include "api/acl/objects.h"
#include "api/acl/registry.h"

namespace cubejit::acl {
namespace {

struct TypeRow {
  aclDataType type;
  std::int64_t bytes;
  const char* name;
};
constexpr TypeRow kTypes[] = {{ACL_FLOAT, 4, "FLOAT"},
                              {ACL_FLOAT16, 2, "FLOAT16"},
                              {ACL_INT8, 1, "INT8"},
                              {ACL_INT32, 4, "INT32"},
                              {ACL_UINT8, 1, "UINT8"},
                              {ACL_INT16, 2, "INT16"},
                              {ACL_UINT16, 2, "UINT16"},
                              {ACL_UINT32, 4, "UINT32"},
                              {ACL_INT64, 8, "INT64"},
                              {ACL_UINT64, 8, "UINT64"},
                              {ACL_DOUBLE, 8, "DOUBLE"},
                              {ACL_BOOL, 1, "BOOL"},
                              {ACL_STRING, 0, "STRING"},
                              {ACL_COMPLEX64, 8, "COMPLEX64"},
                              {ACL_COMPLEX128, 16, "COMPLEX128"},
                              {ACL_BF16, 2, "BF16"},
                              {ACL_INT4, 0, "INT4"},
                              {ACL_UINT1, 0, "UINT1"},
                              {ACL_COMPLEX32, 4, "COMPLEX32"},
                              {ACL_HIFLOAT8, 1, "HIFLOAT8"},
                              {ACL_FLOAT8_E5M2, 1, "FLOAT8_E5M2"},
                              {ACL_FLOAT8_E4M3FN, 1, "FLOAT8_E4M3FN"},
                              {ACL_FLOAT8_E8M0, 1, "FLOAT8_E8M0"},
                              {ACL_FLOAT6_E3M2, 0, "FLOAT6_E3M2"},
                              {ACL_FLOAT6_E2M3, 0, "FLOAT6_E2M3"},
                              {ACL_FLOAT4_E2M1, 0, "FLOAT4_E2M1"},
                              {ACL_FLOAT4_E1M2, 0, "FLOAT4_E1M2"}};

struct FormatRow {
  aclFormat format;
  const char* name;
};
constexpr FormatRow kFormats[] = {{ACL_FORMAT_NCHW, "NCHW"},
                                  {ACL_FORMAT_NHWC, "NHWC"},
                                  {ACL_FORMAT_ND, "ND"},
                                  {ACL_FORMAT_NC1HWC0, "NC1HWC0"},
                                  {ACL_FORMAT_FRACTAL_Z, "FRACTAL_Z"},
                                  {ACL_FORMAT_HWCN, "HWCN"},
                                  {ACL_FORMAT_NDHWC, "NDHWC"},
                                  {ACL_FORMAT_FRACTAL_NZ, "FRACTAL_NZ"},
                                  {ACL_FORMAT_NCDHW, "NCDHW"},
                                  {ACL_FORMAT_NDC1HWC0, "NDC1HWC0"},
                                  {ACL_FRACTAL_Z_3D, "FRACTAL_Z_3D"},
                                  {ACL_FORMAT_NC, "NC"},
                                  {ACL_FORMAT_NCL, "NCL"}};

// Elements of an array or list; beyond this a size is taken for a mistake.
constexpr std::uint64_t kMostValues = std::uint64_t{1} << 20;

// Elements from the beginning of a storage: bytes of any type still fit 64 bits.
constexpr std::int64_t kMostReach = std::int64_t{1} << 58;

// Copies extents and multiplies them; false if one is negative or the product leaves 64 bits.
bool take(const std::int64_t* from, std::uint64_t count, std::array<std::int64_t, kMostDims>& to,
          std::int64_t& product) {
  product = 1;
  bool empty = false;
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = from[i];
    if (from[i] < 0) return false;
    empty = empty || from[i] == 0;
    if (from[i] > 0 && __builtin_mul_overflow(product, from[i], &product)) return false;
  }
  if (empty) product = 0;
  return true;
}

struct Description {
  const std::int64_t* dims;
  std::uint64_t rank;
  aclDataType dtype;
  const std::int64_t* strides;
  std::int64_t offset;
  aclFormat format;
  const std::int64_t* storageDims;
  std::uint64_t storageRank;
  void* data;
};

std::shared_ptr<Tensor> describe(const Description& d, Findings& findings) {
  const int code = ACLNN_ERR_PARAM_INVALID;
  const auto tensor = std::make_shared<Tensor>();
  Tensor& t = *tensor;
  findings.require(d.rank <= kMostDims, code, "viewDimsNum", std::to_string(d.rank) + " must be at most 8");
  findings.require(d.storageRank <= kMostDims, code, "storageDimsNum",
                   std::to_string(d.storageRank) + " must be at most 8");
  findings.require(d.dims != nullptr || d.rank == 0, code, "viewDims", "is null");
  findings.require(d.offset >= 0 && d.offset <= kMostReach, code, "offset",
                   std::to_string(d.offset) + " must be 0 to 2^58");
  if (findings.any()) return nullptr;
  t.dtype = d.dtype, t.format = d.format, t.offset = d.offset, t.data = d.data;
  t.rank = static_cast<int>(d.rank);
  findings.require(take(d.dims, d.rank, t.dims, t.elements), code, "viewDims",
                   text(d.dims, d.rank) + " must be at least 0 each, and their product less than 2^63");
  if (d.storageDims != nullptr) {
    std::int64_t stored = 0;
    t.storageRank = static_cast<int>(d.storageRank);
    findings.require(take(d.storageDims, d.storageRank, t.storageDims, stored), code, "storageDims",
                     text(d.storageDims, d.storageRank) + " must be at least 0 each, and their product less than 2^63");
  }
  std::int64_t step = 1, reach = d.offset;
  for (int axis = t.rank - 1; axis >= 0 && !findings.any(); --axis) {
    const auto a = static_cast<std::size_t>(axis);
    t.strides[a] = d.strides != nullptr ? d.strides[a] : step;
    step *= std::max<std::int64_t>(1, t.dims[a]);
    findings.require(
        t.strides[a] >= 0, code, "stride",
        "value " + std::to_string(t.strides[a]) + " of axis " + std::to_string(axis) + " must be at least 0");
    std::int64_t span = 0;
    const bool overflow = __builtin_mul_overflow(t.elements == 0 ? 0 : t.dims[a] - 1, t.strides[a], &span) ||
                          __builtin_add_overflow(reach, span, &reach) || reach > kMostReach;
    findings.require(!overflow || t.elements == 0, code, "stride", "the view reaches beyond 2^58 elements");
  }
  return findings.any() ? nullptr : tensor;
}

template <class T, class Handle, class Value>
Handle* createArray(const Value* values, std::uint64_t size, const char* what) {
  return guarded<Handle*>(nullptr, [&]() -> Handle* {
    if ((values == nullptr && size > 0) || size > kMostValues) {
      fail(ACLNN_ERR_PARAM_INVALID, kMetaDocument, what,
           values == nullptr ? "value is null" : "size " + std::to_string(size) + " must be at most 2^20");
      return nullptr;
    }
    const auto array = std::make_shared<T>();
    if (size > 0) array->values.assign(values, values + size);
    return static_cast<Handle*>(registry<T>().add(array));
  });
}

// Destroys a list and what it has taken over.
template <class List, class Member>
aclnnStatus destroyList(const void* handle, const char* what) {
  return guarded<aclnnStatus>(ACLNN_ERR_INNER, [&]() -> aclnnStatus {
    if (handle == nullptr) return ACLNN_SUCCESS;
    const auto list = registry<List>().remove(handle);
    if (list == nullptr)
      return fail(ACLNN_ERR_PARAM_INVALID, kMetaDocument, what, "the handle was destroyed before, or never made");
    for (const auto* member : list->values) registry<Member>().remove(member);
    return ACLNN_SUCCESS;
  });
}

template <class T>
aclnnStatus destroy(const void* handle, const char* what) {
  return guarded<aclnnStatus>(ACLNN_ERR_INNER, [&]() -> aclnnStatus {
    if (handle == nullptr || registry<T>().remove(handle) != nullptr) return ACLNN_SUCCESS;
    return fail(ACLNN_ERR_PARAM_INVALID, kMetaDocument, what, "the handle was destroyed before, or never made");
  });
}

// Calls body(object) if the handle and all results are there.
template <class T, class Body>
aclnnStatus ask(const void* handle, bool results, const char* what, Body&& body) {
  return guarded<aclnnStatus>(ACLNN_ERR_INNER, [&]() -> aclnnStatus {
    if (handle == nullptr || !results) return fail(ACLNN_ERR_PARAM_NULLPTR, kMetaDocument, what, "an argument is null");
    const auto object = registry<T>().find(handle);
    if (object == nullptr)
      return fail(ACLNN_ERR_PARAM_INVALID, kMetaDocument, what, "the handle was destroyed, or never made");
    body(*object);
    return ACLNN_SUCCESS;
  });
}

void give(const std::array<std::int64_t, kMostDims>& values, int count, std::int64_t** out, std::uint64_t* size) {
  auto* copy = new std::int64_t[static_cast<std::size_t>(std::max(1, count))];
  std::copy_n(values.begin(), count, copy);
  *out = copy;
  *size = static_cast<std::uint64_t>(count);
}

}  // namespace

std::int64_t elementBytes(aclDataType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.type == dtype) return row.bytes;
  }
  return 0;
}

const char* nameOf(aclDataType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.type == dtype) return row.name;
  }
  return "(unknown type)";
}

const char* nameOf(aclFormat format) {
  for (const FormatRow& row : kFormats) {
    if (row.format == format) return row.name;
  }
  return "(another format)";
}

std::string text(const std::int64_t* values, std::size_t count) {
  std::string spelled = "[";
  for (std::size_t i = 0; i < count; ++i) spelled += (i == 0 ? "" : ", ") + std::to_string(values[i]);
  return spelled + "]";
}

}  // namespace cubejit::acl

using namespace cubejit::acl;

aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t* stride,
                           int64_t offset, aclFormat format, const int64_t* storageDims, uint64_t storageDimsNum,
                           void* tensorData) {
  return guarded<aclTensor*>(nullptr, [&]() -> aclTensor* {
    Findings findings(kMetaDocument);
    const auto tensor = describe(
        {viewDims, viewDimsNum, dataType, stride, offset, format, storageDims, storageDimsNum, tensorData}, findings);
    if (tensor == nullptr) return findings.report(), nullptr;
    return static_cast<aclTensor*>(registry<Tensor>().add(tensor));
  });
}

aclnnStatus aclInitTensor(aclTensor* tensor, const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType,
                          const int64_t* stride, int64_t offset, aclFormat format, const int64_t* storageDims,
                          uint64_t storageDimsNum, void* tensorDataAddr) {
  return guarded<aclnnStatus>(ACLNN_ERR_INNER, [&]() -> aclnnStatus {
    Findings findings(kMetaDocument);
    if (tensor == nullptr) return fail(ACLNN_ERR_PARAM_NULLPTR, kMetaDocument, "aclInitTensor", "tensor is null");
    const auto described =
        describe({viewDims, viewDimsNum, dataType, stride, offset, format, storageDims, storageDimsNum, tensorDataAddr},
                 findings);
    if (described == nullptr) return findings.report();
    if (registry<Tensor>().replace(tensor, described)) return ACLNN_SUCCESS;
    return fail(ACLNN_ERR_PARAM_INVALID, kMetaDocument, "aclInitTensor", "the tensor was destroyed, or never made");
  });
}

aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size) {
  return createArray<IntArray, aclIntArray>(value, size, "aclCreateIntArray");
}
aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size) {
  return createArray<FloatArray, aclFloatArray>(value, size, "aclCreateFloatArray");
}
aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size) {
  return createArray<BoolArray, aclBoolArray>(value, size, "aclCreateBoolArray");
}
aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
  const std::int64_t bytes = elementBytes(dataType);
  const bool known = bytes > 0;
  return createArray<Scalar, aclScalar>(known ? static_cast<const std::uint8_t*>(value) : nullptr,
                                        static_cast<std::uint64_t>(known ? bytes : 1), "aclCreateScalar");
}
aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size) {
  return createArray<TensorList, aclTensorList>(value, size, "aclCreateTensorList");
}
aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size) {
  return createArray<ScalarList, aclScalarList>(value, size, "aclCreateScalarList");
}

aclnnStatus aclDestroyTensor(const aclTensor* tensor) { return destroy<Tensor>(tensor, "aclDestroyTensor"); }
aclnnStatus aclDestroyIntArray(const aclIntArray* array) { return destroy<IntArray>(array, "aclDestroyIntArray"); }
aclnnStatus aclDestroyFloatArray(const aclFloatArray* array) {
  return destroy<FloatArray>(array, "aclDestroyFloatArray");
}
aclnnStatus aclDestroyBoolArray(const aclBoolArray* array) { return destroy<BoolArray>(array, "aclDestroyBoolArray"); }
aclnnStatus aclDestroyScalar(const aclScalar* scalar) { return destroy<Scalar>(scalar, "aclDestroyScalar"); }
aclnnStatus aclDestroyTensorList(const aclTensorList* array) {
  return destroyList<TensorList, Tensor>(array, "aclDestroyTensorList");
}
aclnnStatus aclDestroyScalarList(const aclScalarList* array) {
  return destroyList<ScalarList, Scalar>(array, "aclDestroyScalarList");
}

aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims, uint64_t* viewDimsNum) {
  return ask<Tensor>(tensor, viewDims != nullptr && viewDimsNum != nullptr, "aclGetViewShape",
                     [&](const Tensor& t) { give(t.dims, t.rank, viewDims, viewDimsNum); });
}
aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims, uint64_t* storageDimsNum) {
  return ask<Tensor>(tensor, storageDims != nullptr && storageDimsNum != nullptr, "aclGetStorageShape",
                     [&](const Tensor& t) { give(t.storageDims, t.storageRank, storageDims, storageDimsNum); });
}
aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue, uint64_t* stridesNum) {
  return ask<Tensor>(tensor, stridesValue != nullptr && stridesNum != nullptr, "aclGetViewStrides",
                     [&](const Tensor& t) { give(t.strides, t.rank, stridesValue, stridesNum); });
}
aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset) {
  return ask<Tensor>(tensor, offset != nullptr, "aclGetViewOffset", [&](const Tensor& t) { *offset = t.offset; });
}
aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format) {
  return ask<Tensor>(tensor, format != nullptr, "aclGetFormat", [&](const Tensor& t) { *format = t.format; });
}
aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType) {
  return ask<Tensor>(tensor, dataType != nullptr, "aclGetDataType", [&](const Tensor& t) { *dataType = t.dtype; });
}
aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr) {
  return ask<Tensor>(tensor, addr != nullptr, "aclGetRawTensorAddr", [&](const Tensor& t) { *addr = t.data; });
}
aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr) {
  return ask<Tensor>(tensor, true, "aclSetRawTensorAddr", [&](const Tensor& t) {
    const auto moved = std::make_shared<Tensor>(t);
    moved->data = addr;
    registry<Tensor>().replace(tensor, moved);
  });
}
aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
  return ask<IntArray>(array, size != nullptr, "aclGetIntArraySize", [&](const auto& a) { *size = a.values.size(); });
}
aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
  return ask<FloatArray>(array, size != nullptr, "aclGetFloatArraySize",
                         [&](const auto& a) { *size = a.values.size(); });
}
aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
  return ask<BoolArray>(array, size != nullptr, "aclGetBoolArraySize", [&](const auto& a) { *size = a.values.size(); });
}
aclnnStatus aclGetTensorListSize(const aclTensorList* tensorList, uint64_t* size) {
  return ask<TensorList>(tensorList, size != nullptr, "aclGetTensorListSize",
                         [&](const auto& a) { *size = a.values.size(); });
}
aclnnStatus aclGetScalarListSize(const aclScalarList* scalarList, uint64_t* size) {
  return ask<ScalarList>(scalarList, size != nullptr, "aclGetScalarListSize",
                         [&](const auto& a) { *size = a.values.size(); });
}
