// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a kernel's text becomes what can be run, and what a run asks of its buffers.
#include "cubejit/kernel.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "codegen/lang/lower.h"
#include "codegen/lang/parse.h"
#include "codegen/tile/caller_buffers.h"
#include "codegen/tile/interpret_program.h"
#include "codegen/tile/print.h"
#include "cubejit/cubejit.hpp"
#include "runtime/exec/launch.h"
#include "runtime/host/aligned_memory.h"
#include "runtime/host/overlap.h"
#include "runtime/host/threads.h"
#include "runtime/loader/load_programs.h"
#include "runtime/text/printable.h"
#include "tiling/no_throw.h"

namespace cubejit {
namespace {

KernelTensor faceOf(const lang::Tensor& t) {
  KernelTensor face{t.name, t.use == Buffer::Use::kOutput, static_cast<DType>(t.element), {}, {}, t.bytes()};
  for (const lang::Tensor::Dimension& d : t.dimensions) {
    face.extents.push_back(d.extent);
    face.strides.push_back(d.stride);
  }
  return face;
}

}  // namespace

struct TiledKernel::State {
  explicit State(const Options& options) : session(options) {}

  Session session;
  lang::Source source;
  std::vector<KernelTensor> tensors;
  std::map<std::string, std::int64_t> parameters;
  LoadedCode code;
  std::unique_ptr<CompiledPass> part;
  std::vector<std::size_t> order;  ///< by the program's callers' buffers: which tensor

  Status check(const std::vector<void*>& buffers) const {
    if (buffers.size() != tensors.size())
      return invalidInput(source.name + " has " + std::to_string(tensors.size()) + " tensors, here are " +
                              std::to_string(buffers.size()) + " addresses",
                          Stage::kRun);
    std::string broken;
    const auto fail = [&](const std::string& what) { broken += (broken.empty() ? "" : "\n") + what; };
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      if (buffers[t] == nullptr) fail(tensors[t].name + " has no address");
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
    for (const std::size_t t : order) callers.push_back(buffers[t]);
    return callers;
  }
  int threadsFor(int asked) const { return asked > 0 ? asked : threadsOf(session.options()); }
};

TiledKernel::TiledKernel() = default;
TiledKernel::~TiledKernel() = default;
const std::string& TiledKernel::name() const { return state_->source.name; }
const std::vector<KernelTensor>& TiledKernel::tensors() const { return state_->tensors; }
const std::map<std::string, std::int64_t>& TiledKernel::parameters() const { return state_->parameters; }
std::string TiledKernel::program() const { return print(state_->part->tile, Detail::kFull); }

Result<std::unique_ptr<TiledKernel>> TiledKernel::create(const std::string& text,
                                                         const std::map<std::string, std::int64_t>& parameters,
                                                         const Options& options) {
  return withoutThrowing(Stage::kTile, [&]() -> Result<std::unique_ptr<TiledKernel>> {
    std::unique_ptr<TiledKernel> kernel(new TiledKernel);
    kernel->state_ = std::make_unique<State>(options);
    State& s = *kernel->state_;
    CUBEJIT_RETURN_IF_ERROR(s.session.status());
    if (s.session.machine().isEmulated())
      return Error{ErrorCode::kUnsupported, Stage::kTile,
                   "kernels of one's own run on hosts; leave the chip out of the options"};
    CUBEJIT_TRY(source, lang::parse(text, parameters));
    s.source = std::move(source);
    for (const lang::Parameter& p : s.source.parameters) s.parameters[p.name] = p.value;
    CUBEJIT_TRY(program, lang::lower(s.source, s.session.machine().isa));
    for (const lang::Tensor& t : s.source.tensors) {
      if (t.use == Buffer::Use::kInput || t.use == Buffer::Use::kOutput) s.tensors.push_back(faceOf(t));
    }
    CUBEJIT_TRY(part, compileProgram(std::move(program), s.session.machine(), s.session.options(), s.code));
    s.part = std::move(part);
    for (const Buffer& buffer : s.part->tile.buffers) {
      if (!buffer.isCallers()) continue;
      const auto named = std::find_if(s.tensors.begin(), s.tensors.end(),
                                      [&](const KernelTensor& t) { return t.name == buffer.name; });
      s.order.push_back(static_cast<std::size_t>(named - s.tensors.begin()));
    }
    return kernel;
  });
}

std::size_t TiledKernel::workspaceBytes(int threads) const {
  return state_->part->launch->workspaceBytes(state_->threadsFor(threads));
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
    s.part->launch->run(s.bound(buffers), nullptr, at,
                        Team{slots, options.parallelFor, options.pinThreads, options.wakeCycles});
    return Unit{};
  });
}

Status TiledKernel::interpret(const std::vector<void*>& buffers) const {
  return withoutThrowing(Stage::kRun, [&]() -> Status {
    CUBEJIT_RETURN_IF_ERROR(state_->check(buffers));
    return cubejit::interpret(state_->part->tile, state_->bound(buffers));
  });
}

}  // namespace cubejit
