// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a problem is described in Python without arrays: by shapes, for planning, dumping and tuning.
#include <pybind11/stl.h>

#include <map>
#include <variant>

#include "cubejit/words.h"
#include "python/core/arguments.h"
#include "python/core/bindings.h"
#include "python/core/call.h"
#include "python/core/convolution.h"
#include "python/core/failure.h"

namespace cubejit::python {

namespace py = pybind11;

namespace {

/// A type, and a layout or strides in elements.
using Formats = std::map<std::string, std::pair<std::string, std::variant<std::string, Shape>>>;

TensorView describedAs(const std::string& name, DType type, const Shape& shape, const Shape& strides) {
  if (strides.size() != shape.size())
    throw Failure(invalidInput(name + " has strides (" + listText(strides) + "); it must have as many as its shape (" +
                               listText(shape) + ") has axes"));
  return {name, nullptr, type, shape, strides, false, nullptr};
}

Problem makeProblem(const Shape& x, const Shape& w, const IntOrList& stride, const IntOrList& padding,
                    const IntOrList& dilation, bool transposed, const IntOrList& outputPadding, std::int64_t groups,
                    const std::string& dtype, const std::string& layout, const Formats& formats) {
  Problem p = problemOf(x, w, std::nullopt, {stride, padding, dilation, outputPadding, transposed, groups});
  valueOf(applyFormats(p, dtype, layout));
  for (const auto& [tensor, format] : formats) {
    if (const auto* name = std::get_if<std::string>(&format.second)) {
      valueOf(applyFormats(p, tensor + "=" + format.first, tensor + "=" + *name));
      continue;
    }
    const TensorId id = valueOf(parseTensor(tensor));
    const DType type = valueOf(parseDType(format.first));
    const Shape& shape = isWeights(id) ? w : isOfOutput(id) ? shapeOfY(p) : x;
    p.formats[static_cast<std::size_t>(id)] =
        operandOf(describedAs(tensor, type, shape, std::get<Shape>(format.second)), type).format;
  }
  return p;
}

// A tensor's shape without the axes the problem's rank does not have.
py::tuple shapeOf(const Problem& p, std::int64_t outer, std::int64_t inner, const Dhw& space) {
  std::vector<std::int64_t> shape{outer, inner};
  for (int a = 3 - p.rank; a < 3; ++a) shape.push_back(space[a]);
  return py::tuple(py::cast(shape));
}

}  // namespace

void bindProblem(py::module_& module) {
  py::class_<Problem>(module, "Problem", py::module_local(),
                      "One convolution: shapes, geometry, and how its tensors lie in memory.")
      .def(py::init(named(&makeProblem, {"x", "w", "stride", "padding", "dilation", "transposed", "output_padding",
                                         "groups", "dtype", "layout", "formats"})),
           py::arg("x"), py::arg("w"), py::kw_only(), py::arg("stride") = IntOrList{1},
           py::arg("padding") = IntOrList{0}, py::arg("dilation") = IntOrList{1}, py::arg("transposed") = false,
           py::arg("output_padding") = IntOrList{0}, py::arg("groups") = 1, py::arg("dtype") = "f32",
           py::arg("layout") = "ncdhw", py::arg("formats") = Formats{},
           "x and w are shapes. dtype: f32, f16, bf16, hf32, hf32_low. layout, of activations: ncdhw, ndhwc, ndc1hwc0, "
           "or\n"
           "ndc1hwc16 with blocks of 16 channels. Both may say it of tensors, as the command's flags do: "
           "\"f16,dw=f32\".\n"
           "formats: {\"dw\": (\"f32\", \"fractal_z_3d\")} for single tensors dy, x, w, dx, dw, db; of operands also "
           "{\"x\": (\"f32\", x.stride())}, strides in elements.")
      .def(py::init(otherwise<Problem>({"Problem",
                                        {"x", "w", "stride", "padding", "dilation", "transposed", "output_padding",
                                         "groups", "dtype", "layout", "formats"},
                                        2,
                                        2})))
      .def_property_readonly("x_shape", [](const Problem& p) { return shapeOf(p, p.batch, p.cin, p.in); })
      .def_property_readonly("w_shape",
                             [](const Problem& p) {
                               const std::int64_t outer = p.transposed ? p.cin : p.cout;
                               return shapeOf(p, outer, (p.transposed ? p.cout : p.cin) / p.groups, p.kernel);
                             })
      .def_property_readonly("y_shape", [](const Problem& p) { return shapeOf(p, p.batch, p.cout, p.out); })
      .def_readonly("groups", &Problem::groups)
      .def_readonly("transposed", &Problem::transposed)
      .def("__eq__", [](const Problem& a, const Problem& b) { return a == b; }, py::is_operator());
}

}  // namespace cubejit::python
