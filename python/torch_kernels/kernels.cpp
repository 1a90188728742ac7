// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how PyTorch's dispatcher comes to cubejit without Python: kernels for the CPU of aten::_convolution and aten::convolution_backward, which
// go by a table of what was decided and need no GIL. Other calls go to cubejit/torch/dispatcher.py, through operators of the namespace
// cubejit, and what is decided there is published here. Built for one version of PyTorch (ADR 50).
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_convolution_compositeexplicitautograd_dispatch.h>
#include <ATen/ops/convolution_backward_compositeexplicitautograd_dispatch.h>
#include <pthread.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/api/include/torch/version.h>
#include <torch/library.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "python/torch_kernels/table.h"

namespace cubejit::torch_kernels {
namespace {

using at::IntArrayRef;
using at::Tensor;
using Bias = std::optional<Tensor>;
using Gradients = std::tuple<Tensor, Tensor, Tensor>;
using Mask = std::array<bool, 3>;
using Forward = Tensor(const Tensor&, const Tensor&, const Bias&, IntArrayRef, IntArrayRef, IntArrayRef, bool,
                       IntArrayRef, std::int64_t, bool, bool, bool, bool);
using Backward = Gradients(const Tensor&, const Tensor&, const Tensor&, at::OptionalIntArrayRef, IntArrayRef,
                           IntArrayRef, IntArrayRef, bool, IntArrayRef, std::int64_t, Mask);

// Never destroyed: threads may compute while the process ends.
Table& table() {
  static Table& made = *new Table;
  return made;
}

enum Choice : std::uint8_t { kMeasure, kOurs, kReproducible };
enum Math : std::uint8_t { kPermitted, kStrict, kRelaxed };

// What enable() was told, and whether each call is to be seen by Python.
struct Rules {
  bool enabled = false, seen = false;
  Choice choice = kMeasure;
  Math math = kPermitted;
};
std::atomic<Rules> rules = Rules{};

// As permitted_math() of choosing.py.
Math permittedMath() {
  const at::Context& context = at::globalContext();
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 9
  const auto said = context.float32Precision(at::Float32Backend::MKLDNN, at::Float32Op::CONV);
  if (said != at::Float32Precision::NONE) return said == at::Float32Precision::IEEE ? kStrict : kRelaxed;
#endif
  return context.float32MatmulPrecision() == at::Float32MatmulPrecision::HIGHEST ? kStrict : kRelaxed;
}

// As how() of choosing.py: one number for rule and math of a call that is made now.
int numberOf(Choice choice, Math math) { return choice << 2 | math; }
int how(const Rules& told, at::ScalarType type) {
  const Choice choice = at::globalContext().deterministicAlgorithms() ? kReproducible : told.choice;
  if (told.math != kPermitted) return numberOf(choice, told.math);
  return numberOf(choice, type == at::kFloat ? permittedMath() : kStrict);
}

// The call that Python is asked about on this thread. Its key is null where nothing can be published of it.
struct Question {
  const Key* key;
  int how;
};
thread_local Question question = {nullptr, 0};

class Asking {
 public:
  explicit Asking(Question asked) : before_(std::exchange(question, asked)) {}
  ~Asking() { question = before_; }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

