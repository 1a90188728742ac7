// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which instruction's bytes are in a core's buffers: a fill has its bytes until another one begins to overwrite any of them, from
// when on nobody reads the rest (task_sanitizer finds who would). Leaves when instructions run to clock.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "codegen/tile/touch.h"
#include "cubejit/core_counts.h"

namespace cubejit {

/// Bytes of a buffer; of a read, with when it ends.
struct BufferPiece {
  CoreBuffer buffer = CoreBuffer::kL1;
  ByteRange bytes;
  double at = 0;
};

class Occupancy {
 public:
  void clear() {
    for (auto& fills : fills_) fills.clear();
  }
  /// What `event` puts into a buffer takes the place of all that it overlaps.
  void fill(CoreBuffer buffer, ByteRange bytes, std::int64_t event) {
    auto& fills = fills_[static_cast<std::size_t>(buffer)];
    std::erase_if(fills, [&](const Fill& f) { return meet(f.bytes, bytes); });
    fills.push_back({bytes, event});
  }
  /// Calls visit(event) for each event whose bytes are among these; false if there is none.
  template <class Visit>
  bool eachFill(CoreBuffer buffer, ByteRange bytes, const Visit& visit) const {
    bool any = false;
    for (const Fill& f : fills_[static_cast<std::size_t>(buffer)]) {
      if (!meet(f.bytes, bytes)) continue;
      visit(f.event);
      any = true;
    }
    return any;
  }
  /// What fills `later`, whose events are counted from `from` on, takes the place of what it overlaps here.
  void fillAll(const Occupancy& later, std::int64_t from) {
    for (std::size_t b = 0; b < kCoreBuffers; ++b) {
      for (const Fill& f : later.fills_[b]) fill(static_cast<CoreBuffer>(b), f.bytes, from + f.event);
    }
  }

 private:
  struct Fill {
    ByteRange bytes;
    std::int64_t event = -1;
  };
  static bool meet(ByteRange a, ByteRange b) { return a.begin < b.end && b.begin < a.end; }

  std::array<std::vector<Fill>, kCoreBuffers> fills_;
};

}  // namespace cubejit
