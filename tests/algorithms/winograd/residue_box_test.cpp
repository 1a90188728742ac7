// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that the residues of a stride meet every product of the convolution once: each tile's elements, each patch's, each tap's position.
#include "algorithms/winograd/lower/residue_box.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "tests/support/layers.h"
#include "tiling/check_problem.h"

namespace cubejit {
namespace {

using Product = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // positions of big and small, tap

// Which products the tiles of a plan meet, and how often, where a problem has a single axis (views have it on H). Positions outside of a tensor
// are left out.
template <class Plan>
std::map<Product, int> productsOf(const Problem& p, std::int64_t tile) {
  Plan plan;
  plan.tileH = tile;
  const WinogradShape s = winogradShape(p, plan);
  std::map<Product, int> met;
  for (const Residue& residue : residuesOf(s)) {
    const TileAxis axis = residueBox(s, residue).axes[1];
    for (std::int64_t t = 0; t < axis.tiles(); ++t) {
      const TileClass& c = axis.classes[static_cast<std::size_t>(axis.classOf[static_cast<std::size_t>(t)])];
      const auto position = [&](const Elements& e, std::int64_t i) { return e.first + (t * tile + i) * e.step; };
      for (std::int64_t i = c.tile.lo; i < c.tile.hi; ++i) {
        for (std::int64_t k = 0; k < residue.taps[1]; ++k) {
          const std::int64_t j = s.gather ? s.taps[1] - 1 - k : k;  // gathered results meet taps from their other end
          if (i + j < c.patch.lo || i + j >= c.patch.hi) continue;
          const std::int64_t tiled = position(axis.tiled, i), patched = position(axis.patched, i + j),
                             tap = firstTap(s, residue) + k * tapStep(s, 1);
          ++met[{s.gather ? tiled : patched, s.gather ? patched : tiled, tap}];
        }
      }
    }
  }
  return met;
}

TEST(ResidueBox, MeetsEveryProductOnce) {
  int problems = 0;
  for (const bool transposed : {false, true}) {
    for (std::int64_t stride = 1; stride <= 3; ++stride) {
      for (std::int64_t kernel = stride + 1; kernel <= 7; ++kernel) {
        for (std::int64_t pad = 0; pad <= kernel; pad += 2) {
          Problem p = problemOf(1, 1, 1, {1, 1, 9}, {1, 1, kernel}, {0, 0, pad});
          p.transposed = transposed;
          p.stride.w = stride;
          p.out.w = transposed ? 8 * stride + kernel - 2 * pad : (9 + 2 * pad - kernel) / stride + 1;
          if (!checkProblem(p).ok()) continue;
          ++problems;
          std::map<Product, int> want;
          for (std::int64_t o = 0; o < (transposed ? p.in.w : p.out.w); ++o) {
            for (std::int64_t k = 0; k < kernel; ++k) {
              const std::int64_t i = o * stride + k - pad;
              if (i >= 0 && i < (transposed ? p.out.w : p.in.w)) want[{i, o, k}] = 1;
            }
          }
          for (const std::int64_t tile : {2, 3, 5}) {
            EXPECT_EQ(productsOf<WinogradDataPlan>(p, tile), want) << "dx, stride " << stride << " kernel " << kernel;
            EXPECT_EQ(productsOf<WinogradWeightsPlan>(p, tile), want)
                << "dw, stride " << stride << " kernel " << kernel;
          }
        }
      }
    }
  }
  EXPECT_GT(problems, 50);
}

}  // namespace
}  // namespace cubejit
