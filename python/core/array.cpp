// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how results leave: DLPack capsules that own a share of the memory, buffers of Python.
#include "python/core/array.h"

#include <dlpack/dlpack.h>
#include <pybind11/stl.h>

#include <cstdlib>

#include "python/core/aligned_bytes.h"

namespace cubejit::python {

namespace py = pybind11;

namespace {

// What a capsule owns: the tensor, its lists and a share of the memory.
struct Exported {
  DLManagedTensor managed{};
  Array array;
};

void deleteCapsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor")) return;  // somebody took it over and deletes it
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  managed->deleter(managed);
}

py::object toCapsule(const Array& array) {
  auto exported = std::make_unique<Exported>();
  exported->array = array;
  DLTensor& tensor = exported->managed.dl_tensor;
  tensor.data = array.memory.get();
  tensor.device = {kDLCPU, 0};
  tensor.ndim = static_cast<int>(array.shape.size());
  tensor.dtype = {static_cast<std::uint8_t>(array.dtype == DType::kBf16 ? kDLBfloat
                                            : isInteger(array.dtype)    ? kDLInt
                                                                        : kDLFloat),
                  static_cast<std::uint8_t>(byteSize(array.dtype) * 8), 1};
  tensor.shape = exported->array.shape.data();
  tensor.strides = exported->array.strides.data();
  exported->managed.manager_ctx = exported.get();
  exported->managed.deleter = [](DLManagedTensor* self) { delete static_cast<Exported*>(self->manager_ctx); };
  PyObject* capsule = PyCapsule_New(&exported->managed, "dltensor", deleteCapsule);
  if (capsule == nullptr) throw py::error_already_set();
  static_cast<void>(exported.release());
  return py::reinterpret_steal<py::object>(capsule);
}

py::buffer_info toBuffer(const Array& array) {
  const py::ssize_t size = byteSize(array.dtype);
  const char* format = array.dtype == DType::kF32   ? "f"
                       : array.dtype == DType::kF16 ? "e"
                       : array.dtype == DType::kI8  ? "b"
                       : array.dtype == DType::kI32 ? "i"
                                                    : "H";
  std::vector<py::ssize_t> shape(array.shape.begin(), array.shape.end()), strides;
  for (const std::int64_t stride : array.strides) strides.push_back(stride * size);
  return {array.memory.get(), size, format, static_cast<py::ssize_t>(shape.size()), shape, strides};
}

}  // namespace

const char* nameOf(DType type) {
  switch (type) {
    case DType::kF16: return "float16";
    case DType::kBf16: return "bfloat16";
    case DType::kI8: return "int8";
    case DType::kI32: return "int32";
    default: return "float32";
  }
}

std::shared_ptr<std::byte> allocate(std::size_t bytes) {
  return {alignedBytes(bytes, 64), [](std::byte* held) { std::free(held); }};
}

void bindArray(py::module_& module) {
  py::class_<Array>(
      module, "Array", py::module_local(), py::buffer_protocol(),
      "A result that no framework has taken over: torch.from_dlpack(a) and numpy.asarray(a) share its memory. "
      "NumPy has no bfloat16 and sees its bits as uint16.")
      .def_buffer(&toBuffer)
      .def_property_readonly("shape", [](const Array& a) { return py::tuple(py::cast(a.shape)); })
      .def_property_readonly(
          "strides", [](const Array& a) { return py::tuple(py::cast(a.strides)); }, "In elements, not bytes.")
      .def_property_readonly("dtype", [](const Array& a) { return nameOf(a.dtype); })
      .def(
          "__dlpack__", [](const Array& a, const py::object&) { return toCapsule(a); }, py::arg("stream") = py::none())
      .def("__dlpack_device__", [](const Array&) { return py::make_tuple(static_cast<int>(kDLCPU), 0); })
      .def("__repr__", [](const Array& a) {
        return "<cubejit.Array " + py::str(py::tuple(py::cast(a.shape))).cast<std::string>() + ">";
      });
}

}  // namespace cubejit::python
