// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what libcubejit_torch.so does in a process without Python, such as one that runs packages of AOTInductor: it registers the operators of
// graphs.py that inference calls, and, with CUBEJIT_TORCH=ours, the kernels of PyTorch's own convolutions. cubejit then computes
// whatever it takes, as with enable("ours"); what that measures is Python's. Where the package was imported before, nothing is left to do.
#include <ATen/Version.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_convolution_compositeexplicitautograd_dispatch.h>
#include <ATen/ops/add.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward_compositeexplicitautograd_dispatch.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/relu.h>
#include <torch/csrc/api/include/torch/version.h>
#include <torch/library.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "cubejit/cubejit.hpp"
#include "python/core/convolution.h"
#include "python/core/failure.h"
#include "python/core/layer.h"
#include "python/core/openmp.h"
#include "python/torch_kernels/convolutions.h"

namespace cubejit::torch_kernels {
namespace {

using python::Failure;
using python::Layer;
using python::Shape;
using python::valueOf;

constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kMostBytes = std::size_t{1} << 30, kEntryBytes = 4096;  // as CACHE_BYTES["ours"] of choosing.py

struct Said {
  std::shared_ptr<Session> session;  // null: it cannot be made, which was said
  int threads = -1;                  // of runs; -1: as many as PyTorch uses
};

Said sessionBy(bool reproducible) {
  try {
    Options options = valueOf(optionsFromEnvironment());
    const int threads = options.threads > 0 ? options.threads : -1;
    if (reproducible) options.threads = 0, options.tune = TuneMode::kOff, options.batchInvariant = true;
    options.parallelFor = python::openmpThreads();
    auto session = std::make_shared<Session>(std::move(options));
    python::require(session->status());
    return {std::move(session), threads};
  } catch (const std::exception& error) {
    TORCH_WARN("cubejit computes nothing, PyTorch everything: ", error.what());
    return {};
  }
}

// As layers.session(). Never destroyed, as table().
const Said& sessionOf(int how) {
  static const auto* usual = new Said(sessionBy(false));
  if (choiceOf(how) != kReproducible) return *usual;
  static const auto* reproducible = new Said(sessionBy(true));
  return *reproducible;
}

struct Geometry {
  IntArrayRef stride, padding, dilation;
  bool transposed;
  IntArrayRef outputPadding;
  std::int64_t groups;
};

// Tensors of a call that PyTorch has computed, so that shapes fit; what is undefined it does not have.
struct Call {
  Tensor dy, x, w, bias, z;
  Gradients gradients;
  Tensor y;
  PostOps postOps;
};

[[noreturn]] void refuse(const char* why) { throw Failure(Error{ErrorCode::kUnsupported, Stage::kProblem, why}); }

DType typeOf(const Tensor& t) {
  switch (t.scalar_type()) {
    case at::kFloat: return DType::kF32;
    case at::kHalf: return DType::kF16;
    case at::kBFloat16: return DType::kBf16;
    default: refuse("another type");
  }
}

TensorFormat formatOf(const Tensor& t) {
  const DType type = typeOf(t);
  if (t.is_contiguous()) return {type, Layout::kNcdhw, {}};
  if (t.movedim(1, -1).is_contiguous()) return {type, Layout::kNdhwc, {}};
  TensorFormat format{type, Layout::kNcdhw, {}};
  const std::int64_t axes = t.dim();
  for (std::int64_t a = 0; a < axes; ++a)
    format.strides[static_cast<std::size_t>(a < 2 ? a : 5 - axes + a)] = t.size(a) == 1 ? 0 : t.stride(a);
  format.broadcast = !format.strided();
  return format;
}

// Refuses what layers.why_y_is_passed_on() does.
Problem problemOf(const Call& call, const Geometry& g, Math math, PassMask& mask, Lies& lies) {
  const auto& [dx, dw, db] = call.gradients;
  for (const Tensor& t : {call.dy, call.w, call.bias, call.z})
    if (t.defined() && t.scalar_type() != call.x.scalar_type()) refuse("operands of two types");
  if (call.x.numel() == 0 || call.w.numel() == 0) refuse("empty");
  if (call.bias.defined() && !call.bias.is_contiguous()) refuse("a bias with strides");
  std::optional<Shape> dyShape;
  if (call.dy.defined()) dyShape = call.dy.sizes().vec();
  Problem problem = python::problemOf(
      call.x.sizes().vec(), call.w.sizes().vec(), dyShape,
      {g.stride.vec(), g.padding.vec(), g.dilation.vec(), g.outputPadding.vec(), g.transposed, g.groups});
  problem.dtype = typeOf(call.x);
  problem.layout = Layout::kNcdhw;
  problem.postOps = call.postOps;
  problem.math = math == kBf16 ? MathMode::kBf16 : math == kRelaxed ? MathMode::kRelaxed : MathMode::kStrict;
  const auto describe = [&](TensorId id, const Tensor& t) {
    problem.formats[static_cast<std::size_t>(id)] = formatOf(t);
  };
  std::size_t slot = 0;
  for (const auto& [pass, result] :
       {std::pair{Pass::kDx, &dx}, {Pass::kDw, &dw}, {Pass::kDb, &db}, {Pass::kY, &call.y}}) {
    auto& lie = lies[slot++];
    if (!result->defined()) continue;
    mask.add(pass);
    lie.emplace(result->sizes().vec(), result->strides().vec());
    if (pass == Pass::kDb) continue;
    describe(resultOf(pass), *result);
    if (problem.formats[static_cast<std::size_t>(resultOf(pass))]->strided()) refuse("a result with strides");
  }
  for (const auto& [id, operand] :
       {std::pair{TensorId::kDy, &call.dy}, {TensorId::kX, &call.x}, {TensorId::kW, &call.w}})
    if (mask.reads(id)) describe(id, *operand);
  return problem;
}

// Publishes who computes calls like this one from now on. Null if that had been settled, and its run failed.
std::shared_ptr<Decision> decide(const Asked& asked, const Call& call, const Geometry& geometry) {
  if (asked.key == nullptr || table().find(*asked.key) != nullptr) return nullptr;
  const Said& said = sessionOf(asked.how);
  const python::Runnable* runnable = nullptr;
  Lies lies;
  std::size_t bytes = kEntryBytes;
  try {
    PassMask mask;
    const Problem problem = problemOf(call, geometry, mathOf(asked.how), mask, lies);
    if (said.session != nullptr) {
      const Layer layer{said.session, valueOf(said.session->compile(CompileRequest{problem, mask, {}}))};
      bytes += layer.executable->memoryBytes();
      runnable = layer.runnable();
    }
  } catch (const Failure&) {  // PyTorch computes it
  }
  static std::atomic<std::size_t> kept = 0;
  if (kept.fetch_add(bytes) + bytes > kMostBytes) {  // those in use come back
    table().clear();
    kept = bytes;
  }
  auto decision = std::make_shared<Decision>(*asked.key, runnable, said.threads, std::move(lies));
  decision->left = kForever;
  table().publish(decision);
  return runnable == nullptr ? nullptr : decision;
}

Tensor defined(const Bias& t) { return t ? *t : Tensor(); }

// In the order of x, as _result() of graphs.py.
Tensor laid(const Tensor& y, const Tensor& x) {
  at::MemoryFormat order = at::MemoryFormat::Contiguous;
  for (const auto& [last, axes] : {std::pair{at::MemoryFormat::ChannelsLast, 4}, {at::MemoryFormat::ChannelsLast3d, 5}})
    if (x.dim() == axes && !x.is_contiguous() && x.is_contiguous(last)) order = last;
  const Tensor like = at::empty_like(y, y.options(), order);
  return like.strides() == y.strides() ? y : like.copy_(y);
}

Tensor activated(const Tensor& y, const PostOps& post) {
  switch (post.activation) {
    case Activation::kRelu: return at::relu(y);
    case Activation::kLeakyRelu: return at::leaky_relu(y, post.alpha);
    case Activation::kClip: return at::hardtanh(y, post.alpha, post.beta);
    case Activation::kNone: break;
  }
  return y;
}

std::optional<Tensor> finishedBy(const Decision& decision, const Tensor& x, const Tensor& w, const Tensor& bias,
                                 Tensor z) {
  const Tensor y = made(decision, 3, x);
  if (z.defined() && z.strides() != y.strides()) z = at::empty_like(y).copy_(z);
  const auto address = [](const Tensor& t) { return t.defined() ? t.const_data_ptr() : nullptr; };
  const bool ran = run(decision, {nullptr, x.const_data_ptr(), w.const_data_ptr(), nullptr, nullptr, nullptr,
                                  y.mutable_data_ptr(), address(bias), address(z)});
  return ran ? std::optional(y) : std::nullopt;
}

Tensor convPostOps(const Tensor& x, const Tensor& w, const Bias& maybeBias, const Bias& maybeAdd,
                   c10::string_view activation, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                   bool transposed, IntArrayRef outputPadding, std::int64_t groups) {
  const at::AutoDispatchBelowAutograd inference;
  const Result<PostOps> parsed = parsePostOps(std::string(activation));
  TORCH_CHECK(parsed.ok(), parsed.error().message);
  PostOps post = parsed.value();
  TORCH_CHECK(!post.bias && !post.add, "activation = '", activation, "'; bias and add are arguments of their own");
  const Tensor bias = defined(maybeBias), z = defined(maybeAdd);
  post.bias = bias.defined(), post.add = z.defined();
  const int how = howNow(x.scalar_type());
  Key key;
  key.add(32 | std::int64_t{post.bias} | std::int64_t{post.add} << 1);  // convolutions' begin with less
  key.add(static_cast<std::int64_t>(post.activation));
  for (const float number : {post.alpha, post.beta}) {
    std::int32_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    key.add(bits);
  }
  add(key, how, stride, padding, dilation, transposed, outputPadding, groups);
  bool known = true;
  for (const Tensor& t : {x, w, bias, z}) known = known && (!t.defined() || add(key, t));
  known = known && key.fits();
  const auto found = known ? table().find(key) : nullptr;
  if (found != nullptr && found->runnable != nullptr)
    if (auto y = finishedBy(*found, x, w, bias, z)) return *std::move(y);
  // Not by the dispatcher, where with CUBEJIT_TORCH=ours a layer would be compiled for this one call.
  Tensor y = at::compositeexplicitautograd::_convolution(x, w, maybeBias, stride, padding, dilation, transposed,
                                                         outputPadding, groups, false, false, false, false);
  TORCH_CHECK(!z.defined() || z.sizes() == y.sizes(), "add has shape ", z.sizes(), "; it must be ", y.sizes());
  y = laid(activated(z.defined() ? at::add(y, z) : y, post), x);
  const Call call{{}, x, w, bias, z, {}, y, post};
  const auto decision =
      decide({known ? &key : nullptr, how}, call, {stride, padding, dilation, transposed, outputPadding, groups});
  return decision == nullptr ? y : finishedBy(*decision, x, w, bias, z).value_or(y);
}

Tensor convolution(const Tensor& x, const Tensor& w, const Bias& bias, IntArrayRef stride, IntArrayRef padding,
                   IntArrayRef dilation, bool transposed, IntArrayRef outputPadding, std::int64_t groups) {
  const at::AutoDispatchBelowAutograd inference;
  return at::convolution(x, w, bias, stride, padding, dilation, transposed, outputPadding, groups);
}

// Schemas are those that torch.library.custom_op makes of graphs.py's functions.
void registerOperators() {
  auto library = std::make_unique<torch::Library>(torch::Library::FRAGMENT, "cubejit", std::nullopt, __FILE__, 0);
  const std::string geometry =
      "SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups";
  const auto define = [&](const std::string& head) {
    library->def((head + geometry + ") -> Tensor").c_str(), {at::Tag::pt2_compliant_tag});
  };
  define("conv_post_ops(Tensor x, Tensor w, Tensor? bias, Tensor? add, str activation, ");
  define("convolution(Tensor x, Tensor w, Tensor? bias, ");
  const auto cpu = [](auto kernel) { return torch::dispatch(c10::DispatchKey::CPU, std::move(kernel)); };
  library->impl("conv_post_ops", cpu(TORCH_FN(convPostOps)));
  library->impl("convolution", cpu(TORCH_FN(convolution)));
  static_cast<void>(library.release());
}

bool load() {
  try {
    c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
    const char* running = "TORCH_VERSION=" TORCH_VERSION;
    TORCH_CHECK(at::show_config().find(running) != std::string::npos,
                "libcubejit_torch.so is built for PyTorch " TORCH_VERSION);
    if (dispatcher.findSchema({"cubejit::conv_post_ops", ""})) return false;  // of the Python package, or another copy
    registerOperators();
    const char* said = secure_getenv("CUBEJIT_TORCH");
    if (said == nullptr || *said == '\0') return true;
    TORCH_CHECK(std::strcmp(said, "ours") == 0, "CUBEJIT_TORCH = '", said, "'; it can be ours, or not be set");
    for (const char* name : {"aten::_convolution", "aten::convolution_backward"})
      TORCH_CHECK(!dispatcher.findSchemaOrThrow(name, "").hasKernelForDispatchKey(c10::DispatchKey::CPU),
                  "another library's kernel of ", name, " is there");
    registerKernels();
    obey({true, false, kOurs, kPermitted});
    return true;
  } catch (const c10::Error& error) {
    TORCH_WARN("PyTorch computes its convolutions without cubejit: ", error.what_without_backtrace());
  }
  return false;
}

const bool loaded = load();

}  // namespace

Tensor decideForward(const Asked& asked, const Tensor& x, const Tensor& w, const Bias& bias, IntArrayRef stride,
                     IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef outputPadding,
                     std::int64_t groups, bool benchmark, bool deterministic, bool cudnn, bool tf32) {
  const Tensor y = at::compositeexplicitautograd::_convolution(
      x, w, bias, stride, padding, dilation, transposed, outputPadding, groups, benchmark, deterministic, cudnn, tf32);
  Call call{{}, x, w, defined(bias), {}, {}, y, {}};
  call.postOps.bias = call.bias.defined();
  const auto decision = decide(asked, call, {stride, padding, dilation, transposed, outputPadding, groups});
  return decision == nullptr ? y : forwardBy(*decision, x, w, bias).value_or(y);
}

Gradients decideBackward(const Asked& asked, const Tensor& dy, const Tensor& x, const Tensor& w,
                         at::OptionalIntArrayRef biasShape, IntArrayRef stride, IntArrayRef padding,
                         IntArrayRef dilation, bool transposed, IntArrayRef outputPadding, std::int64_t groups,
                         Mask mask) {
  const Gradients results = at::compositeexplicitautograd::convolution_backward(
      dy, x, w, biasShape, stride, padding, dilation, transposed, outputPadding, groups, mask);
  const Call call{dy, x, w, {}, {}, results, {}, {}};
  const auto decision = decide(asked, call, {stride, padding, dilation, transposed, outputPadding, groups});
  return decision == nullptr ? results : backwardBy(*decision, dy, x, w).value_or(results);
}

}  // namespace cubejit::torch_kernels
