// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what spatial plans see of a problem (see the header).
#include "algorithms/spatial/data_shape.h"

#include <algorithm>
#include <set>

namespace cubejit {

SpatialView::SpatialView(const Problem& problem)
    : view(makeConvView(problem, Pass::kDx, OneAxis::kInRows)),
      result(view.bigIsX ? view.big : view.small),
      operand(view.bigIsX ? view.small : view.big),
      gather(view.bigIsX) {
  if (gather ? view.stride.w <= 64 : view.stride.w == 1) residues = residueClasses(relation(2));
  for (const ResidueClass& residue : residues) longest = std::max(longest, residue.count);
}

AxisRelation SpatialView::relation(int axis) const {
  return AxisRelation{gather,
                      result.extent[axis],
                      operand.extent[axis],
                      view.kernel[axis],
                      view.stride[axis],
                      view.dilation[axis],
                      view.pad[axis]};
}

bool SpatialView::endsInVector(std::int64_t lanes, bool results) const {
  if (results && longest % lanes != 0) return true;
  for (const ResidueClass& residue : residues) {
    for (const BlockTap& tap : residue.taps) {
      const std::int64_t begin = std::max<std::int64_t>(0, -tap.offset),
                         end = std::min(operand.extent.w - tap.offset, longest);
      if (begin < end && (begin % lanes != 0 || end % lanes != 0)) return true;
    }
  }
  return false;
}

std::int64_t SpatialView::insideTaps(int axis) const {
  std::int64_t rows = 0;
  for (const ResidueClass& residue : residueClasses(relation(axis))) {
    for (const BlockTap& tap : residue.taps) rows += tap.hi - tap.lo;
  }
  return rows;
}

double SpatialView::usesOfRow(std::int64_t rows) const {
  double pairs = 0, distinct = 0;
  for (const ResidueClass& residue : residueClasses(relation(1))) {
    std::set<std::int64_t> read;
    for (const BlockTap& tap : residue.taps) {
      for (std::int64_t r = 0; r < rows; ++r) read.insert(tap.offset + r * (gather ? 1 : view.stride.h));
    }
    pairs += static_cast<double>(residue.taps.size()) * static_cast<double>(rows);
    distinct += static_cast<double>(read.size());
  }
  return distinct > 0 ? pairs / distinct : 1;
}

}  // namespace cubejit
