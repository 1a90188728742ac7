// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how arrays of Python become a run of the library: viewed with the GIL, computed without it.
#include <pybind11/stl.h>

#include <array>

#include "python/core/bindings.h"
#include "python/core/convolution.h"
#include "python/core/failure.h"
#include "python/core/memory_format.h"

namespace cubejit::python {

namespace py = pybind11;

namespace {

DType mathType(DType type, const std::string& math) {
  if (math == "keep" || math == "relaxed" || type != DType::kF32) return type;
  return math == "hf32" ? DType::kHf32 : DType::kHf32Low;
}

// Where a gradient goes: memory of the caller's, or new memory in the order of the operand it belongs to.
struct Target {
  py::object given = py::none();  ///< what is returned if the memory is the caller's
  TensorView view;
  Array array;
  void* data = nullptr;
  TensorFormat format;
};

Layout layoutOf(Density density) { return density == Density::kChannelsLast ? Layout::kNdhwc : Layout::kNcdhw; }

void aim(Target& target, const char* name, const py::object& given, const TensorView& like, bool bias) {
  target.format = {like.dtype, bias ? Layout::kNcdhw : layoutOf(densityOf(like)), {}};
  if (given.is_none()) return;
  target.given = given;
  target.view = viewOf(name, given);
  const TensorView& view = target.view;
  std::string broken;
  const Density own = densityOf(view);
  if (view.shape != like.shape)
    broken = "has shape (" + listText(view.shape) + "); it must be (" + listText(like.shape) + ")";
  else if (!view.writable)
    broken = "is read-only";
  else if (own == Density::kNone)
    broken = "has strides (" + listText(view.strides) + "); results must be dense, plain or channels-last";
  if (!broken.empty())
    throw Failure(Error{ErrorCode::kInvalidProblem, Stage::kProblem, std::string(name) + " of out " + broken});
  target.data = view.data;
  target.format = {view.dtype, layoutOf(own), {}};
}

py::object resultOf(const Target& target, bool asked) {
  if (!asked) return py::none();
  return target.given.is_none() ? py::cast(target.array) : target.given;
}

// One call. Everything Python is looked at first, with the GIL; compute() needs it no more.
struct Call {
  Problem problem;
  std::array<bool, 3> mask{};
  std::string math;
  std::array<TensorView, 3> views;         // dy, x, w
  std::array<const TensorView*, 3> likes;  // what dx, dw, db are like
  std::array<Target, 3> targets;

  // Memory for results is made once the problem is known to be legal.
  void compute(Session& session, int threads) {
    std::array<Operand, 3> operands;
    for (std::size_t i = 0; i < 3; ++i) {
      operands[i] = operandOf(views[i], mathType(views[i].dtype, math));
      problem.formats[i] = operands[i].format;
      problem.formats[3 + i] = mask[i] ? targets[i].format : TensorFormat{likes[i]->dtype, Layout::kNcdhw, {}};
    }
    const auto executable = valueOf(session.compile(problem, {mask[0], mask[1], mask[2]}));
    for (std::size_t i = 0; i < 3; ++i) {
      if (!mask[i] || targets[i].data != nullptr) continue;
      targets[i].array = resultLike(*likes[i], targets[i].format.layout);
      targets[i].data = targets[i].array.memory.get();
    }
    const std::size_t bytes = executable->workspaceBytes(threads);
    const auto workspace = allocate(bytes);
    require(executable->run(
        {operands[0].data, operands[1].data, operands[2].data, targets[0].data, targets[1].data, targets[2].data},
        workspace.get(), bytes, threads));
  }
};

py::tuple convBackward(const SharedSession& session, const py::object& dy, const py::object& x, const py::object& w,
                       const IntOrList& stride, const IntOrList& padding, const IntOrList& dilation, bool transposed,
                       const IntOrList& outputPadding, std::int64_t groups, const std::array<bool, 3>& mask,
                       const std::string& math, const std::array<py::object, 3>& out, int threads) {
  if (math != "keep" && math != "hf32" && math != "hf32_low" && math != "relaxed")
    throw Failure(Error{ErrorCode::kInvalidProblem, Stage::kProblem,
                        "math = '" + math + "' is not known; there are keep, hf32, hf32_low, relaxed"});
  requireThreads(threads);
  Call call;
  call.mask = mask;
  call.math = math;
  call.views = {viewOf("dy", dy), viewOf("x", x), viewOf("w", w)};
  call.problem = problemOf(call.views[1].shape, call.views[2].shape, call.views[0].shape,
                           {stride, padding, dilation, outputPadding, transposed, groups});
  call.problem.dtype = call.views[1].dtype;
  call.problem.layout = Layout::kNcdhw;
  if (math == "relaxed") call.problem.math = MathMode::kRelaxed;
  const TensorView bias{"db", nullptr, call.views[0].dtype, {call.problem.cout}, {1}, false, nullptr};
  call.likes = {&call.views[1], &call.views[2], &bias};
  const char* names[] = {"dx", "dw", "db"};
  for (std::size_t i = 0; i < 3; ++i) {
    if (mask[i]) aim(call.targets[i], names[i], out[i], *call.likes[i], i == 2);
  }
  if (mask[0] || mask[1] || mask[2]) {
    const py::gil_scoped_release released;
    call.compute(*session, threads);
  }
  return py::make_tuple(resultOf(call.targets[0], mask[0]), resultOf(call.targets[1], mask[1]),
                        resultOf(call.targets[2], mask[2]));
}

}  // namespace

void bindGradients(py::class_<Session, SharedSession>& session) {
  session.def("conv_backward", &convBackward, py::arg("dy"), py::arg("x"), py::arg("w"), py::arg("stride"),
              py::arg("padding"), py::arg("dilation"), py::arg("transposed"), py::arg("output_padding"),
              py::arg("groups"), py::arg("output_mask"), py::arg("math"), py::arg("out"), py::arg("threads") = 0);
}

}  // namespace cubejit::python
