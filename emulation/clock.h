// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides when each unit instruction would run on the chip: pipes run side by side, each in order; an instruction waits for what it
// reads to be there and for what it overwrites to be used up. Parts of buffers are told apart by where they begin, so what a tiling
// doubles overlaps and what it does not waits. Rates are the machine's; see algorithms/cube/task_times.h for the two that are assumed.
#pragma once

#include <array>
#include <deque>
#include <string>
#include <vector>

#include "cubejit/core_counts.h"
#include "cubejit/machine.h"
#include "emulation/occupancy.h"

namespace cubejit {

class Clock {
 public:
  Clock() = default;
  Clock(const Machine& machine, DType operand);

  void keepEvents(bool keep) { keep_ = keep; }
  /// A new task: nothing is in the buffers, time is 0.
  void beginTask();
  // What the next instruction reads and fills of buffers, for its event; told before it.
  void reads(CoreBuffer buffer, ByteRange bytes) { read_.push_back({buffer, bytes, 0}); }
  void fills(CoreBuffer buffer, ByteRange bytes) { filled_ = {buffer, bytes, 0}; }
  // By unit; parts of buffers are named by where they begin.
  void load(const char* name, std::int64_t l1, std::int64_t bytes, CoreCounts& counts);
  void fill(const char* name, CoreBuffer l0, std::int64_t to, std::int64_t l1, std::int64_t bytes, CoreCounts& counts);
  /// Steps of the cube. `first`: sums begin at zero.
  void multiply(const char* name, std::int64_t l0a, std::int64_t l0b, std::int64_t l0c, std::int64_t steps, bool first,
                CoreCounts& counts);
  /// A block leaves L0C: `sums` of f32 read there, `results` elements written with `bytesOut`.
  void moveOut(std::int64_t l0c, std::int64_t sums, std::int64_t results, std::int64_t bytesOut, CoreCounts& counts);
  // The vector unit by single instructions, each on a part of UB.
  void loadUb(const char* name, std::int64_t ub, std::int64_t bytes, CoreCounts& counts);
  void compute(const char* name, std::int64_t from, std::int64_t to, std::int64_t bytes, CoreCounts& counts);
  void storeUb(const char* name, std::int64_t ub, std::int64_t bytes, CoreCounts& counts);
  /// When the last instruction ends.
  double now() const;
  const std::vector<TraceEvent>& events() const { return events_; }
  // While events are kept: what is in the buffers now, and who has read what nobody has filled since the task began.
  const Occupancy& occupancy() const { return occupancy_; }
  const std::vector<BufferPiece>& readBefore() const { return before_; }

 private:
  /// When something is so, and by which event, counted since the task began.
  struct Moment {
    double at = 0;
    std::int64_t event = -1;
  };
  struct Part {  ///< of a buffer
    std::int64_t offset = 0;
    Moment ready{}, released{};
  };
  static const Moment& later(const Moment& a, const Moment& b) { return b.at > a.at ? b : a; }
  // Who reads a part releases it.
  static void release(Part& part, const Moment& end) { part.released = later(part.released, end); }
  void keep(TraceEvent event);
  Part& part(CoreBuffer buffer, std::int64_t offset);
  Moment occupy(Pipe pipe, const char* name, const Moment& earliest, double cycles, std::int64_t bytes,
                CoreCounts& counts);

  PathRates rates_;
  double vectorBytes_ = 128, stepCycles_ = 1;
  bool fixpipe_ = true, keep_ = false;
  std::array<double, kPipes> free_{};
  std::array<std::deque<Part>, kCoreBuffers> parts_;  ///< whose elements stay where they are
  std::vector<TraceEvent> events_;
  Occupancy occupancy_;
  std::vector<BufferPiece> read_, before_;  ///< by the next instruction; of what was there
  BufferPiece filled_;
};

}  // namespace cubejit
