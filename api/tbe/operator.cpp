// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the DSL's arrays become the session's tensors: as they are, or, where a raw result's last real group reaches beyond
// the channels stored, copied with blocks of zeros behind.
#include "cubejit_tbe/operator.h"

#include <cstdint>
#include <cstring>

namespace cubejit::tbe {
namespace {

constexpr std::size_t kAlign = 64, kHalf = 2;

std::size_t bytesOf(const Tensor& t) {
  std::size_t bytes = t.dtype == "float32" ? 4 : kHalf;
  for (const std::int64_t extent : t.shape) bytes *= static_cast<std::size_t>(extent);
  return bytes;
}

// Blocks of channels of an activation: those a problem counts, and those the array has. (N, (D,) C1, H, W, C0): C1 is the fourth from
// behind.
struct Blocks {
  std::int64_t wanted = 0, stored = 0;
  bool widened() const { return wanted != stored; }
};

Blocks blocksOf(const Tensor& t, std::int64_t channels) {
  return {(channels + kC0Size - 1) / kC0Size, t.shape[t.shape.size() - 4]};
}

// Filters hold their real groups whole.
Blocks blocksOfFirst(const ResTensor& r) { return r.pass == Pass::kDw ? blocksOf(r.first, r.problem.cin) : Blocks{}; }

std::size_t widenedBytes(const Tensor& t, const Blocks& blocks) {
  if (!blocks.widened()) return 0;
  const std::size_t bytes =
      bytesOf(t) / static_cast<std::size_t>(blocks.stored) * static_cast<std::size_t>(blocks.wanted);
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

void widen(const Tensor& t, const Blocks& blocks, const void* from, std::byte* to) {
  const std::size_t axes = t.shape.size();
  const std::size_t blockBytes =
      static_cast<std::size_t>(t.shape[axes - 3] * t.shape[axes - 2] * t.shape[axes - 1]) * kHalf;
  const std::size_t have = blockBytes * static_cast<std::size_t>(blocks.stored);
  const std::size_t want = blockBytes * static_cast<std::size_t>(blocks.wanted);
  const auto* source = static_cast<const std::byte*>(from);
  for (std::size_t images = bytesOf(t) / have; images > 0; --images) {
    std::memcpy(to, source, have);
    std::memset(to + have, 0, want - have);
    source += have;
    to += want;
  }
}

Error invalidRun(const std::string& message) { return {ErrorCode::kInvalidProblem, Stage::kRun, message}; }

}  // namespace

Operator::Operator(ResTensor result, std::shared_ptr<const Executable> executable)
    : result_(std::move(result)), executable_(std::move(executable)) {}

std::size_t Operator::firstBytes() const { return bytesOf(result_.first); }
std::size_t Operator::outBackpropBytes() const { return bytesOf(result_.out_backprop); }
std::size_t Operator::resultBytes() const { return bytesOf(result_.tensor); }

std::size_t Operator::workspaceBytes(int threads) const {
  return widenedBytes(result_.first, blocksOfFirst(result_)) +
         widenedBytes(result_.out_backprop, blocksOf(result_.out_backprop, result_.problem.cout)) +
         executable_->workspaceBytes(threads);
}

Status Operator::run(const void* first, const void* outBackprop, void* result, void* workspace, std::size_t bytes,
                     int threads) const {
  const Blocks firstBlocks = blocksOfFirst(result_);
  const Blocks dyBlocks = blocksOf(result_.out_backprop, result_.problem.cout);
  auto* scratch = static_cast<std::byte*>(workspace);
  const std::size_t firstWide = widenedBytes(result_.first, firstBlocks),
                    dyWide = widenedBytes(result_.out_backprop, dyBlocks);
  if (firstWide + dyWide > 0) {
    const std::size_t need = workspaceBytes(threads);
    if (bytes < need || scratch == nullptr)
      return invalidRun("workspace has " + std::to_string(scratch == nullptr ? 0 : bytes) + " bytes, " +
                        std::to_string(need) + " are needed");
    if (reinterpret_cast<std::uintptr_t>(scratch) % kAlign != 0) return invalidRun("workspace is not 64-byte aligned");
    if (first == nullptr || outBackprop == nullptr)
      return invalidRun(result_.first.name + " and " + result_.out_backprop.name + " must not be null");
  }
  if (firstWide > 0) {
    widen(result_.first, firstBlocks, first, scratch);
    first = scratch;
    scratch += firstWide;
  }
  if (dyWide > 0) {
    widen(result_.out_backprop, dyBlocks, outBackprop, scratch);
    outBackprop = scratch;
    scratch += dyWide;
  }
  const bool ofFilter = result_.pass == Pass::kDw;
  Tensors tensors;
  tensors.dy = outBackprop;
  (ofFilter ? tensors.x : tensors.w) = first;
  (ofFilter ? tensors.dw : tensors.dx) = result;
  const std::size_t used = firstWide + dyWide;
  return executable_->run(tensors, scratch, bytes < used ? 0 : bytes - used, threads);
}

Result<Operator> build(Session& session, const ResTensor& result) {
  const bool ofFilter = result.pass == Pass::kDw;
  CUBEJIT_TRY(executable, session.compile(result.problem, {!ofFilter, ofFilter, false}));
  return Operator(result, executable);
}

}  // namespace cubejit::tbe
