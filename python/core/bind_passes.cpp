// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how arrays of Python become a run of the library: viewed with the GIL, computed without it.
#include <pybind11/stl.h>

#include <array>
#include <string>

#include "python/core/arguments.h"
#include "python/core/bindings.h"
#include "python/core/call.h"
#include "python/core/failure.h"
#include "python/core/without_gil.h"

namespace cubejit::python {

namespace py = pybind11;

namespace {

constexpr std::array<Pass, 3> kBackward{Pass::kDx, Pass::kDw, Pass::kDb};

py::tuple convBackward(const SharedSession& session, const py::object& dy, const py::object& x, const py::object& w,
                       const IntOrList& stride, const IntOrList& padding, const IntOrList& dilation, bool transposed,
                       const IntOrList& outputPadding, std::int64_t groups, const std::array<bool, 3>& mask,
                       const std::string& math, const std::array<py::object, 3>& out, int threads, const py::object& y,
                       const std::string& activation) {
  requireMath(math);
  requireThreads(threads);
  Call call;
  call.mask = {mask[0], mask[1], mask[2]};
  call.views = {viewOf("dy", dy), viewOf("x", x), viewOf("w", w)};
  call.describe(math, call.views[0].shape, {stride, padding, dilation, outputPadding, transposed, groups});
  call.slope(y, activation);
  call.likeOperands();
  for (std::size_t i = 0; i < kBackward.size(); ++i) {
    if (mask[i]) call.aim(kBackward[i], out[i]);
  }
  if (call.mask.any()) {
    const WithoutGil released;
    call.compute(*session, threads);
  }
  return py::make_tuple(call.result(Pass::kDx), call.result(Pass::kDw), call.result(Pass::kDb));
}

py::object convForward(const SharedSession& session, const py::object& x, const py::object& w, const IntOrList& stride,
                       const IntOrList& padding, const IntOrList& dilation, bool transposed,
                       const IntOrList& outputPadding, std::int64_t groups, const std::string& math,
                       const py::object& out, int threads, const py::object& bias, const py::object& add,
                       const std::string& activation) {
  requireMath(math);
  requireThreads(threads);
  Call call;
  call.mask.y = true;
  call.views = {TensorView{}, viewOf("x", x), viewOf("w", w)};
  call.describe(math, std::nullopt, {stride, padding, dilation, outputPadding, transposed, groups});
  call.finish(bias, add, activation);
  call.aim(Pass::kY, out);
  {
    const WithoutGil released;
    call.compute(*session, threads);
  }
  return call.result(Pass::kY);
}

}  // namespace

void bindPasses(py::class_<Session, SharedSession>& session) {
  const auto backward =
      named(&convBackward, {"session", "dy", "x", "w", "stride", "padding", "dilation", "transposed", "output_padding",
                            "groups", "output_mask", "math", "out", "threads", "y", "activation"});
  const auto forward =
      named(&convForward, {"session", "x", "w", "stride", "padding", "dilation", "transposed", "output_padding",
                           "groups", "math", "out", "threads", "bias", "add", "activation"});
  session.def("conv_backward", backward, py::arg("dy"), py::arg("x"), py::arg("w"), py::arg("stride"),
              py::arg("padding"), py::arg("dilation"), py::arg("transposed"), py::arg("output_padding"),
              py::arg("groups"), py::arg("output_mask"), py::arg("math"), py::arg("out"), py::arg("threads") = 0,
              py::arg("y") = py::none(), py::arg("activation") = "");
  session.def("conv", forward, py::arg("x"), py::arg("w"), py::arg("stride"), py::arg("padding"), py::arg("dilation"),
              py::arg("transposed"), py::arg("output_padding"), py::arg("groups"), py::arg("math"), py::arg("out"),
              py::arg("threads") = 0, py::arg("bias") = py::none(), py::arg("add") = py::none(),
              py::arg("activation") = "");
}

}  // namespace cubejit::python
