// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks which operands may be multiplied by dot products.
#include "algorithms/kit/reorder.h"

#include <gtest/gtest.h>

namespace cubejit {
namespace {

TEST(DotApplies, TwoOperandsOfBf16) {
  const DType types[] = {DType::kF32, DType::kF16, DType::kBf16};
  const auto format = [](DType type) { return TensorFormat{type, Layout::kNcdhw, {}}; };
  for (const DType dy : types) {
    for (const DType other : types) {
      Problem p;
      p.formats[static_cast<std::size_t>(TensorId::kDy)] = format(dy);
      p.formats[static_cast<std::size_t>(TensorId::kX)] = p.formats[static_cast<std::size_t>(TensorId::kW)] =
          format(other);
      const bool both = dy == DType::kBf16 && other == DType::kBf16;
      EXPECT_EQ(dotApplies(p, Pass::kDx), both) << toString(dy) << " " << toString(other);
      EXPECT_EQ(dotApplies(p, Pass::kDw), both) << toString(dy) << " " << toString(other);
      EXPECT_FALSE(dotApplies(p, Pass::kDb)) << "a sum has one operand";
    }
  }
}

TEST(DotApplies, PairsLieWithinADisplacement) {
  Problem p;
  p.dtype = DType::kBf16;
  p.layout = Layout::kNcdhw;
  for (const std::int64_t pixels : {std::int64_t{1} << 29, (std::int64_t{1} << 29) + 1}) {
    p.in = p.out = Dhw{1, 1, pixels};
    EXPECT_EQ(dotApplies(p, Pass::kDx), pixels == std::int64_t{1} << 29);
    EXPECT_TRUE(dotApplies(p, Pass::kDw)) << "pairs of pixels are neighbours";
  }
}

}  // namespace
}  // namespace cubejit
