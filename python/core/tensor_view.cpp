// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which protocol an array is read through, and when its memory is given back.
#include "python/core/tensor_view.h"

#include <dlpack/dlpack.h>

#include <optional>

namespace cubejit::python {

namespace py = pybind11;

namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 47;

const char* typesOf(Elements elements) {
  return elements == Elements::kFloats ? "cubejit computes in float32, float16 and bfloat16"
                                       : "kernels have float32, float16, bfloat16, int8 and int32";
}
bool allows(Elements elements, const std::optional<DType>& type) {
  return type && (elements == Elements::kFloatsAndIntegers || !isInteger(*type));
}

[[noreturn]] void refuse(const std::string& name, const std::string& why) { throw py::type_error(name + ": " + why); }

void denseStrides(TensorView& view) {
  view.strides.assign(view.shape.size(), 1);
  for (std::size_t a = view.shape.size(); a-- > 1;) view.strides[a - 1] = view.strides[a] * view.shape[a];
}

std::optional<DType> typeOfFormat(const char* format) {
  std::string code = format == nullptr ? "" : format;
  if (!code.empty() && (code[0] == '<' || code[0] == '=' || code[0] == '@')) code.erase(0, 1);
  if (code == "f") return DType::kF32;
  if (code == "e") return DType::kF16;
  if (code == "b") return DType::kI8;
  if (code == "i" || (code == "l" && sizeof(long) == 4)) return DType::kI32;
  return std::nullopt;
}

std::optional<DType> typeOfDlpack(const DLDataType& type) {
  const auto is = [&](int code, int bits) { return type.lanes == 1 && type.code == code && type.bits == bits; };
  if (is(kDLFloat, 32)) return DType::kF32;
  if (is(kDLFloat, 16)) return DType::kF16;
  if (is(kDLBfloat, 16)) return DType::kBf16;
  if (is(kDLInt, 8)) return DType::kI8;
  if (is(kDLInt, 32)) return DType::kI32;
  return std::nullopt;
}

TensorView fromBuffer(const char* name, py::handle object, Elements elements) {
  auto buffer = std::shared_ptr<Py_buffer>(new Py_buffer{}, [](Py_buffer* held) {
    PyBuffer_Release(held);
    delete held;
  });
  TensorView view;
  view.writable = PyObject_GetBuffer(object.ptr(), buffer.get(), PyBUF_RECORDS) == 0;
  if (!view.writable) {
    PyErr_Clear();
    if (PyObject_GetBuffer(object.ptr(), buffer.get(), PyBUF_RECORDS_RO) != 0) throw py::error_already_set();
  }
  const std::optional<DType> type = typeOfFormat(buffer->format);
  if (!allows(elements, type))
    refuse(name, std::string("elements of format '") + (buffer->format == nullptr ? "B" : buffer->format) + "'; " +
                     typesOf(elements));
  view.name = name;
  view.data = static_cast<std::byte*>(buffer->buf);
  view.dtype = *type;
  for (int a = 0; a < buffer->ndim; ++a) {
    view.shape.push_back(buffer->shape[a]);
    if (buffer->strides[a] % buffer->itemsize != 0)
      refuse(name, "a stride of " + std::to_string(buffer->strides[a]) + " bytes is not a number of elements");
    view.strides.push_back(buffer->strides[a] / buffer->itemsize);
  }
  view.owner = std::move(buffer);
  return view;
}

TensorView fromCapsule(const char* name, const py::object& capsule, Elements elements) {
  if (!PyCapsule_IsValid(capsule.ptr(), "dltensor"))
    refuse(name, "its DLPack capsule is not named \"dltensor\"; a capsule can be used once");
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  const DLTensor& tensor = managed->dl_tensor;
  if (tensor.device.device_type != kDLCPU && tensor.device.device_type != kDLCUDAHost)
    refuse(name, "lies on DLPack device " + std::to_string(tensor.device.device_type) + "; move it to the CPU first");
  TensorView view;
  const std::optional<DType> type = typeOfDlpack(tensor.dtype);
  if (!allows(elements, type))
    refuse(name, "elements of DLPack type code " + std::to_string(tensor.dtype.code) + " with " +
                     std::to_string(tensor.dtype.bits) + " bits; " + typesOf(elements));
  view.dtype = *type;
  view.name = name;
  view.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  view.shape.assign(tensor.shape, tensor.shape + tensor.ndim);
  if (tensor.strides == nullptr)
    denseStrides(view);
  else
    view.strides.assign(tensor.strides, tensor.strides + tensor.ndim);
  view.writable = true;
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");  // from here on the tensor is ours to delete
  view.owner = std::shared_ptr<void>(managed, [](void* held) {
    auto* tensor = static_cast<DLManagedTensor*>(held);
    if (tensor->deleter != nullptr) tensor->deleter(tensor);
  });
  return view;
}

}  // namespace

std::int64_t TensorView::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent == 0) return 0;
    count = count > kMostElements / extent ? kMostElements : count * extent;
  }
  return count;
}

TensorView viewOf(const char* name, py::handle object, Elements elements) {
  if (PyObject_CheckBuffer(object.ptr())) return fromBuffer(name, object, elements);
  if (PyCapsule_CheckExact(object.ptr()))
    return fromCapsule(name, py::reinterpret_borrow<py::object>(object), elements);
  if (py::hasattr(object, "__dlpack__")) {
    if (py::hasattr(object, "__dlpack_device__")) {
      const int device = object.attr("__dlpack_device__")().cast<py::tuple>()[0].cast<int>();
      if (device != kDLCPU && device != kDLCUDAHost)
        refuse(name, "lies on DLPack device " + std::to_string(device) + "; move it to the CPU first");
    }
    return fromCapsule(name, object.attr("__dlpack__")(), elements);
  }
  refuse(name, "is " + py::repr(py::type::handle_of(object)).cast<std::string>() +
                   "; an array with the buffer protocol or __dlpack__ is needed");
}

}  // namespace cubejit::python
