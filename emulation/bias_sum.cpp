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

void runBiasTask(const BiasSum& job, const GlobalView& dy, const GlobalView& db, std::int64_t task, CoreMemory& memory,
                 CoreCounts& counts) {
  const Problem& p = job.problem;
  const std::int64_t first = task * job.c0, channels = std::min(job.c0, p.cout - first), e = byteSize(dy.type);
  const std::int64_t most = stripPixels(job.machine);
  std::byte* strip = memory.at(CoreBuffer::kUb);
  float sums[kMostChannels] = {};
  std::int64_t held = 0;
  Clock clock(job.machine, job.machine.npu.cubes.front().operand);
  const auto add = [&] {
    for (std::int64_t pixel = 0; pixel < held; ++pixel) {
      for (std::int64_t c = 0; c < channels; ++c)
        sums[c] += floatOf(readElement(elementOf(dy.type), reinterpret_cast<char*>(strip) + pixel * kRun + c * e, 0));
    }
    clock.vector("gm_to_ub, sum", held * kRun, 0, counts);
    held = 0;
  };
  for (std::int64_t n = 0; n < p.batch; ++n) {
    for (std::int64_t d = 0; d < p.out.d; ++d) {
      for (std::int64_t h = 0; h < p.out.h; ++h) {
        const std::int64_t row = dy.map.along(0, n) + dy.map.along(2, d) + dy.map.along(3, h);
        for (std::int64_t w = 0; w < p.out.w; ++w) {
          for (std::int64_t c = 0; c < channels; ++c)
            std::memcpy(strip + held * kRun + c * e,
                        dy.data + (row + dy.map.along(4, w) + dy.map.along(1, first + c)) * e,
                        static_cast<std::size_t>(e));
          if (++held == most) add();
        }
      }
    }
  }
  add();
  for (std::int64_t c = 0; c < channels; ++c)
    storeElement(db.type, db.data + db.map.along(1, first + c) * byteSize(db.type), sums[c]);
  clock.vector("ub_to_gm", 0, channels * byteSize(db.type), counts);
  std::int64_t& high = counts.highWater[static_cast<std::size_t>(CoreBuffer::kUb)];
  high = std::max(high, 2 * kRun * std::min(most, p.batch * p.out.volume()) + kSumBytes);
  ++counts.tasks;
  counts.cycles += clock.now();
}

}  // namespace cubejit
