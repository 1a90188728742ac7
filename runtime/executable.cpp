// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a run checks before it starts, and what an executable tells about itself.
#include <algorithm>
#include <cstdint>
#include <string>

#include "codegen/tile/print.h"
#include "codegen/vector/print.h"
#include "runtime/compile.h"

namespace cubejit {
namespace {

struct NamedRange {
  const char* name;
  const void* begin;
  std::int64_t bytes;
  bool written;
};

bool overlap(const NamedRange& a, const NamedRange& b) {
  const auto a0 = reinterpret_cast<std::uintptr_t>(a.begin), b0 = reinterpret_cast<std::uintptr_t>(b.begin);
  return a.bytes > 0 && b.bytes > 0 && a0 < b0 + static_cast<std::uintptr_t>(b.bytes) && b0 < a0 + static_cast<std::uintptr_t>(a.bytes);
}

std::vector<NamedRange> rangesOf(const Problem& p, GradientMask mask, const Tensors& t, const void* workspace, std::int64_t workspaceBytes) {
  std::vector<NamedRange> ranges{{"dy", t.dy, yElements(p) * 4, false}};
  if (mask.dw) ranges.push_back({"x", t.x, xElements(p) * 4, false});
  if (mask.dx) ranges.push_back({"w", t.w, wElements(p) * 4, false});
  if (mask.dx) ranges.push_back({"dx", t.dx, xElements(p) * 4, true});
  if (mask.dw) ranges.push_back({"dw", t.dw, wElements(p) * 4, true});
  if (mask.db) ranges.push_back({"db", t.db, bElements(p) * 4, true});
  ranges.push_back({"workspace", workspace, workspaceBytes, true});
  return ranges;
}

}  // namespace

Executable::Executable() : state_(std::make_unique<State>()) {}
Executable::~Executable() = default;

const Problem& Executable::problem() const { return state_->problem; }
GradientMask Executable::gradients() const { return state_->gradients; }
const HostIsa& Executable::isa() const { return state_->isa; }
int Executable::threads() const { return state_->threads; }
StageTimes Executable::times() const { return state_->times; }

std::size_t Executable::workspaceBytes(int threads) const {
  const int slots = std::max(1, threads > 0 ? threads : state_->threads);
  std::size_t bytes = 0;
  for (const auto& part : state_->parts) bytes = std::max(bytes, part->launch->workspaceBytes(slots));
  return bytes;
}

Status Executable::run(const Tensors& tensors, void* workspace, std::size_t workspaceBytes, int threads) const {
  const int slots = std::max(1, threads > 0 ? threads : state_->threads);
  const std::size_t needed = this->workspaceBytes(slots);
  std::string broken;
  const auto rule = [&](const std::string& text) { broken += (broken.empty() ? "" : "\n") + text; };
  const std::vector<NamedRange> ranges = rangesOf(state_->problem, state_->gradients, tensors, workspace, static_cast<std::int64_t>(needed));
  for (const NamedRange& r : ranges) {
    if (r.begin == nullptr && r.bytes > 0) rule(std::string(r.name) + " is null but " + std::to_string(r.bytes) + " bytes are needed");
    else if (reinterpret_cast<std::uintptr_t>(r.begin) % 4 != 0) rule(std::string(r.name) + " is not aligned to 4 bytes");
  }
  if (workspaceBytes < needed) {
    rule("workspace has " + std::to_string(workspaceBytes) + " bytes, " + std::to_string(needed) + " are needed for " + std::to_string(slots) + " threads; ask workspaceBytes()");
  }
  if (needed > 0 && reinterpret_cast<std::uintptr_t>(workspace) % 64 != 0) rule("workspace is not aligned to 64 bytes");
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    for (std::size_t j = i + 1; j < ranges.size(); ++j) {
      if ((ranges[i].written || ranges[j].written) && ranges[i].begin != nullptr && ranges[j].begin != nullptr && overlap(ranges[i], ranges[j])) {
        rule(std::string(ranges[i].name) + " and " + ranges[j].name + " overlap; results and workspace need memory of their own");
      }
    }
  }
  if (!broken.empty()) return Error{ErrorCode::kInvalidProblem, Stage::kRun, broken};
  for (const auto& part : state_->parts) {
    part->launch->run(tensors, static_cast<char*>(workspace), slots, state_->options.parallelFor, state_->options.pinThreads);
  }
  return Unit{};
}

TilingPlan Executable::plan(Gradient gradient) const {
  for (const auto& part : state_->parts) {
    if (part->plan.gradient == gradient) return part->plan;
  }
  return TilingPlan{};
}

std::string Executable::tileProgram(Gradient gradient) const {
  for (const auto& part : state_->parts) {
    if (part->plan.gradient == gradient) return print(part->tile);
  }
  return {};
}

std::vector<KernelView> Executable::kernels() const {
  std::vector<KernelView> views;
  std::size_t index = 0;
  for (const auto& part : state_->parts) {
    for (std::size_t k = 0; k < part->vectors.size(); ++k) {
      KernelView view;
      view.name = part->vectors[k].name;
      view.gradient = part->plan.gradient;
      view.vectorProgram = print(part->vectors[k]);
      if (k < part->codes.size()) {
        view.bytes = part->codes[k].bytes;
        view.entry = reinterpret_cast<const void*>(state_->code.entry(index++));
      }
      views.push_back(std::move(view));
    }
  }
  return views;
}

}  // namespace cubejit
