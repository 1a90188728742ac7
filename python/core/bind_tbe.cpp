// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the DSL's call reaches cubejit::tbe, and how its operator is run on arrays. Leaves the DSL's face to python/tbe/.
#include <pybind11/stl.h>

#include <map>

#include "cubejit_tbe/operator.h"
#include "python/core/bindings.h"
#include "python/core/failure.h"
#include "python/core/memory_format.h"

namespace cubejit::python {

namespace py = pybind11;

namespace {

using Ints = std::vector<std::int64_t>;
using Dict = std::map<std::string, std::int64_t>;

Dict dictOf(const tbe::GroupDict& groups) {
  Dict out;
  tbe::describeGroupDict(groups, [&](const char* field, const std::int64_t& value) { out[field] = value; });
  return out;
}

[[noreturn]] void invalid(const std::string& message) {
  throw Failure(Error{ErrorCode::kInvalidProblem, Stage::kProblem, message});
}

tbe::GroupDict groupsOf(Dict given) {
  tbe::GroupDict groups;
  std::string broken;
  tbe::describeGroupDict(groups, [&](const char* field, std::int64_t& value) {
    const auto found = given.find(field);
    if (found == given.end()) {
      broken += (broken.empty() ? "" : "\n") + std::string("group_dict has no ") + field;
      return;
    }
    value = found->second;
    given.erase(found);
  });
  for (const auto& [key, value] : given)
    broken += (broken.empty() ? "" : "\n") + ("group_dict has an unknown key '" + key + "'");
  if (!broken.empty()) invalid(broken);
  return groups;
}

tbe::ResTensor filterGradient(const tbe::Tensor& x, const tbe::Tensor& dy, const Ints& filter, const Ints& strides,
                              const Ints& pads, const Ints& dilations, const std::string& resDtype,
                              const std::string& kernelName, const std::optional<Dict>& groupDict, std::int64_t groups,
                              const std::string& groupResult, const std::string& soc) {
  if (groupResult != "masked" && groupResult != "raw")
    invalid("group_result is '" + groupResult + "'; it must be masked or raw");
  tbe::ParaDict para;
  para.strides = strides, para.pads = pads, para.dilations = dilations;
  para.res_dtype = resDtype;
  para.kernel_name = kernelName;
  if (groupDict) para.group_dict = groupsOf(*groupDict);
  para.groups = groups;
  para.group_result = groupResult == "raw" ? tbe::GroupResult::kRaw : tbe::GroupResult::kMasked;
  para.soc = soc;
  const py::gil_scoped_release released;
  return valueOf(tbe::conv3d_backprop_filter(x, dy, filter, para));
}

DType typeOf(const tbe::Tensor& tensor) { return tensor.dtype == "float32" ? DType::kF32 : DType::kF16; }

// An array for a placeholder: of its shape and type, in row-major order.
TensorView arrayFor(const tbe::Tensor& tensor, const py::object& given) {
  TensorView view = viewOf(tensor.name.c_str(), given);
  const std::string type = view.dtype == DType::kF16 ? "float16" : view.dtype == DType::kF32 ? "float32" : "bfloat16";
  if (type != tensor.dtype) invalid(tensor.name + " is " + type + "; its placeholder is " + tensor.dtype);
  if (view.shape != tensor.shape)
    invalid(tensor.name + " has shape (" + listText(view.shape) + "); its placeholder has (" + listText(tensor.shape) +
            ")");
  return view;
}

py::object runOperator(const tbe::Operator& self, const py::object& x, const py::object& dy, const py::object& out) {
  const tbe::Tensor& result = self.result().tensor;
  const TensorView xView = arrayFor(self.result().x, x), dyView = arrayFor(self.result().out_backprop, dy);
  Array array;
  TensorView given;
  if (out.is_none()) {
    Ints strides(result.shape.size(), 1);
    for (std::size_t a = result.shape.size(); a-- > 1;) strides[a - 1] = strides[a] * result.shape[a];
    array = Array{allocate(self.resultBytes()), typeOf(result), result.shape, strides};
  } else {
    given = arrayFor(result, out);
    if (!given.writable || densityOf(given) != Density::kPlain)
      invalid(result.name + " must be writable and in row-major order");
  }
  void* target = out.is_none() ? array.memory.get() : given.data;
  {
    const py::gil_scoped_release released;
    const auto xDense = denseCopy(xView), dyDense = denseCopy(dyView);  // the views keep their owners
    const std::size_t bytes = self.workspaceBytes();
    const auto workspace = allocate(bytes);
    require(self.run(xDense.get(), dyDense.get(), target, workspace.get(), bytes));
  }
  return out.is_none() ? py::cast(array) : out;
}

}  // namespace

void bindTbe(py::module_& module) {
  py::class_<tbe::Tensor>(module, "TbeTensor")
      .def(py::init([](const Ints& shape, const std::string& dtype, const std::string& name) {
        return tbe::Tensor{shape, dtype, name};
      }))
      .def_readonly("shape", &tbe::Tensor::shape)
      .def_readonly("dtype", &tbe::Tensor::dtype)
      .def_readonly("name", &tbe::Tensor::name);
  py::class_<tbe::ResTensor>(module, "TbeResTensor")
      .def_readonly("tensor", &tbe::ResTensor::tensor)
      .def_readonly("problem", &tbe::ResTensor::problem)
      .def_readonly("groups", &tbe::ResTensor::groups)
      .def_property_readonly("group_dict", [](const tbe::ResTensor& r) { return dictOf(r.group_dict); });
  py::class_<tbe::Operator>(module, "TbeOperator").def("run", &runOperator);
  module.def("tbe_conv3d_backprop_filter", &filterGradient);
  module.def("tbe_build", [](const SharedSession& session, const tbe::ResTensor& result) {
    const py::gil_scoped_release released;
    return valueOf(tbe::build(*session, result));
  });
  module.def("tbe_group_dict",
             [](std::int64_t fmapC, std::int64_t cout, std::int64_t groups, std::int64_t cout0, std::int64_t cin0) {
               return dictOf(valueOf(tbe::groupDict(fmapC, cout, groups, cout0, cin0)));
             });
}

}  // namespace cubejit::python
