// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that data gradients of the spatial algorithm are exact whose tiles have several rows of H: strides, dilation, padding, planes, groups,
// transposed convolutions, tensors read in place and staged, results that leave through a panel.
#include <gtest/gtest.h>

#include "algorithms/spatial/spatial.h"
#include "tests/support/random_plans.h"

namespace cubejit {
namespace {

RandomPlans<SpatialDataPlan> pixelRows(Layout layout) {
  return {.random = RandomConvolution(43),
          .problem =
              [layout](RandomConvolution& random, int i) {
                Problem p = random.next();
                p.layout = layout;
                p.cin = p.groups * (1 + random.below(3));
                if (i % 2 == 0) p.cout = p.groups;  // depthwise, or one input channel
                return p;
              },
          .candidates = spatialDataCandidates,
          .plan = [](const Problem& p, SpatialDataPlan plan, RandomConvolution& random) -> std::optional<TilingPlan> {
            plan.registerH = 2 + random.below(4);
            plan.cache.h = plan.registerH * (1 + random.below(3));
            TilingPlan whole = plan;
            whole.reorders.w = p.dtype != DType::kF32;
            return whole;
          },
          .most = 3};
}

TEST(PixelRows, AllPlansAreRight) {
  inSettings({IsaLevel::kAvx512Bf16, IsaLevel::kAvx2}, {DType::kF32, DType::kBf16, DType::kF16},
             [](const Setting& setting) {
               for (const Layout layout : {Layout::kNcdhw, Layout::kNdhwc})
                 EXPECT_GT(verifyPlans(pixelRows(layout), setting, 40).size(), 40U);
             });
}

}  // namespace
}  // namespace cubejit
