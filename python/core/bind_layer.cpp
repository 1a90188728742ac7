// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how passes of one convolution are compiled once and run on bare addresses: for frameworks that call a layer again and again and
// know where its tensors lie.
#include <pybind11/stl.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "python/core/arguments.h"
#include "python/core/bindings.h"
#include "python/core/call.h"
#include "python/core/failure.h"
#include "python/core/layer.h"
#include "python/core/without_gil.h"

namespace cubejit::python {

namespace py = pybind11;

namespace {

void runOn(const Layer& layer, std::uintptr_t dy, std::uintptr_t x, std::uintptr_t w, std::uintptr_t dx,
           std::uintptr_t dw, std::uintptr_t db, std::uintptr_t y, std::uintptr_t b, std::uintptr_t z, int threads) {
  const auto in = [](std::uintptr_t address) { return reinterpret_cast<const void*>(address); };
  const auto to = [](std::uintptr_t address) { return reinterpret_cast<void*>(address); };
  const WithoutGil released;
  require(layer.run({in(dy), in(x), in(w), to(dx), to(dw), to(db), to(y), in(b), in(z)}, threads));
}

using Described = std::tuple<Shape, Shape, std::string>;  ///< shape, strides in elements, type

TensorView describedView(const char* name, const Described& tensor) {
  const auto& [shape, strides, type] = tensor;
  const DType dtype = type == "float16" ? DType::kF16 : type == "bfloat16" ? DType::kBf16 : DType::kF32;
  if (dtype == DType::kF32 && type != "float32")
    throw Failure(Error{ErrorCode::kUnsupported, Stage::kProblem,
                        std::string(name) + " is " + type + "; it must be float32, float16 or bfloat16"});
  return {name, nullptr, dtype, shape, strides, false, nullptr};
}

Layer layerOf(const SharedSession& session, const std::vector<std::string>& passes, const Described& x,
              const Described& w, const std::optional<Described>& dy, const IntOrList& stride, const IntOrList& padding,
              const IntOrList& dilation, bool transposed, const IntOrList& outputPadding, std::int64_t groups,
              const std::string& math, const std::string& postOps, const std::map<std::string, Shape>& results) {
  requireMath(math);
  Call call;
  call.views = {dy ? describedView("dy", *dy) : TensorView{}, describedView("x", x), describedView("w", w)};
  std::optional<Shape> dyShape;
  if (dy) dyShape = std::get<0>(*dy);
  call.describe(math, dyShape, {stride, padding, dilation, outputPadding, transposed, groups});
  call.problem.postOps = valueOf(parsePostOps(postOps));
  call.likeOperands();
  for (const std::string& name : passes) {
    const Pass pass = passOf(name);
    call.mask.add(pass);
    call.aim(pass, py::none());
    if (const auto strides = results.find(name); strides != results.end()) call.order(pass, strides->second);
  }
  const WithoutGil released;
  call.settle();
  // Where a backward layer reads the slope off y, y has x's type and lies as dy does.
  if (dy && readSlope(call.problem, call.mask))
    call.problem.formats[static_cast<std::size_t>(TensorId::kY)] =
        TensorFormat{call.views[1].dtype, call.operands[0].format.layout, {}};
  // The session's cache counts executables; who asks for layers forgets them in bytes, and holds the only reference.
  return {session, valueOf(session->compile(CompileRequest{call.problem, call.mask, {}}))};
}

std::string algorithmOf(const Layer& layer, const std::string& pass) {
  const Pass which = passOf(pass);
  return layer.executable->passes().has(which) ? algorithmName(layer.executable->plan(which)) : "";
}

std::string activationText(const std::string& text) { return toString(activationOf(text)); }

bool channelsLast(const Layer& layer, const std::string& tensor) {
  for (const TensorId t : kTensorIds) {
    if (tensor == toString(t)) return formatOf(layer.executable->problem(), t).layout == Layout::kNdhwc;
  }
  return false;
}

}  // namespace

void bindLayer(py::module_& module, py::class_<Session, SharedSession>& session) {
  py::class_<Layer>(module, "Layer", py::module_local())
      .def_property_readonly("shape", [](const Layer& layer) { return shapeOfY(layer.executable->problem()); })
      .def_property_readonly("problem", [](const Layer& layer) { return layer.executable->problem(); })
      .def_property_readonly(
          "memory_bytes", [](const Layer& layer) { return layer.executable->memoryBytes(); },
          "What the layer keeps, about: code and programs. Its workspace is that of a run.")
      .def("algorithm", &algorithmOf, py::arg("name"))
      .def("channels_last", &channelsLast, py::arg("tensor"))
      .def(
          "runnable", [](const Layer& layer) { return reinterpret_cast<std::uintptr_t>(layer.runnable()); },
          "The address of a Runnable, which is its receiver's to release.")
      .def("run", &runOn, py::arg("dy") = 0, py::arg("x") = 0, py::arg("w") = 0, py::arg("dx") = 0, py::arg("dw") = 0,
           py::arg("db") = 0, py::arg("y") = 0, py::arg("b") = 0, py::arg("z") = 0, py::arg("threads") = 0);
  session.def(
      "layer",
      named(&layerOf, {"session", "passes", "x", "w", "dy", "stride", "padding", "dilation", "transposed",
                       "output_padding", "groups", "math", "post_ops", "results"}),
      py::arg("passes"), py::arg("x"), py::arg("w"), py::arg("dy"), py::arg("stride"), py::arg("padding"),
      py::arg("dilation"), py::arg("transposed"), py::arg("output_padding"), py::arg("groups"),
      py::arg("math") = "strict", py::arg("post_ops") = "", py::arg("results") = std::map<std::string, Shape>{},
      "Passes of one convolution for run() on addresses. x, w, dy: (shape, strides, type). results: strides of those "
      "results that are not to lie as the operands do that they are like.");
  module.def("activation", named(&activationText, {"activation"}), py::arg("text"),
             "An activation's text as the library writes it; raises InvalidProblem if it is none.");
}

}  // namespace cubejit::python
