// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides when sums of a weight gradient go from registers to the tensor itself, without accumulators in memory.
#pragma once

#include "algorithms/kit/reduction_partition.h"
#include "cubejit/host_isa.h"
#include "cubejit/plan.h"

namespace cubejit {

/// Lanes must be channels that lie side by side in dw (one tap, not transposed operands), and no other task may add to them. What is rounded
/// is rounded once: 16-bit elements need all pixels in one chain, and bf16 an instruction that rounds. Of channel lanes only.
inline bool storesSumsDirectly(const ConvView& v, const DirectWeightsPlan& plan, DType dw, const HostIsa& isa) {
  if (plan.bufferC || plan.vectorize == WeightVectors::kTransposed || v.taps() != 1 || plan.reductionParts > 1)
    return false;
  if (dw == DType::kF32) return true;
  if ((dw != DType::kF16 && dw != DType::kBf16) || roundsByIntegers(dw, isa)) return false;
  const PartialSums sums = ReductionPartition(v, plan.reduction).sums();
  return sums.blocks == 1 && sums.chainsOfBlock() == 1;
}

}  // namespace cubejit
