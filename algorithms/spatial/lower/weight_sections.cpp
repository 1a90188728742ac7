// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides kernels of a weight gradient of the spatial algorithm (see the header). Sections are kinds of row blocks by kinds of vectors.
#include "algorithms/spatial/lower/weight_sections.h"

#include <algorithm>
#include <map>

#include "algorithms/kit/lower/pixel_blocks.h"

namespace cubejit {
namespace {

constexpr LaneRange kNone{0, -1};

}  // namespace

SpatialWeightsSections::SpatialWeightsSections(const ConvView& view, const TapTile& taps, std::int64_t rows, int lanes)
    : v_(view), taps_(taps), lanes_(lanes) {
  for (std::int64_t first = 0; first < v_.small.extent.h; first += rows) {
    Rows block{std::min(rows, v_.small.extent.h - first), {}};
    for (std::int64_t r = 0; r < block.count; ++r) {
      for (std::int64_t k = taps.h.lo; k < taps.h.hi; ++k) {
        const std::int64_t at = (first + r) * v_.stride.h + k * v_.dilation.h - v_.pad.h;
        if (at >= 0 && at < v_.big.extent.h) block.inside.emplace_back(r, k);
      }
    }
    if (block.inside.empty()) continue;
    auto known = std::find(rows_.begin(), rows_.end(), block);
    if (known == rows_.end()) known = rows_.insert(rows_.end(), std::move(block));
    blocks_.push_back(RowBlock{first, known - rows_.begin()});
  }
  for (std::int64_t first = 0; first < v_.small.extent.w; first += lanes) {
    Columns columns = columnsAt(first);
    if (std::all_of(columns.taps.begin(), columns.taps.end(), [](const LaneRange& r) { return r == kNone; })) continue;
    if (!runs_.empty() && runs_.back().columns == columns && runs_.back().first + runs_.back().count * lanes == first)
      ++runs_.back().count;
    else
      runs_.push_back(Run{std::move(columns), first, 1});
  }
}

SpatialWeightsSections::Columns SpatialWeightsSections::columnsAt(std::int64_t first) const {
  Columns columns;
  const std::int64_t count = std::min<std::int64_t>(lanes_, v_.small.extent.w - first);
  columns.small = lanesUpTo(count, lanes_);
  for (std::int64_t k = taps_.w.lo; k < taps_.w.hi; ++k) {
    const std::int64_t at = first + k * v_.dilation.w - v_.pad.w;
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
  contract.label = "dw_spatial_" + std::to_string(taps_.h.length()) + "x" + std::to_string(taps_.w.length());
  for (std::int64_t h = 0; h < taps_.h.length(); ++h) {
    for (std::int64_t w = 0; w < taps_.w.length(); ++w)
      contract.accumulators.push_back(
          Accumulator{static_cast<std::int32_t>((h * v_.kernel.w + w) * lanes_ * 4), LaneRange{}});
  }
  for (const Rows& rows : rows_) {
    for (const Run& run : runs_) {
      Section section;
      section.aOuterStep = lanes_ * bytesOf(v_.big);
      section.bOuterStep = lanes_ * bytesOf(v_.small);
      section.steps.push_back(stepOf(rows, run.columns));
      contract.sections.push_back(std::move(section));
    }
  }
  if (contract.sections.empty()) contract.sections.push_back(Section{{Step{}}, 0, 0});  // nothing but zeros to store
  return contract;
}

SegmentList SpatialWeightsSections::segments(std::int64_t kd, std::int64_t images) const {
  SegmentList list(std::max<std::size_t>(1, rows_.size() * runs_.size()));
  PixelBlock all;
  all.d = {0, v_.small.extent.d};
  const Range depths = usedPixels(v_, 0, all, kd);
  const auto addPlane = [&](std::int64_t bigPlane, std::int64_t smallPlane) {
    for (const RowBlock& block : blocks_) {
      for (std::size_t i = 0; i < runs_.size(); ++i) {
        const std::int64_t big = bigPlane + (block.first * v_.stride.h + taps_.h.lo * v_.dilation.h) * v_.big.hStride +
                                 (runs_[i].first + taps_.w.lo * v_.dilation.w) * bytesOf(v_.big);
        const std::int64_t small = smallPlane + block.first * v_.small.hStride + runs_[i].first * bytesOf(v_.small);
        list[static_cast<std::size_t>(block.rows) * runs_.size() + i].push_back(Segment{big, small, runs_[i].count});
      }
    }
  };
  for (std::int64_t n = 0; n < images; ++n) {
    for (std::int64_t d = depths.lo; d < depths.hi; ++d) {
      addPlane(n * v_.big.nStride + (d * v_.stride.d + kd * v_.dilation.d) * v_.big.dStride,
               n * v_.small.nStride + d * v_.small.dStride);
    }
  }
  return list;
}

}  // namespace cubejit
