// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the sizes of reduction blocks as makePixelBlocks cuts them: of one axis at most, and one by one of those outside it.
#include "algorithms/kit/reduction_partition.h"

#include <algorithm>
#include <vector>

#include "algorithms/kit/rates.h"

namespace cubejit {
namespace {

constexpr std::int64_t kMostSimulated = 256;  // tasks; among more than that the last one hardly matters

}  // namespace

std::int64_t columnsOfBlock(const ConvView& v, const ReductionBlock& block) {
  const std::int64_t columns = v.small.extent.w;
  if (v.oneAxis) return std::min(block.h, columns);
  return v.cutsRows() ? equalPiece(columns, kLongestRow) : columns;
}

ReductionPartition::ReductionPartition(const ConvView& v, const ReductionBlock& block) {
  const Dhw& e = v.small.extent;
  const std::int64_t columns = columnsOfBlock(v, block);
  if (columns < e.w) {
    units_ = v.batch * e.d * e.h;
    extent_ = e.w;
    piece_ = columns;
  } else if (!v.oneAxis && block.h < e.h) {
    units_ = v.batch * e.d;
    extent_ = e.h;
    piece_ = block.h;
    each_ = e.w;
  } else if (!v.oneAxis && block.d < e.d) {
    units_ = v.batch;
    extent_ = e.d;
    piece_ = block.d;
    each_ = e.h * e.w;
  } else {
    extent_ = std::max<std::int64_t>(1, v.batch);
    piece_ = std::min(block.n, extent_);
    each_ = e.volume();
  }
  row_ = std::max<std::int64_t>(1, columns);
  piece_ = std::max<std::int64_t>(1, piece_);
  each_ = std::max<std::int64_t>(1, each_);
  units_ = std::max<std::int64_t>(1, units_);
  perUnit_ = divUp(extent_, piece_);
}

std::int64_t ReductionPartition::pixelsBefore(std::int64_t block) const {
  return block / perUnit_ * extent_ + std::min(extent_, block % perUnit_ * piece_);
}

double ReductionPartition::imbalance(std::int64_t splits, std::int64_t copies, int cores) const {
  splits = std::clamp<std::int64_t>(splits, 1, blocks());
  if (copies <= 0 || cores <= 1) return 1.0;
  if (splits > kMostSimulated / copies)
    return cubejit::imbalance(static_cast<double>(splits) * static_cast<double>(copies), cores);
  std::vector<std::int64_t> busy(static_cast<std::size_t>(cores), 0);
  for (std::int64_t copy = 0; copy < copies; ++copy) {
    for (std::int64_t s = 0; s < splits; ++s)
      *std::min_element(busy.begin(), busy.end()) +=
          pixelsBefore(blocks() * (s + 1) / splits) - pixelsBefore(blocks() * s / splits);
  }
  const double total = static_cast<double>(copies) * static_cast<double>(units_ * extent_);
  return static_cast<double>(*std::max_element(busy.begin(), busy.end())) * cores / total;
}

void requireReductionBlocks(Rules& rules, const Problem& p, const ReductionBlock& block) {
  const ConvView v = makeConvView(p, Pass::kDw);
  const Dhw& e = v.small.extent;
  const auto atMost = [&](const char* field, std::int64_t value, std::int64_t most) {
    rules.require(value <= std::max<std::int64_t>(1, most), [&] {
      return std::string(field) + " = " + std::to_string(value) + " is more than the " + std::to_string(most) +
             " there are";
    });
  };
  atMost("reduction_h", block.h, v.oneAxis ? e.w : e.h);
  atMost("reduction_d", block.d, v.oneAxis ? 1 : e.d);
  atMost("reduction_n", block.n, v.batch);
  rules.require(block.d == 1 || block.h >= e.h, "reduction_d of more than 1 needs whole planes: raise reduction_h");
  const bool whole = v.oneAxis ? block.h >= e.w : block.h >= e.h && block.d >= e.d;
  rules.require(block.n == 1 || whole,
                "reduction_n of more than 1 needs whole images: raise reduction_h and reduction_d");
  rules.require(!v.cutsRows() || v.oneAxis || block.h == 1, [&] {
    return "reduction_h must be 1: rows of more than " + std::to_string(kLongestRow) + " columns are cut";
  });
}

}  // namespace cubejit
