// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the kernels in C++ ask Python: calls that their table does not know go to cubejit/torch/dispatcher.py, through operators of the
// namespace cubejit, and what is decided there is published here. Built for one version of PyTorch (ADR 50).
#include <ATen/core/dispatch/Dispatcher.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "python/torch_kernels/convolutions.h"

namespace cubejit::torch_kernels {
namespace {

using Forward = Tensor(const Tensor&, const Tensor&, const Bias&, IntArrayRef, IntArrayRef, IntArrayRef, bool,
                       IntArrayRef, std::int64_t, bool, bool, bool, bool);
using Backward = Gradients(const Tensor&, const Tensor&, const Tensor&, at::OptionalIntArrayRef, IntArrayRef,
                           IntArrayRef, IntArrayRef, bool, IntArrayRef, std::int64_t, Mask);

// The call that Python is asked about on this thread.
thread_local Asked question = {nullptr, 0};

class Asking {
 public:
  explicit Asking(Asked asked) : before_(std::exchange(question, asked)) {}
  ~Asking() { question = before_; }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

 private:
  Asked before_;
};

template <class Signature>
auto operatorOfPython(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}
constexpr c10::DispatchKeySet kCpu(c10::DispatchKey::CPU);

// Publishes who computes calls like the one that this thread is asking Python about. Publishes nothing, and returns null, if this thread is asking
// nothing, or if the rule and math of the decision are not those that held when the call was made.
std::shared_ptr<Decision> publish(Choice choice, Math math, std::uintptr_t runnable, int threads, Lies results,
                                  std::int64_t left) {
  const auto* layer = reinterpret_cast<const python::Runnable*>(runnable);
  const bool asked = question.key != nullptr && question.how == numberOf(choice, math);
  const auto made = std::make_shared<Decision>(asked ? *question.key : Key(), layer, threads, std::move(results));
  if (!asked) return nullptr;
  made->left = left;
  made->used = table().time.load();
  table().publish(made);
  return made;
}

}  // namespace

Tensor decideForward(const Asked& asked, const Tensor& x, const Tensor& w, const Bias& bias, IntArrayRef stride,
                     IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef outputPadding,
                     std::int64_t groups, bool benchmark, bool deterministic, bool cudnn, bool tf32) {
  const Asking asking(asked);
  static const auto python = operatorOfPython<Forward>("cubejit::_convolution");
  return python.redispatch(kCpu, x, w, bias, stride, padding, dilation, transposed, outputPadding, groups, benchmark,
                           deterministic, cudnn, tf32);
}

Gradients decideBackward(const Asked& asked, const Tensor& dy, const Tensor& x, const Tensor& w,
                         at::OptionalIntArrayRef biasShape, IntArrayRef stride, IntArrayRef padding,
                         IntArrayRef dilation, bool transposed, IntArrayRef outputPadding, std::int64_t groups,
                         Mask mask) {
  const Asking asking(asked);
  static const auto python = operatorOfPython<Backward>("cubejit::convolution_backward");
  return python.redispatch(kCpu, dy, x, w, biasShape, stride, padding, dilation, transposed, outputPadding, groups,
                           mask);
}

}  // namespace cubejit::torch_kernels

PYBIND11_MODULE(_kernels, module) {
  using namespace cubejit::torch_kernels;
  namespace py = pybind11;
  py::class_<Decision, std::shared_ptr<Decision>>(module, "Decision")
      .def_property_readonly("used", [](const Decision& decision) { return decision.used.load(); })
      .def("leave", [](Decision& decision, std::int64_t left) { decision.left = left; })
      .def("take", &Decision::take)
      .def("withdraw", [](const Decision& decision) { table().withdraw(decision); });
  module.def("register", &registerKernels);
  module.def("obey", [](bool enabled, bool seen, int choice, int math) {
    obey(Rules{enabled, seen, static_cast<Choice>(choice), static_cast<Math>(math)});
  });
  module.def("publish", [](int choice, int math, std::uintptr_t runnable, int threads, Lies results,
                           std::int64_t left) {
    return publish(static_cast<Choice>(choice), static_cast<Math>(math), runnable, threads, std::move(results), left);
  });
  module.def("set_time", [](std::int64_t time) { table().time = time; });
}
