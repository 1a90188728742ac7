// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the DSL's call reaches cubejit::tbe, and how its operator is run on arrays. Leaves the DSL's face to python/tbe/.
#include <pybind11/stl.h>

#include <array>
#include <map>

#include "cubejit/machines.h"
#include "cubejit_tbe/operator.h"
#include "python/core/arguments.h"
#include "python/core/bindings.h"
#include "python/core/convolution.h"
#include "python/core/failure.h"
#include "python/core/memory_format.h"
#include "python/core/without_gil.h"
#include "python/core/workspace.h"

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

[[noreturn]] void invalid(const std::string& message) { throw Failure(invalidInput(message)); }

// The dictionary's fields, each once; describe(groups, visitor) visits them.
template <class Groups, class Describe>
Groups groupsOf(Dict given, Describe describe) {
  Groups groups;
  std::string broken;
  describe(groups, [&](const char* field, std::int64_t& value) {
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

void bindParaDict(py::module_& module) {
  using Para = tbe::ParaDict;
  py::class_<Para>(module, "TbeParaDict", py::module_local())
      .def(py::init<>())
      .def_readwrite("strides", &Para::strides)
      .def_readwrite("pads", &Para::pads)
      .def_readwrite("dilations", &Para::dilations)
      .def_readwrite("res_dtype", &Para::res_dtype)
      .def_readwrite("kernel_name", &Para::kernel_name)
      .def_readwrite("groups", &Para::groups)
      .def_readwrite("offset_x", &Para::offset_x)
      .def_readwrite("offset_w", &Para::offset_w)
      .def_readwrite("soc", &Para::soc)
      .def_property("group_dict", nullptr,
                    [](Para& para, const std::optional<Dict>& given) {
                      if (given)
                        para.group_dict = groupsOf<tbe::GroupDict>(
                            *given, [](auto& g, const auto& v) { tbe::describeGroupDict(g, v); });
                    })
      .def_property("extend_dict", nullptr,
                    [](Para& para, const std::optional<Dict>& given) {
                      if (given)
                        para.extend_dict = groupsOf<tbe::ExtendDict>(
                            *given, [](auto& g, const auto& v) { tbe::describeExtendDict(g, v); });
                    })
      .def_property("group_result", nullptr, [](Para& para, const std::string& given) {
        if (given != "masked" && given != "raw") invalid("group_result is '" + given + "'; it must be masked or raw");
        para.group_result = given == "raw" ? tbe::GroupResult::kRaw : tbe::GroupResult::kMasked;
      });
}

// A call without the interpreter's lock.
template <auto call, class... Arguments>
tbe::ResTensor unlocked(const Arguments&... arguments) {
  const WithoutGil released;
  return valueOf(call(arguments...));
}
template <auto call, class... Arguments>
auto released(Result<tbe::ResTensor> (*)(const Arguments&...),
              const std::array<const char*, sizeof...(Arguments)>& names) {
  return named(&unlocked<call, Arguments...>, names);
}

tbe::Tensor makeTensor(const Ints& shape, const std::string& dtype, const std::string& name) {
  return tbe::Tensor{shape, dtype, name};
}

Dict groupDictOf(std::int64_t fmapC, std::int64_t cout, std::int64_t groups, std::int64_t cout0, std::int64_t cin0) {
  return dictOf(valueOf(tbe::groupDict(fmapC, cout, groups, cout0, cin0)));
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

py::object runOperator(const tbe::Operator& self, const py::object& first, const py::object& dy,
                       const py::object& out) {
  const tbe::Tensor& result = self.result().tensor;
  const TensorView firstView = arrayFor(self.result().first, first), dyView = arrayFor(self.result().out_backprop, dy);
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
    const WithoutGil released;
    const auto firstDense = denseCopy(firstView), dyDense = denseCopy(dyView);  // the views keep their owners
    const std::size_t bytes = self.workspaceBytes();
    const Workspace workspace = takeWorkspace(bytes);
    require(self.run(firstDense.get(), dyDense.get(), target, workspace.get(), bytes));
  }
  return out.is_none() ? py::cast(array) : out;
}

}  // namespace

void bindTbe(py::module_& module) {
  py::class_<tbe::Tensor>(module, "TbeTensor", py::module_local())
      .def(py::init(named(&makeTensor, {"shape", "dtype", "name"})))
      .def_readonly("shape", &tbe::Tensor::shape)
      .def_readonly("dtype", &tbe::Tensor::dtype)
      .def_readonly("name", &tbe::Tensor::name);
  py::class_<tbe::ResTensor>(module, "TbeResTensor", py::module_local())
      .def_readonly("tensor", &tbe::ResTensor::tensor)
      .def_readonly("problem", &tbe::ResTensor::problem)
      .def_readonly("groups", &tbe::ResTensor::groups)
      .def_property_readonly("pass_", [](const tbe::ResTensor& r) { return toString(r.pass); })
      .def_property_readonly("group_dict", [](const tbe::ResTensor& r) { return dictOf(r.group_dict); });
  py::class_<tbe::Operator>(module, "TbeOperator", py::module_local()).def("run", &runOperator);
  bindParaDict(module);
  module.attr("TBE_C0_SIZE") = tbe::kC0Size;
  const auto filter2d = &tbe::conv2d_backprop_filter, filter3d = &tbe::conv3d_backprop_filter;
  const auto input2d = &tbe::conv2d_backprop_input, input3d = &tbe::conv3d_backprop_input;
  module.def("tbe_conv2d_backprop_filter", released<&tbe::conv2d_backprop_filter>(
                                               filter2d, {"input_x", "out_backprop", "filter_sizes", "para_dict"}));
  module.def("tbe_conv2d_backprop_input",
             released<&tbe::conv2d_backprop_input>(
                 input2d, {"filters", "out_backprop", "filter_sizes", "input_sizes", "para_dict"}));
  module.def("tbe_conv3d_backprop_filter",
             released<&tbe::conv3d_backprop_filter>(filter3d, {"x", "out_backprop", "filter_size", "para_dict"}));
  module.def("tbe_conv3d_backprop_input",
             released<&tbe::conv3d_backprop_input>(
                 input3d, {"filter", "out_backprop", "filter_size", "input_size", "para_dict"}));
  module.def("tbe_build", [](const SharedSession& session, const tbe::ResTensor& result) {
    const WithoutGil released;
    return valueOf(tbe::build(*session, result));
  });
  module.def("tbe_soc", [](const std::string& name) { return valueOf(machineByName(name)).name; });
  module.def("tbe_group_dict", named(&groupDictOf, {"fmap_c", "cout", "groups", "cout0", "cin0"}));
}

}  // namespace cubejit::python
