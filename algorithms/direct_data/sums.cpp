// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the numbers, axis by axis.
#include "algorithms/direct_data/sums.h"

#include "algorithms/kit/rates.h"
#include "algorithms/kit/residue_classes.h"

namespace cubejit {
namespace {

DataSums sumAxis(const AxisRelation& rel, std::int64_t block) {
  DataSums s;
  for (const ResidueClass& residue : residueClasses(rel)) {
    s.blocks += static_cast<double>(divUp(residue.count, block));
    s.results += static_cast<double>(residue.count);
    for (const BlockTap& tap : residue.taps) {
      s.passes += static_cast<double>((tap.hi - 1) / block - tap.lo / block + 1);
      s.rows += static_cast<double>(tap.hi - tap.lo);
    }
  }
  return s;
}

}  // namespace

DataSums dataSums(const ConvView& v, const std::array<std::int64_t, 3>& block) {
  const TensorView &result = v.bigIsX ? v.big : v.small, &operand = v.bigIsX ? v.small : v.big;
  DataSums total{1, 1, 1, 1};
  for (int a = 0; a < 3; ++a) {
    const DataSums s = sumAxis(
        AxisRelation{v.bigIsX, result.extent[a], operand.extent[a], v.kernel[a], v.stride[a], v.dilation[a], v.pad[a]},
        block[static_cast<std::size_t>(a)]);
    total = DataSums{total.blocks * s.blocks, total.passes * s.passes, total.rows * s.rows, total.results * s.results};
  }
  return total;
}

double overlap(const ConvView& v, std::int64_t panel, int axis) {
  const double reach = static_cast<double>((v.kernel[axis] - 1) * v.dilation[axis]) /
                       (v.bigIsX ? static_cast<double>(v.stride[axis]) : 1.0);
  return 1 + reach / (static_cast<double>(panel) * (v.bigIsX ? 1.0 : static_cast<double>(v.stride[axis])));
}

}  // namespace cubejit
