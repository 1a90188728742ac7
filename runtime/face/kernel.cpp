// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a kernel's text becomes what can be run, what of that the process keeps, and what a run asks of its buffers.
#include "cubejit/kernel.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "codegen/lang/layouts.h"
#include "codegen/tile/caller_buffers.h"
#include "codegen/tile/interpret_program.h"
#include "codegen/tile/print.h"
#include "cubejit/cubejit.hpp"
#include "runtime/diagnose/report.h"
#include "runtime/dump/dump.h"
#include "runtime/dump/elements.h"
#include "runtime/exec/launch.h"
#include "runtime/face/kernel_settings.h"
#include "runtime/host/aligned_memory.h"
#include "runtime/host/overlap.h"
#include "runtime/host/threads.h"
#include "runtime/loader/load_kernel.h"
#include "runtime/pipeline/generated_cache.h"
#include "runtime/text/printable.h"
#include "runtime/tuning/tune_kernel.h"
#include "tiling/no_throw.h"

namespace cubejit {

// What all kernels of one text, one choice of parameters and one machine share.
struct GeneratedKernel {
  std::string text;
  LoadedKernel kernel;
  std::vector<KernelTensor> tensors;
  KernelParameters parameters;
  std::vector<std::size_t> order;  ///< by the program's callers' buffers: which tensor
  int threads = 1;                 ///< of a run, unless it says another number
};

namespace {

KernelTensor faceOf(const lang::Tensor& t) {
  KernelTensor face{t.name, t.use == Buffer::Use::kOutput, static_cast<DType>(t.element), {}, {}, t.bytes()};
  for (const lang::Tensor::Dimension& d : t.dimensions) {
    face.extents.push_back(d.extent);
    face.strides.push_back(d.stride);
  }
  return face;
}

InterpretedTile faceOf(const InterpretedCall& call, const Buffer& buffer, const lang::Source& laidOut,
                       const TensorElements& elements) {
  InterpretedTile face{
      call.call.name, call.task, buffer.name, {}, call.base, static_cast<DType>(buffer.element), {}, {}};
  if (!elements.axesOf(buffer)) {
    face.extents = {buffer.bytes / elementBytes(buffer.element)};
    face.strides = {1};
    return face;
  }
  const auto named = [&](const lang::Tensor& t) { return t.name == buffer.name; };
  const KernelTensor tensor = faceOf(*std::find_if(laidOut.tensors.begin(), laidOut.tensors.end(), named));
  face.extents = tensor.extents;
  face.strides = tensor.strides;
  face.type = tensor.type;
  face.element = elements.elementAt(buffer, call.offset).value_or(ElementPlace{});
  return face;
}

std::size_t codeBytesOf(const GeneratedKernel& kernel) { return kernel.kernel.code.bytes(); }

// Never destroyed: kernels may still be made and run while static objects are.
GeneratedCache<GeneratedKernel>& generatedKernels() {
  static auto* const all = new GeneratedCache<GeneratedKernel>(codeBytesOf);
  return *all;
}

// All that code, or the choice of tuned parameters, depends on.
std::string keyOf(const std::string& text, const lang::Settings& settings, const Machine& machine, const Options& o) {
  std::string key;
  const auto append = [&](const std::string& part) { key += std::to_string(part.size()) + ":" + part; };
  append(text);
  for (const auto& [name, value] : settings) append(name), append(value);
  for (const char* word : {toString(machine.isa.level), toString(o.backend), toString(o.tune)}) append(word);
  for (const std::string* word : {&machine.name, &o.llvmComponent, &o.store, &o.systemStore}) append(*word);
  append(o.verify ? std::to_string(static_cast<int>(*o.verify)) : "");
  for (const std::int64_t number : {o.codeBudget, std::int64_t{o.threads}}) append(std::to_string(number));
  return key;
}

Result<std::shared_ptr<const GeneratedKernel>> generateAnew(const std::string& text, const lang::Settings& settings,
                                                            const Machine& machine, const Options& options) {
  const auto made = std::make_shared<GeneratedKernel>();
  made->text = text;
  made->threads = threadsOf(options);
  CUBEJIT_TRY(kernel, loadKernel(text, withTunedSettings(text, settings, machine, options), machine, options));
  made->kernel = std::move(kernel);
  for (const lang::Parameter& p : made->kernel.source.parameters) made->parameters.emplace(p.name, p.textOf(p.value));
  for (const lang::Tensor& t : made->kernel.source.tensors) {
    if (t.use == Buffer::Use::kInput || t.use == Buffer::Use::kOutput) made->tensors.push_back(faceOf(t));
  }
  for (const Buffer& buffer : made->kernel.part->tile.buffers) {
    if (!buffer.isCallers()) continue;
    const auto named = std::find_if(made->tensors.begin(), made->tensors.end(),
                                    [&](const KernelTensor& t) { return t.name == buffer.name; });
    made->order.push_back(static_cast<std::size_t>(named - made->tensors.begin()));
  }
  return std::shared_ptr<const GeneratedKernel>(made);
}

// The one that the process keeps, or a new one, which it then keeps.
Result<std::shared_ptr<const GeneratedKernel>> findOrGenerate(const std::string& text, const lang::Settings& settings,
                                                              const Machine& machine, const Options& options) {
  CacheLookUp found;
  CUBEJIT_TRY(kernel, generatedKernels().find(
                          keyOf(text, settings, machine, options), options.cacheCapacity,
                          [&](const CacheLookUp& lookUp) { found = lookUp; },
                          [&] { return generateAnew(text, settings, machine, options); }));
  if (logs(options.diagnostics, Topic::kCache)) {
    std::string values;
    for (const auto& [name, value] : kernel->parameters)
      values += (values.empty() ? "" : ",") + name + "=" + value.text();
    reportLookUp(options.diagnostics, found, kernel->kernel.source.name, {"parameters", values});
  }
  return std::move(kernel);
}

}  // namespace

struct TiledKernel::State {
  explicit State(const Options& options) : session(options) {}

