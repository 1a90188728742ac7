// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python/torch_kernels/convolutions.h"

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/ops/_convolution_compositeexplicitautograd_dispatch.h>
#include <ATen/ops/convolution_backward_compositeexplicitautograd_dispatch.h>
#include <pthread.h>
#include <torch/csrc/api/include/torch/version.h>
#include <torch/library.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <utility>

namespace cubejit::torch_kernels {
namespace {

std::atomic<Rules> rules = Rules{};

// As permitted_math() of choosing.py.
Math permittedMath() {
  const at::Context& context = at::globalContext();
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 9
  const auto said = context.float32Precision(at::Float32Backend::MKLDNN, at::Float32Op::CONV);
  if (said != at::Float32Precision::NONE)
    return said == at::Float32Precision::IEEE ? kStrict : said == at::Float32Precision::BF16 ? kBf16 : kRelaxed;
#endif
  const auto products = context.float32MatmulPrecision();
  return products == at::Float32MatmulPrecision::HIGHEST  ? kStrict
         : products == at::Float32MatmulPrecision::MEDIUM ? kBf16
                                                          : kRelaxed;
}

int how(const Rules& told, at::ScalarType type) {
  const Choice choice = at::globalContext().deterministicAlgorithms() ? kReproducible : told.choice;
  if (told.math != kPermitted) return numberOf(choice, told.math);
  return numberOf(choice, type == at::kFloat ? permittedMath() : kStrict);
}

void* addressOf(const Tensor& t) { return t.defined() ? t.mutable_data_ptr() : nullptr; }

// The result by what was decided. Nothing: that is to be asked, also where the run fails.
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
  const int asked = how(told, x.scalar_type());
  Key key;
  key.add(std::int64_t{hasBias});
  add(key, asked, stride, padding, dilation, transposed, outputPadding, groups);
  const bool known = add(key, x) && add(key, w) && (!hasBias || add(key, *bias)) && key.fits();
  const auto ours = [&](const Decision& decision) { return forwardBy(decision, x, w, bias); };
  if (known && !told.seen)
    if (auto y = byTable(key, ours, theirs)) return *std::move(y);
  return decideForward({known ? &key : nullptr, asked}, x, w, bias, stride, padding, dilation, transposed,
                       outputPadding, groups, benchmark, deterministic, cudnn, tf32);
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
  const int asked = how(told, x.scalar_type());
  Key key;
  key.add(2 | mask[0] << 2 | mask[1] << 3 | mask[2] << 4);  // forward ones begin with 0 or 1
  add(key, asked, stride, padding, dilation, transposed, outputPadding, groups);
  const bool known = add(key, dy) && add(key, x) && add(key, w) && key.fits();
  const auto ours = [&](const Decision& decision) { return backwardBy(decision, dy, x, w); };
  if (known && !told.seen)
    if (auto results = byTable(key, ours, theirs)) return *std::move(results);
  return decideBackward({known ? &key : nullptr, asked}, dy, x, w, biasShape, stride, padding, dilation, transposed,
                        outputPadding, groups, mask);
}

}  // namespace

void obey(const Rules& told) { rules.store(told); }

int howNow(at::ScalarType type) { return how(rules.load(std::memory_order_relaxed), type); }

// Never destroyed: threads may compute while the process ends.
Table& table() {
  static Table& made = *new Table;
  return made;
}

bool add(Key& key, const Tensor& t) {
  if (t.layout() != c10::kStrided || !t.device().is_cpu()) return false;
  key.add(static_cast<std::int64_t>(t.scalar_type()));
  key.addAll(t.sizes());
  for (const std::int64_t stride : t.strides()) key.add(stride);
  return true;
}

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

bool run(const Decision& decision, const python::Addresses& addresses) {
  const int threads = decision.threads < 0 ? at::get_num_threads() : decision.threads;
  return decision.runnable->run(decision.runnable->layer, addresses, threads);
}

std::optional<Tensor> forwardBy(const Decision& decision, const Tensor& x, const Tensor& w, const Bias& bias) {
  Tensor y = made(decision, 3, x);
  const void* b = bias && bias->defined() ? bias->const_data_ptr() : nullptr;
  const bool ran = run(
      decision, {nullptr, x.const_data_ptr(), w.const_data_ptr(), nullptr, nullptr, nullptr, addressOf(y), b, nullptr});
  return ran ? std::optional(std::move(y)) : std::nullopt;
}

std::optional<Gradients> backwardBy(const Decision& decision, const Tensor& dy, const Tensor& x, const Tensor& w) {
  Gradients results{made(decision, 0, x), made(decision, 1, w), made(decision, 2, dy)};
  const auto& [dx, dw, db] = results;
  const bool ran = run(decision, {dy.const_data_ptr(), x.const_data_ptr(), w.const_data_ptr(), addressOf(dx),
                                  addressOf(dw), addressOf(db), nullptr, nullptr, nullptr});
  return ran ? std::optional(std::move(results)) : std::nullopt;
}

void registerKernels() {
  auto library = std::make_unique<torch::Library>(torch::Library::IMPL, "aten", c10::DispatchKey::CPU, __FILE__, 0);
  library->impl("_convolution", TORCH_FN(forward));
  library->impl("convolution_backward", TORCH_FN(backward));
  pthread_atfork([] { table().lock(); }, [] { table().unlock(); }, [] { table().unlock(); });
  static_cast<void>(library.release());
}

}  // namespace cubejit::torch_kernels
