// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the cycles of each instruction and what it waits for.
#include "emulation/clock.h"

#include <algorithm>
#include <cmath>

#include "algorithms/cube/task_times.h"

namespace cubejit {
namespace {

double real(std::int64_t v) { return static_cast<double>(v); }
double over(double bytes, double rate) { return rate > 0 ? bytes / rate : 0; }

}  // namespace

Clock::Clock(const Machine& machine, DType operand)
    : rates_(machine.npu.paths), vectorBytes_(real(machine.npu.vectorBytes)), fixpipe_(machine.npu.fixpipe) {
  const MatrixProduct* step = machine.npu.cube.product(operand);
  stepCycles_ = step == nullptr ? 1 : step->cycles;
  beginTask();
}

void Clock::beginTask() {
  free_.fill(kFirstByteCycles);
  for (auto& parts : parts_) parts.clear();
  events_.clear();
  occupancy_.clear();
  before_.clear();
}

Clock::Part& Clock::part(CoreBuffer buffer, std::int64_t offset) {
  auto& parts = parts_[static_cast<std::size_t>(buffer)];
  for (Part& p : parts) {
    if (p.offset == offset) return p;
  }
  parts.push_back(Part{offset});
  return parts.back();
}

Clock::Moment Clock::occupy(Pipe pipe, const char* name, const Moment& earliest, double cycles, std::int64_t bytes,
                            CoreCounts& counts) {
  double& free = free_[static_cast<std::size_t>(pipe)];
  cycles = std::ceil(cycles);  // whole cycles: sums of them do not depend on their order
  const bool waits = earliest.at > free;
  const double start = std::max(free, earliest.at);
  free = start + cycles;
  counts.busy[static_cast<std::size_t>(pipe)] += cycles;
  ++counts.instructions;
  const auto self = std::ssize(events_);
  if (keep_) {
    TraceEvent event{0, pipe, name, start, free, bytes};
    event.back = waits && earliest.event >= 0 ? static_cast<std::int32_t>(self - earliest.event) : 0;
    keep(event);
  }
  read_.clear();
  filled_ = {};
  return {free, self};
}

void Clock::keep(TraceEvent event) {
  for (const BufferPiece& read : read_) {
    const bool filled = occupancy_.eachFill(read.buffer, read.bytes, [&](std::int64_t filledBy) {
      double& until = events_[static_cast<std::size_t>(filledBy)].until;
      until = std::max(until, event.end);
    });
    if (!filled) before_.push_back({read.buffer, read.bytes, event.end});
  }
  event.buffer = filled_.buffer;
  event.held = filled_.bytes.end - filled_.bytes.begin;
  event.until = event.end;
  if (event.held > 0) occupancy_.fill(filled_.buffer, filled_.bytes, std::ssize(events_));
  events_.push_back(event);
}

void Clock::load(const char* name, std::int64_t l1, std::int64_t bytes, CoreCounts& counts) {
  Part& to = part(CoreBuffer::kL1, l1);
  counts.bytes[static_cast<std::size_t>(Path::kGmToL1)] += bytes;
  to.ready = occupy(Pipe::kGmToL1, name, to.released, over(real(bytes), rates_.l2Read), bytes, counts);
}

void Clock::fill(const char* name, CoreBuffer l0, std::int64_t to, std::int64_t l1, std::int64_t bytes,
                 CoreCounts& counts) {
  const bool a = l0 == CoreBuffer::kL0a;
  Part& into = part(l0, to);
  Part& from = part(CoreBuffer::kL1, l1);
  counts.bytes[static_cast<std::size_t>(a ? Path::kL1ToL0a : Path::kL1ToL0b)] += bytes;
  const double cycles = over(real(bytes), a ? rates_.l1ToL0a : rates_.l1ToL0b) + kIssueCycles;
  into.ready = occupy(Pipe::kL1ToL0, name, later(from.ready, into.released), cycles, bytes, counts);
  release(from, into.ready);
}

void Clock::multiply(const char* name, std::int64_t l0a, std::int64_t l0b, std::int64_t l0c, std::int64_t steps,
                     bool first, CoreCounts& counts) {
  Part &a = part(CoreBuffer::kL0a, l0a), &b = part(CoreBuffer::kL0b, l0b), &sums = part(CoreBuffer::kL0c, l0c);
  counts.cubeSteps += steps;
  const Moment& earliest = later(later(a.ready, b.ready), first ? sums.released : sums.ready);
  sums.ready = occupy(Pipe::kCube, name, earliest, real(steps) * stepCycles_ + kIssueCycles, steps, counts);
  release(a, sums.ready);
  release(b, sums.ready);
}

void Clock::moveOut(std::int64_t l0c, std::int64_t sums, std::int64_t results, std::int64_t bytesOut,
                    CoreCounts& counts) {
  Part& from = part(CoreBuffer::kL0c, l0c);
  const double read = over(real(sums) * 4, rates_.l0cToUb);
  if (fixpipe_) {
    counts.bytes[static_cast<std::size_t>(Path::kL0cToGm)] += bytesOut;
    const double cycles = std::max(read, over(real(bytesOut), rates_.l2Write));
    release(from, occupy(Pipe::kOut, "fixpipe", from.ready, cycles, bytesOut, counts));
    return;
  }
  // Strips of results go to UB, are converted there, and leave: three steps that overlap.
  counts.bytes[static_cast<std::size_t>(Path::kL0cToUb)] += sums * 4;
  counts.bytes[static_cast<std::size_t>(Path::kUbToGm)] += bytesOut;
  const double cycles = std::max(
      {read, over(real(results) * 4, vectorBytes_), over(real(bytesOut), std::min(rates_.ubToL2, rates_.l2Write))});
  release(from, occupy(Pipe::kOut, "l0c_to_ub, convert, ub_to_gm", from.ready, cycles, bytesOut, counts));
}

void Clock::loadUb(const char* name, std::int64_t ub, std::int64_t bytes, CoreCounts& counts) {
  Part& to = part(CoreBuffer::kUb, ub);
  counts.bytes[static_cast<std::size_t>(Path::kGmToUb)] += bytes;
  to.ready = occupy(Pipe::kGmToL1, name, to.released, over(real(bytes), rates_.l2Read), bytes, counts);
}

void Clock::compute(const char* name, std::int64_t from, std::int64_t to, std::int64_t bytes, CoreCounts& counts) {
  Part& result = part(CoreBuffer::kUb, to);
  Part* source = from < 0 ? nullptr : &part(CoreBuffer::kUb, from);
  const Moment& earliest = source == nullptr ? result.released : later(source->ready, result.released);
  result.ready = occupy(Pipe::kVector, name, earliest, over(real(bytes), vectorBytes_), bytes, counts);
  if (source != nullptr) release(*source, result.ready);
}

void Clock::storeUb(const char* name, std::int64_t ub, std::int64_t bytes, CoreCounts& counts) {
  Part& from = part(CoreBuffer::kUb, ub);
  counts.bytes[static_cast<std::size_t>(Path::kUbToGm)] += bytes;
  release(from, occupy(Pipe::kOut, name, from.ready, over(real(bytes), std::min(rates_.ubToL2, rates_.l2Write)), bytes,
                       counts));
}

double Clock::now() const { return *std::max_element(free_.begin(), free_.end()); }

}  // namespace cubejit