  Session session;
  std::shared_ptr<const GeneratedKernel> generated;

  Status check(const std::vector<void*>& buffers) const {
    const std::vector<KernelTensor>& tensors = generated->tensors;
    if (buffers.size() != tensors.size())
      return invalidInput(generated->kernel.source.name + " has " + std::to_string(tensors.size()) +
                              " tensors, here are " + std::to_string(buffers.size()) + " addresses",
                          Stage::kRun);
    std::string broken;
    const auto fail = [&](const std::string& what) { broken += (broken.empty() ? "" : "\n") + what; };
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      if (buffers[t] == nullptr && tensors[t].bytes > 0) fail(tensors[t].name + " has no address");
      for (std::size_t o = 0; o < tensors.size() && tensors[t].output; ++o) {
        if (o == t || buffers[o] == nullptr || (tensors[o].output && o < t)) continue;
        if (overlap(buffers[t], tensors[t].bytes, buffers[o], tensors[o].bytes))
          fail("output " + tensors[t].name + " overlaps " + tensors[o].name + "; it needs memory of its own");
      }
    }
    if (!broken.empty()) return invalidInput(broken, Stage::kRun);
    return Unit{};
  }
  CallerBuffers bound(const std::vector<void*>& buffers) const {
    CallerBuffers callers;
    for (const std::size_t t : generated->order) callers.push_back(buffers[t]);
    return callers;
  }
  int threadsFor(int asked) const { return asked > 0 ? asked : generated->threads; }
};

TiledKernel::TiledKernel() = default;
TiledKernel::~TiledKernel() = default;
const std::string& TiledKernel::name() const { return state_->generated->kernel.source.name; }
const std::vector<KernelTensor>& TiledKernel::tensors() const { return state_->generated->tensors; }
const KernelParameters& TiledKernel::parameters() const { return state_->generated->parameters; }
std::string TiledKernel::program() const { return print(state_->generated->kernel.part->tile, Detail::kFull); }

Result<std::unique_ptr<TiledKernel>> TiledKernel::create(const std::string& text, const KernelParameters& parameters,
                                                         const Options& options) {
  return withoutThrowing(Stage::kTile, [&]() -> Result<std::unique_ptr<TiledKernel>> {
    std::unique_ptr<TiledKernel> made(new TiledKernel);
    made->state_ = std::make_unique<State>(options);
    State& s = *made->state_;
    CUBEJIT_RETURN_IF_ERROR(s.session.status());
    CUBEJIT_TRY(generated, findOrGenerate(text, settingsOf(parameters), s.session.machine(), s.session.options()));
    s.generated = std::move(generated);
    return made;
  });
}