 private:
  Question before_;
};

template <class Signature>
auto operatorOfPython(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}
constexpr c10::DispatchKeySet kCpu(c10::DispatchKey::CPU);

// False: its memory does not hold the tensor as strides say.
bool add(Key& key, const Tensor& t) {
  if (t.layout() != c10::kStrided || !t.device().is_cpu()) return false;
  key.add(static_cast<std::int64_t>(t.scalar_type()));
  key.addAll(t.sizes());
  for (const std::int64_t stride : t.strides()) key.add(stride);
  return true;
}

// All that is no tensor of layers.key_of().
void add(Key& key, int how, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed,
         IntArrayRef outputPadding, std::int64_t groups) {
  key.add(how);
  for (const IntArrayRef list : {stride, padding, dilation, outputPadding}) key.addAll(list);
  const bool threads = at::get_num_threads() > 1, mkldnn = at::globalContext().userEnabledMkldnn();
  key.add(groups << 3 | std::int64_t{transposed} << 2 | std::int64_t{threads} << 1 | std::int64_t{mkldnn});
}

Tensor made(const Decision& decision, std::size_t slot, const Tensor& like) {
  const auto& lie = decision.results[slot];
  return lie ? Tensor(at::detail::empty_strided_cpu(lie->first, lie->second, like.scalar_type())) : Tensor();
}

void* addressOf(const Tensor& t) { return t.defined() ? t.mutable_data_ptr() : nullptr; }

bool run(const Decision& decision, const python::Addresses& addresses) {
  const int threads = decision.threads < 0 ? at::get_num_threads() : decision.threads;
  return decision.runnable->run(decision.runnable->layer, addresses, threads);
}

// The result by what was decided. Nothing: Python is to be asked, also where the run fails, which it tries again.
template <class Ours, class Theirs>
auto byTable(const Key& key, const Ours& ours, const Theirs& theirs) -> decltype(std::optional(theirs())) {
  const auto decision = table().find(key);
  if (decision == nullptr) return std::nullopt;
  const auto begun = std::chrono::steady_clock::now();
  auto result = decision->runnable == nullptr ? std::optional(theirs()) : ours(*decision);
  if (result) decision->count(std::chrono::steady_clock::now() - begun);
  return result;
}

Tensor forward(const Tensor& x, const Tensor& w, const Bias& bias, IntArrayRef stride, IntArrayRef padding,
               IntArrayRef dilation, bool transposed, IntArrayRef outputPadding, std::int64_t groups, bool benchmark,
               bool deterministic, bool cudnn, bool tf32) {
  const auto theirs = [&] {
    return at::compositeexplicitautograd::_convolution(x, w, bias, stride, padding, dilation, transposed, outputPadding,
                                                       groups, benchmark, deterministic, cudnn, tf32);
  };
  const Rules told = rules.load(std::memory_order_relaxed);
  if (!told.enabled) return theirs();
  const bool hasBias = bias && bias->defined();
  const auto ours = [&](const Decision& decision) -> std::optional<Tensor> {
    Tensor y = made(decision, 3, x);
    const void* b = hasBias ? bias->const_data_ptr() : nullptr;
    const bool ran = run(decision, {nullptr, x.const_data_ptr(), w.const_data_ptr(), nullptr, nullptr, nullptr,
                                    addressOf(y), b, nullptr});
    return ran ? std::optional(std::move(y)) : std::nullopt;
  };
  const int asked = how(told, x.scalar_type());
  Key key;
  key.add(std::int64_t{hasBias});
  add(key, asked, stride, padding, dilation, transposed, outputPadding, groups);
  const bool known = add(key, x) && add(key, w) && (!hasBias || add(key, *bias)) && key.fits();
  if (known && !told.seen)
    if (auto y = byTable(key, ours, theirs)) return *std::move(y);
  const Asking asking({known ? &key : nullptr, asked});
  static const auto python = operatorOfPython<Forward>("cubejit::_convolution");
  return python.redispatch(kCpu, x, w, bias, stride, padding, dilation, transposed, outputPadding, groups, benchmark,
                           deterministic, cudnn, tf32);
}

Gradients backward(const Tensor& dy, const Tensor& x, const Tensor& w, at::OptionalIntArrayRef biasShape,
                   IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed,
                   IntArrayRef outputPadding, std::int64_t groups, Mask mask) {
  const auto theirs = [&] {
    return at::compositeexplicitautograd::convolution_backward(dy, x, w, biasShape, stride, padding, dilation,
                                                               transposed, outputPadding, groups, mask);
  };
  const Rules told = rules.load(std::memory_order_relaxed);
  if (!told.enabled) return theirs();
  const auto ours = [&](const Decision& decision) -> std::optional<Gradients> {
    Gradients results{made(decision, 0, x), made(decision, 1, w), made(decision, 2, dy)};
    const auto& [dx, dw, db] = results;
    const bool ran = run(decision, {dy.const_data_ptr(), x.const_data_ptr(), w.const_data_ptr(), addressOf(dx),
                                    addressOf(dw), addressOf(db), nullptr, nullptr, nullptr});
    return ran ? std::optional(std::move(results)) : std::nullopt;
  };
  const int asked = how(told, x.scalar_type());
  Key key;
  key.add(2 | mask[0] << 2 | mask[1] << 3 | mask[2] << 4);  // forward ones begin with 0 or 1
  add(key, asked, stride, padding, dilation, transposed, outputPadding, groups);
  const bool known = add(key, dy) && add(key, x) && add(key, w) && key.fits();
  if (known && !told.seen)
    if (auto results = byTable(key, ours, theirs)) return *std::move(results);
  const Asking asking({known ? &key : nullptr, asked});
  static const auto python = operatorOfPython<Backward>("cubejit::convolution_backward");
  return python.redispatch(kCpu, dy, x, w, biasShape, stride, padding, dilation, transposed, outputPadding, groups,
                           mask);
}

// Puts the kernels under the dispatcher, for the life of the process. Throws, and leaves nothing, where PyTorch refuses one.
void registerKernels() {
  auto library = std::make_unique<torch::Library>(torch::Library::IMPL, "aten", c10::DispatchKey::CPU, __FILE__, 0);
  library->impl("_convolution", TORCH_FN(forward));
  library->impl("convolution_backward", TORCH_FN(backward));
  pthread_atfork([] { table().lock(); }, [] { table().unlock(); }, [] { table().unlock(); });
  static_cast<void>(library.release());
}

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
    rules.store(Rules{enabled, seen, static_cast<Choice>(choice), static_cast<Math>(math)});
  });
  module.def("publish", [](int choice, int math, std::uintptr_t runnable, int threads, Lies results,
                           std::int64_t left) {
    return publish(static_cast<Choice>(choice), static_cast<Math>(math), runnable, threads, std::move(results), left);
  });
  module.def("set_time", [](std::int64_t time) { table().time = time; });
}
