// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides kernels of a weight gradient of the spatial algorithm (see the header). Sections are kinds of row blocks by kinds of vectors.
#include "algorithms/spatial/lower/weight_sections.h"

#include <algorithm>
#include <map>

namespace cubejit {
namespace {

constexpr LaneRange kNone{0, -1};

template <class T>
std::int64_t indexIn(std::vector<T>& known, T value) {
  auto at = std::find(known.begin(), known.end(), value);
  if (at == known.end()) at = known.insert(known.end(), std::move(value));
  return at - known.begin();
}

}  // namespace

SpatialWeightsSections::SpatialWeightsSections(const ConvView& view, const PixelBlocks& blocks, const Dhw& tapBytes,
                                               const TapTile& taps, std::int64_t rows, int lanes)
    : v_(view), pixels_(blocks), tapBytes_(tapBytes), taps_(taps), lanes_(lanes) {
  for (int cls = 0; cls < blocks.classes; ++cls) places_.push_back(placesOf(blocks.ofClass(cls), rows));
}

SpatialWeightsSections::Places SpatialWeightsSections::placesOf(const PixelBlock& block, std::int64_t rows) {
  Places places;
  for (std::int64_t first = 0; first < block.h.length(); first += rows) {
    Rows together{std::min(rows, block.h.length() - first), {}};
    for (std::int64_t r = 0; r < together.count; ++r) {
      for (std::int64_t k = taps_.h.lo; k < taps_.h.hi; ++k) {
        const std::int64_t at = (block.h.lo + first + r) * v_.stride.h + k * v_.dilation.h - v_.pad.h;
        if (at >= 0 && at < v_.big.extent.h) together.inside.emplace_back(r, k);
      }
    }
    if (together.inside.empty()) continue;
    places.blocks.push_back(RowBlock{first, indexIn(rows_, std::move(together))});
  }
  for (std::int64_t first = 0; first < block.w.length(); first += lanes_) {
    Columns columns = columnsAt(block.w, first);
    if (std::all_of(columns.taps.begin(), columns.taps.end(), [](const LaneRange& r) { return r == kNone; })) continue;
    const bool whole = columns.small.all() && std::all_of(columns.taps.begin(), columns.taps.end(),
                                                          [](const LaneRange& r) { return r.all(); });
    const std::int64_t index = indexIn(columns_, std::move(columns));
    std::vector<Run>& runs = places.runs;
    if (whole) {  // so are those behind it until the last tap leaves the row
      const std::int64_t last = block.w.lo + first + (taps_.w.hi - 1) * v_.dilation.w - v_.pad.w;
      const std::int64_t count = std::min(block.w.length() - first, v_.big.extent.w - last) / lanes_;
      runs.push_back(Run{index, first, count});
      first += (count - 1) * lanes_;
      continue;
    }
    if (!runs.empty() && runs.back().columns == index && runs.back().first + runs.back().count * lanes_ == first)
      ++runs.back().count;
    else
      runs.push_back(Run{index, first, 1});
  }
  return places;
}

SpatialWeightsSections::Columns SpatialWeightsSections::columnsAt(const Range& own, std::int64_t first) const {
  Columns columns;
  const std::int64_t count = std::min<std::int64_t>(lanes_, own.length() - first);
  columns.small = lanesUpTo(count, lanes_);
  for (std::int64_t k = taps_.w.lo; k < taps_.w.hi; ++k) {
    const std::int64_t at = own.lo + first + k * v_.dilation.w - v_.pad.w;
    const std::int64_t lo = std::clamp<std::int64_t>(-at, 0, count),
                       hi = std::clamp<std::int64_t>(v_.big.extent.w - at, 0, count);
    columns.taps.push_back(lo >= hi ? kNone
                           : lo == 0 && hi == lanes_
                               ? LaneRange{}
                               : LaneRange{static_cast<std::int16_t>(lo), static_cast<std::int16_t>(hi)});
  }
  return columns;
}

Step SpatialWeightsSections::stepOf(const Rows& rows, const Columns& columns) const {
  Step step;
  for (std::int64_t r = 0; r < rows.count; ++r)
    step.b.push_back(VectorLoad{static_cast<std::int32_t>(r * v_.small.hStride), columns.small});
  std::map<std::int64_t, std::vector<Pair>> byRow;  // of the big tensor
  for (const auto& [r, k] : rows.inside)
    byRow[r * v_.stride.h + (k - taps_.h.lo) * v_.dilation.h].emplace_back(r, k - taps_.h.lo);
  for (const auto& [row, pairs] : byRow) {
    for (std::int64_t k = 0; k < taps_.w.length(); ++k) {
      AOperand operand;
      operand.kind = AKind::kVector;
      operand.lanes = operand.useLanes = columns.taps[static_cast<std::size_t>(k)];
      if (operand.lanes == kNone) continue;
      operand.offset = static_cast<std::int32_t>(row * v_.big.hStride + k * v_.dilation.w * bytesOf(v_.big));
      for (const auto& [r, tap] : pairs) {
        operand.uses.push_back(
            Use{static_cast<std::int16_t>(tap * taps_.w.length() + k), static_cast<std::int16_t>(r)});
      }
      step.a.push_back(std::move(operand));
    }
  }
  return step;
}

Contract SpatialWeightsSections::contract() const {
  Contract contract;
  contract.lanes = lanes_;
  contract.vectorsA = elementOf(v_.big.dtype);
  contract.vectorsB = elementOf(v_.small.dtype);
  contract.addsToC = true;
  contract.label = "dw_spatial_" + std::to_string(taps_.h.length()) + "x" + std::to_string(taps_.w.length());
  for (std::int64_t h = 0; h < taps_.h.length(); ++h) {
    for (std::int64_t w = 0; w < taps_.w.length(); ++w)
      contract.accumulators.push_back(
          Accumulator{static_cast<std::int32_t>((h * tapBytes_.h + w * tapBytes_.w) * lanes_), LaneRange{}});
  }
  for (const Rows& rows : rows_) {
    for (const Columns& columns : columns_) {
      Section section;
      section.aOuterStep = lanes_ * bytesOf(v_.big);
      section.bOuterStep = lanes_ * bytesOf(v_.small);
      section.steps.push_back(stepOf(rows, columns));
      contract.sections.push_back(std::move(section));
    }
  }
  if (contract.sections.empty()) contract.sections.push_back(Section{{Step{}}, 0, 0});  // nothing but zeros to store
  return contract;
}

SegmentList SpatialWeightsSections::segments(int cls, std::int64_t kd) const {
  const PixelBlock& own = pixels_.ofClass(cls);
  const Places& places = places_[static_cast<std::size_t>(cls)];
  SegmentList list(std::max<std::size_t>(1, rows_.size() * columns_.size()));
  const Range depths = usedPixels(v_, 0, own, kd);
  const auto addPlane = [&](std::int64_t bigPlane, std::int64_t smallPlane) {
    for (const RowBlock& block : places.blocks) {
      for (const Run& run : places.runs) {
        const std::int64_t big = bigPlane + (block.first * v_.stride.h + taps_.h.lo * v_.dilation.h) * v_.big.hStride +
                                 (run.first + taps_.w.lo * v_.dilation.w) * bytesOf(v_.big);
        const std::int64_t small = smallPlane + block.first * v_.small.hStride + run.first * bytesOf(v_.small);
        const auto section =
            static_cast<std::size_t>(block.rows) * columns_.size() + static_cast<std::size_t>(run.columns);
        list[section].push_back(Segment{big, small, run.count});
      }
    }
  };
  for (std::int64_t n = 0; n < own.n.length(); ++n) {
    for (std::int64_t d = depths.lo; d < depths.hi; ++d) {
      addPlane(n * v_.big.nStride + (d * v_.stride.d + kd * v_.dilation.d) * v_.big.dStride,
               n * v_.small.nStride + d * v_.small.dStride);
    }
  }
  return list;
}

}  // namespace cubejit
