// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides strips: half of UB holds pixels of dy as they are in memory, the sums lie behind them.
#include "emulation/bias_sum.h"

#include <algorithm>
#include <cstring>

#include "codegen/tile/element.h"
#include "emulation/clock.h"
#include "emulation/move_out.h"
#include "tiling/npu/task_times.h"

namespace cubejit {
namespace {

constexpr std::int64_t kRun = 32, kMostChannels = 16;
constexpr std::int64_t kSumBytes = kMostChannels * 4;

std::int64_t stripPixels(const Machine& m) { return (m.buffers.ubBytes - kSumBytes) / (2 * kRun); }

}  // namespace

Result<BiasSum> makeBiasSum(const Problem& problem, const Machine& machine) {
  if (!machine.isNpu())
    return Error{ErrorCode::kUnsupported, Stage::kPlan, machine.name + " has no cube; run on it with a Session"};
  if (stripPixels(machine) < 1)
    return Error{ErrorCode::kNoFeasiblePlan, Stage::kPlan,
                 "UB needs " + std::to_string(kSumBytes + 2 * kRun) + " bytes for a strip of dy, " + machine.name +
                     " has " + std::to_string(machine.buffers.ubBytes) + "; raise ub_bytes"};
  return BiasSum{problem, machine, kRun / byteSize(formatOf(problem, TensorId::kDy).dtype)};
}

namespace {

// A strip of one channel block's pixels in UB, and their sums.
class Strip {
 public:
  Strip(const BiasSum& job, const GlobalView& dy, std::int64_t task, CoreMemory& memory, const UnitCode* code)
      : dy_(dy),
        code_(code),
        c0_(job.c0),
        first_(task * job.c0),
        channels_(std::min(job.c0, job.problem.cout - first_)),
        e_(byteSize(dy.type)),
        most_(stripPixels(job.machine)),
        at_(memory.at(CoreBuffer::kUb)) {}

  std::int64_t held() const { return held_; }
  std::int64_t channels() const { return channels_; }
  const float* sums() const { return sums_; }

  /// As many of `count` pixels as there is room for: pixel 0 of channel 0 at `place`, the others `pitch` elements apart.
  std::int64_t load(std::int64_t place, std::int64_t count, std::int64_t pitch) {
    count = std::min(count, most_ - held_);
    for (std::int64_t c = 0; c < channels_; ++c) {
      const std::byte* from = dy_.data + (place + dy_.map.along(1, first_ + c)) * e_;
      std::byte* to = at_ + held_ * kRun + c * e_;
      if (code_ != nullptr) {
        code_->call(UnitKernel::kElements, movedBy(from, to, count, pitch * e_, kRun));
        continue;
      }
      for (std::int64_t i = 0; i < count; ++i)
        std::memcpy(to + i * kRun, from + i * pitch * e_, static_cast<std::size_t>(e_));
    }
    held_ += count;
    return count;
  }

  /// Adds the pixels held, one after the other.
  void add() {
    for (std::int64_t pixel = 0; pixel < held_; pixel += kAtOnce) {
      const std::int64_t count = std::min(kAtOnce, held_ - pixel);
      if (code_ != nullptr) {
        alignas(64) float wide[kAtOnce * kMostChannels];
        code_->call(UnitKernel::kWidenRuns, movedBy(at_ + pixel * kRun, wide, count, kRun, c0_ * 4));
        code_->call(c0_ == 8 ? UnitKernel::kAddRun : UnitKernel::kAdd, movedBy(wide, sums_, count, c0_ * 4, 0));
        continue;
      }
      for (std::int64_t i = pixel; i < pixel + count; ++i) {
        for (std::int64_t c = 0; c < channels_; ++c)
          sums_[c] += floatOf(readElement(elementOf(dy_.type), reinterpret_cast<char*>(at_) + i * kRun + c * e_, 0));
      }
    }
    held_ = 0;
  }

 private:
  static constexpr std::int64_t kAtOnce = 64;
  const GlobalView& dy_;
  const UnitCode* code_;
  std::int64_t c0_, first_, channels_, e_, most_, held_ = 0;
  std::byte* at_;
  alignas(64) float sums_[kMostChannels] = {};
};

// The distance of pixels along a row; 0 if it differs.
std::int64_t columnPitch(const IndexMap& map, std::int64_t width) {
  const std::int64_t pitch = width > 1 ? map.along(4, 1) - map.along(4, 0) : 1;
  for (std::int64_t w = 2; w < width; ++w) {
    if (map.along(4, w) - map.along(4, w - 1) != pitch) return 0;
  }
  return pitch;
}

}  // namespace

void runBiasTask(const BiasSum& job, const GlobalView& dy, const GlobalView& db, std::int64_t task, CoreMemory& memory,
                 CoreCounts& counts, const UnitCode* code) {
  const Problem& p = job.problem;
  const std::int64_t most = stripPixels(job.machine), pitch = columnPitch(dy.map, p.out.w);
  Strip strip(job, dy, task, memory, code);
  Clock clock(job.machine, job.machine.npu.cubes.front().operand);
  const auto add = [&] {
    clock.vector("gm_to_ub, sum", strip.held() * kRun, 0, counts);
    strip.add();
  };
  for (std::int64_t n = 0; n < p.batch; ++n) {
    for (std::int64_t d = 0; d < p.out.d; ++d) {
      for (std::int64_t h = 0; h < p.out.h; ++h) {
        const std::int64_t row = dy.map.along(0, n) + dy.map.along(2, d) + dy.map.along(3, h);
        for (std::int64_t w = 0; w < p.out.w;) {
          w += strip.load(row + dy.map.along(4, w), pitch == 0 ? 1 : p.out.w - w, pitch);
          if (strip.held() == most) add();
        }
      }
    }
  }
  add();
  const std::int64_t first = db.map.along(1, task * job.c0);
  const std::int64_t step = strip.channels() > 1 ? db.map.along(1, task * job.c0 + 1) - first : 1;
  OutMemory to{db.data + first * byteSize(db.type), db.type};
  if (code != nullptr) moveRow(*code, strip.sums(), strip.channels(), to, step);
  for (std::int64_t c = 0; code == nullptr && c < strip.channels(); ++c)
    storeElement(db.type, to.data + c * step * byteSize(db.type), strip.sums()[c]);
  clock.vector("ub_to_gm", 0, strip.channels() * byteSize(db.type), counts);
  std::int64_t& high = counts.highWater[static_cast<std::size_t>(CoreBuffer::kUb)];
  high = std::max(high, 2 * kRun * std::min(most, p.batch * p.out.volume()) + kSumBytes);
  ++counts.tasks;
  counts.cycles += clock.now();
}

}  // namespace cubejit
