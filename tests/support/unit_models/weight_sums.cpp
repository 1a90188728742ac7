// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "tests/support/unit_models/weight_sums.h"

#include <new>
#include <string>

#include "tests/support/unit_models/move_out.h"

namespace cubejit {
namespace {

struct Offset {
  std::int64_t from = 0, to = 0;  ///< elements: in the sums, in dw
};

// What the vector pass means, element by element.
struct Finish {
  const float* sums;
  std::int64_t part, parts;  ///< floats of one part, and how many
  const GlobalView& dw;
  std::vector<Offset> outer, inner, tap;  ///< inner: of all groups, one after the other
  std::int64_t outerOfGroup, innerOfGroup;

  void run() const {
    const std::int64_t e = byteSize(dw.type);
    for (std::int64_t o = 0; o < static_cast<std::int64_t>(outer.size()); ++o) {
      const Offset row = outer[static_cast<std::size_t>(o)];
      const std::int64_t first = o / outerOfGroup * innerOfGroup;
      for (std::int64_t i = first; i < first + innerOfGroup; ++i) {
        const Offset column = inner[static_cast<std::size_t>(i)];
        const float* from = sums + row.from + column.from;
        std::byte* to = dw.data + (row.to + column.to) * e;
        for (const Offset& t : tap) {
          float sum = from[t.from];
          for (std::int64_t p = 1; p < parts; ++p) sum += from[p * part + t.from];
          storeElement(dw.type, to + t.to * e, sum);
        }
      }
    }
  }
};

}  // namespace

Result<WeightSums> WeightSums::create(const CubeJob& job, std::int64_t parts) {
  WeightSums s;
  s.problem_ = job.problem;
  Problem blocked = job.problem;
  blocked.formats[static_cast<std::size_t>(TensorId::kDw)] = TensorFormat{DType::kF32, Layout::kFractalZ3d, {}, 16};
  s.map_ = indexMap(blocked, TensorId::kDw);
  s.parts_ = parts;
  try {
    s.sums_.reset(new float[static_cast<std::size_t>(parts * s.map_.elements)]);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kLimitExceeded, Stage::kRun,
                 "no memory for " + std::to_string(parts) + " sums of dw, " + std::to_string(s.map_.elements * 4) +
                     " bytes each"};
  }
  return s;
}

GlobalView WeightSums::view(std::int64_t part) {
  return {reinterpret_cast<std::byte*>(sums_.get() + part * map_.elements), map_.elements * 4, DType::kF32, map_};
}

void WeightSums::finish(const GlobalView& dw) const {
  const Problem& p = problem_;
  Finish f{sums_.get(), map_.elements, parts_, dw, {}, {}, {}, 1, 1};
  const auto offsets = [&](std::size_t axis, std::vector<Offset>& out) {
    for (std::int64_t i = 0; i < map_.extent[axis]; ++i) out.push_back({map_.along(axis, i), dw.map.along(axis, i)});
  };
  offsets(0, f.outer);
  offsets(1, f.inner);
  f.outerOfGroup = map_.extent[0] / p.groups;
  f.innerOfGroup = map_.extent[1] / p.groups;
  for (std::int64_t d = 0; d < p.kernel.d; ++d) {
    for (std::int64_t h = 0; h < p.kernel.h; ++h) {
      for (std::int64_t w = 0; w < p.kernel.w; ++w)
        f.tap.push_back({map_.along(2, d) + map_.along(3, h) + map_.along(4, w),
                         dw.map.along(2, d) + dw.map.along(3, h) + dw.map.along(4, w)});
    }
  }
  f.run();
}

}  // namespace cubejit