Result<KernelTuning> TiledKernel::tune(const std::string& text, const KernelParameters& parameters,
                                       const Options& options, double seconds) {
  return withoutThrowing(Stage::kPlan, [&]() -> Result<KernelTuning> {
    const Session session(options);
    CUBEJIT_RETURN_IF_ERROR(session.status());
    if (!(seconds > 0)) return invalidInput("tuning takes more than 0 seconds", Stage::kPlan);
    KernelTuning tuning;
    KernelTuneSetup setup;
    setup.text = text;
    setup.fixed = settingsOf(parameters);
    setup.mostSeconds = seconds;
    setup.tried = [&](const KernelRecord& record) { tuning.report += lineOf(record) + "\n"; };
    CUBEJIT_TRY(found, tuneKernel(setup, session.machine(), session.options()));
    generatedKernels().clear();  // what comes next asks the store again
    tuning.parameters = parametersOf(found.settings);
    tuning.gain = 1 / found.best.relative;
    tuning.untunedSeconds = static_cast<double>(medianNs(found.untuned.samplesNs)) * 1e-9;
    tuning.choices = found.choices;
    tuning.tried = found.tried;
    tuning.known = found.known;
    for (const std::string& note : found.notes) tuning.report += note + "\n";
    return tuning;
  });
}

Result<std::string> TiledKernel::dump(const DumpRequest& request) const {
  return withoutThrowing(Stage::kRun, [&]() -> Result<std::string> {
    const State& s = *state_;
    return dumpKernel(s.generated->text, settingsOf(s.generated->parameters), request, s.session.machine(),
                      s.session.options());
  });
}

std::size_t TiledKernel::workspaceBytes(int threads) const {
  return state_->generated->kernel.part->launch->workspaceBytes(state_->threadsFor(threads));
}

Status TiledKernel::run(const std::vector<void*>& buffers, void* workspace, int threads) const {
  return withoutThrowing(Stage::kRun, [&]() -> Status {
    const State& s = *state_;
    CUBEJIT_RETURN_IF_ERROR(s.check(buffers));
    if (threads < 0) return invalidInput(brokenThreads(threads), Stage::kRun);
    const int slots = s.threadsFor(threads);
    const std::size_t bytes = workspaceBytes(slots);
    AlignedMemory own;
    if (reinterpret_cast<std::uintptr_t>(workspace) % 64 != 0)
      return invalidInput("the workspace does not lie at a multiple of 64 bytes", Stage::kRun);
    if (workspace == nullptr && bytes > 0) {
      own = alignedMemory(bytes);
      if (own == nullptr)
        return Error{ErrorCode::kLimitExceeded, Stage::kRun,
                     "no memory for a workspace of " + std::to_string(bytes) + " bytes"};
    }
    auto* const at = static_cast<char*>(workspace == nullptr ? static_cast<void*>(own.get()) : workspace);
    const Options& options = s.session.options();
    s.generated->kernel.part->launch->run(s.bound(buffers), nullptr, at,
                                          Team{slots, options.parallelFor, options.pinThreads, options.wakeCycles});
    return Unit{};
  });
}

Status TiledKernel::interpret(const std::vector<void*>& buffers, const InterpretHook& hook) const {
  return withoutThrowing(Stage::kRun, [&]() -> Status {
    CUBEJIT_RETURN_IF_ERROR(state_->check(buffers));
    const TileProgram& program = state_->generated->kernel.part->tile;
    if (!hook) return cubejit::interpret(program, state_->bound(buffers));
    const HostIsa& isa = state_->session.machine().isa;
    const lang::Source laidOut = lang::laidOut(state_->generated->kernel.source, isa);
    const auto elements = elementsOf(state_->generated->kernel.source, isa);
    return cubejit::interpret(program, state_->bound(buffers), [&](const InterpretedCall& call) {
      return hook(faceOf(call, program.buffers[static_cast<std::size_t>(call.buffer)], laidOut, *elements));
    });
  });
}

}  // namespace cubejit
