// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "runtime/weight_sums.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <string>

#include "emulation/cast_shape.h"
#include "emulation/move_out.h"
#include "runtime/threads.h"
#include "tiling/rounding.h"

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
  std::atomic<std::int64_t> next{0};

  void work() {
    const std::int64_t e = byteSize(dw.type);
    for (std::int64_t o = next++; o < static_cast<std::int64_t>(outer.size()); o = next++) {
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

// The parts added to the first, run by run.
struct AddParts {
  const UnitCode& code;
  float* sums;
  std::int64_t part, parts;
  std::atomic<std::int64_t> next{0};

  void work() {
    constexpr std::int64_t kPiece = 1 << 14;  // of whole fractals: stays in a cache for all parts
    constexpr std::int64_t kRows = 16 * 16;
    for (std::int64_t at = kPiece * next++; at < part; at = kPiece * next++) {
      const std::int64_t count = std::min(kPiece, part - at) / kRows;
      for (std::int64_t p = 1; p < parts; ++p)
        code.call(UnitKernel::kAddRows, movedBy(sums + p * part + at, sums + at, count, kRows * 4, kRows * 4));
    }
  }
};

// The first part to dw: strips of outer channels by the inner ones that follow each other in the sums, all taps of a depth at once or
// tap by tap.
struct CastSums {
  const UnitCode& code;
  const Finish& f;
  std::int64_t tapsOfDepth;
  const KernelSet* turned = nullptr;  ///< for channels whose taps are neighbours in dw
  std::int64_t channelStep = 0;       ///< elements of dw between those
  std::atomic<std::int64_t> next{0};

  CastSums(const UnitCode& units, const Finish& finish, std::int64_t taps) : code(units), f(finish), tapsOfDepth(taps) {
    const auto steps = [](const Offset& a, const Offset& b) { return Offset{b.from - a.from, b.to - a.to}; };
    if (taps < 2 || taps > kMostTurnedTaps || f.innerOfGroup < 2 || code.casts == nullptr) return;
    const Offset tap = steps(f.tap[0], f.tap[1]), channel = steps(f.inner[0], f.inner[1]);
    for (std::int64_t t = 1; t < static_cast<std::int64_t>(f.tap.size()); ++t) {
      const Offset step = steps(at(f.tap, t - 1), at(f.tap, t));
      if (t % taps != 0 && (step.from != tap.from || step.to != 1)) return;
    }
    const std::int64_t e = byteSize(f.dw.type);
    if (channel.to < taps) return;
    channelStep = channel.to;
    turned = code.casts(code.user, {taps, channels(), tap.from * 4, channel.to * e, f.dw.type});
  }

  void work() {
    constexpr std::int64_t kRows = 64;
    const auto outers = static_cast<std::int64_t>(f.outer.size());
    const std::int64_t ofGroup = (f.outerOfGroup + kRows - 1) / kRows, pieces = outers / f.outerOfGroup * ofGroup;
    for (std::int64_t piece = next++; piece < pieces; piece = next++) {
      const std::int64_t group = piece / ofGroup, begin = group * f.outerOfGroup + piece % ofGroup * kRows;
      rows(begin, std::min(begin + kRows, (group + 1) * f.outerOfGroup), group * f.innerOfGroup);
    }
  }

 private:
  std::int64_t channels() const { return 32 / byteSize(code.operand); }
  static const Offset& at(const std::vector<Offset>& v, std::int64_t i) { return v[static_cast<std::size_t>(i)]; }
  // The end of the entries that follow each other `step` apart in the sums, `most` at most.
  static std::int64_t together(const std::vector<Offset>& v, std::int64_t begin, std::int64_t end, std::int64_t step) {
    std::int64_t i = begin + 1;
    while (i < end && at(v, i).from - at(v, i - 1).from == step) ++i;
    return i;
  }
  bool turns(const BlockPlaces& places) const {
    const auto even = [](const std::vector<std::int64_t>& v, std::int64_t step) {
      for (std::size_t i = 1; i < v.size(); ++i) {
        if (v[i] - v[i - 1] != step) return false;
      }
      return true;
    };
    return turned != nullptr && static_cast<std::int64_t>(places.column.size()) == channels() &&
           even(places.column, channelStep) &&
           (places.row.size() < 2 || even(places.row, places.row[1] - places.row[0]));
  }
  void turn(const float* from, std::int64_t pitch, const BlockPlaces& places) const {
    const std::int64_t e = byteSize(f.dw.type), step = places.row.size() < 2 ? 0 : places.row[1] - places.row[0];
    for (std::size_t t = 0; t < f.tap.size(); t += static_cast<std::size_t>(tapsOfDepth))
      turned->call(0, movedBy(from + f.tap[t].from, f.dw.data + (places.row[0] + places.column[0] + f.tap[t].to) * e,
                              static_cast<std::int64_t>(places.row.size()), pitch * 4, step * e));
  }
  void rows(std::int64_t begin, std::int64_t end, std::int64_t firstInner) const {
    const std::int64_t c0 = channels(), e = byteSize(f.dw.type);
    BlockPlaces places;
    for (std::int64_t row = begin; row < end;) {
      const std::int64_t pitch = row + 1 < end ? at(f.outer, row + 1).from - at(f.outer, row).from : c0;
      const std::int64_t rowEnd = together(f.outer, row, end, pitch);
      places.row.clear();
      for (std::int64_t r = row; r < rowEnd; ++r) places.row.push_back(at(f.outer, r).to);
      for (std::int64_t i = firstInner; i < firstInner + f.innerOfGroup;) {
        const std::int64_t iEnd = together(f.inner, i, std::min(i + c0, firstInner + f.innerOfGroup), 1);
        places.column.clear();
        for (std::int64_t c = i; c < iEnd; ++c) places.column.push_back(at(f.inner, c).to);
        const float* from = f.sums + at(f.outer, row).from + at(f.inner, i).from;
        if (turns(places)) {
          turn(from, pitch, places);
          i = iEnd;
          continue;
        }
        for (const Offset& t : f.tap)
          moveStrip(code, {from + t.from, pitch, 0, rowEnd - row, 0, iEnd - i, false},
                    {f.dw.data + t.to * e, f.dw.type}, places);
        i = iEnd;
      }
      row = rowEnd;
    }
  }
};

template <class Job>
void runOn(const ParallelFor& parallelFor, int slots, Job& job) {
  runSlots(parallelFor, false, slots, [](void* context, int) { static_cast<Job*>(context)->work(); }, &job);
}

// FRACTAL_Z_3D of one group, cut after so many rows: [rows / most][D, C1, H, W][most][C0]. What a base block adds to is then a piece of
// memory, where rows of all M apart are many, and all in the same sets of a cache.
void cutRows(IndexMap& map, std::int64_t most) {
  auto& [inner, outer, group] = map.digits[0];
  const std::int64_t all = inner.extent * outer.extent, rows = roundUp(most, inner.extent);
  if (most < 1 || inner.unit != 1 || outer.unit != inner.extent || map.extent[0] > all || group.extent > 1 ||
      rows >= all || outer.stride != inner.stride * inner.extent)
    return;
  const std::int64_t whole = inner.stride * all, kept = inner.stride * rows, cuts = ceilDiv(all, rows);
  for (std::size_t axis = 1; axis < map.digits.size(); ++axis) {
    for (Digit& d : map.digits[axis]) {
      if (d.stride >= whole) d.stride = d.stride / whole * kept;
    }
  }
  inner.extent = rows;
  outer = {rows, cuts, map.elements / whole * kept};
  map.elements = outer.stride * cuts;
}

}  // namespace

Result<WeightSums> WeightSums::create(const CubeJob& job, std::int64_t parts) {
  WeightSums s;
  s.problem_ = job.problem;
  TensorFormat format;
  format.dtype = DType::kF32;
  format.layout = Layout::kFractalZ3d;
  format.c0 = job.work.c0;
  Problem blocked = job.problem;
  auto& dw = blocked.formats[static_cast<std::size_t>(TensorId::kDw)];
  dw = format;
  s.chipBytes_ = indexMap(blocked, TensorId::kDw).elements * 4;
  format.c0 = 16;
  dw = format;
  s.map_ = indexMap(blocked, TensorId::kDw);
  cutRows(s.map_, job.plan.cube().tile.base.m);
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

void WeightSums::finish(const GlobalView& dw, const UnitCode* code, const ParallelFor& parallelFor, int slots) {
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
  if (code == nullptr) return runOn(parallelFor, slots, f);
  if (parts_ > 1) {
    AddParts add{*code, sums_.get(), map_.elements, parts_};
    runOn(parallelFor, slots, add);
  }
  CastSums cast(*code, f, p.kernel.h * p.kernel.w);
  runOn(parallelFor, slots, cast);
}

}  // namespace cubejit
