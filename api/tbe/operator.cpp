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

// Blocks of channels a problem counts, and those the array has.
struct Blocks {
  std::int64_t wanted = 0, stored = 0;
  bool widened() const { return wanted != stored; }
};

Blocks blocksOf(const Tensor& t, std::int64_t channels) { return {(channels + kC0Size - 1) / kC0Size, t.shape[2]}; }

std::size_t widenedBytes(const Tensor& t, const Blocks& blocks) {
  if (!blocks.widened()) return 0;
  const std::size_t bytes =
      bytesOf(t) / static_cast<std::size_t>(blocks.stored) * static_cast<std::size_t>(blocks.wanted);
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

void widen(const Tensor& t, const Blocks& blocks, const void* from, std::byte* to) {
  const std::size_t blockBytes = static_cast<std::size_t>(t.shape[3] * t.shape[4] * t.shape[5]) * kHalf;
  const std::size_t have = blockBytes * static_cast<std::size_t>(blocks.stored);
  const std::size_t want = blockBytes * static_cast<std::size_t>(blocks.wanted);
  const auto* source = static_cast<const std::byte*>(from);
  for (std::int64_t image = 0; image < t.shape[0] * t.shape[1]; ++image) {
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

std::size_t Operator::xBytes() const { return bytesOf(result_.x); }
std::size_t Operator::outBackpropBytes() const { return bytesOf(result_.out_backprop); }
std::size_t Operator::resultBytes() const { return bytesOf(result_.tensor); }

std::size_t Operator::workspaceBytes(int threads) const {
  return widenedBytes(result_.x, blocksOf(result_.x, result_.problem.cin)) +
         widenedBytes(result_.out_backprop, blocksOf(result_.out_backprop, result_.problem.cout)) +
         executable_->workspaceBytes(threads);
}

Status Operator::run(const void* x, const void* outBackprop, void* result, void* workspace, std::size_t bytes,
                     int threads) const {
  const Blocks xBlocks = blocksOf(result_.x, result_.problem.cin);
  const Blocks dyBlocks = blocksOf(result_.out_backprop, result_.problem.cout);
  auto* scratch = static_cast<std::byte*>(workspace);
  const std::size_t xWide = widenedBytes(result_.x, xBlocks), dyWide = widenedBytes(result_.out_backprop, dyBlocks);
  if (xWide + dyWide > 0) {
    const std::size_t need = workspaceBytes(threads);
    if (bytes < need || scratch == nullptr)
      return invalidRun("workspace has " + std::to_string(scratch == nullptr ? 0 : bytes) + " bytes, " +
                        std::to_string(need) + " are needed");
    if (reinterpret_cast<std::uintptr_t>(scratch) % kAlign != 0) return invalidRun("workspace is not 64-byte aligned");
    if (x == nullptr || outBackprop == nullptr) return invalidRun("x and out_backprop must not be null");
  }
  if (xWide > 0) {
    widen(result_.x, xBlocks, x, scratch);
    x = scratch;
    scratch += xWide;
  }
  if (dyWide > 0) {
    widen(result_.out_backprop, dyBlocks, outBackprop, scratch);
    outBackprop = scratch;
    scratch += dyWide;
  }
  Tensors tensors;
  tensors.x = x;
  tensors.dy = outBackprop;
  tensors.dw = result;
  return executable_->run(tensors, scratch, bytes < xWide + dyWide ? 0 : bytes - xWide - dyWide, threads);
}

Result<Operator> build(Session& session, const ResTensor& result) {
  CUBEJIT_TRY(executable, session.compile(result.problem, {false, true, false}));
  return Operator(result, executable);
}

}  // namespace cubejit::tbe
