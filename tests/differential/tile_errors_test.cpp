// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that gradients summed up in the tiles of a matrix unit are as accurate as those of dot products, whose order of sums is another:
// random data against fp64.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "runtime/host/aligned_memory.h"
#include "tests/support/defined_convolution.h"
#include "tests/support/host.h"
#include "tests/support/layers.h"
#include "tests/support/plan_fields.h"
#include "tests/support/verify_plan.h"

namespace cubejit {
namespace {

struct Norms {
  double dx = 0, dw = 0;
};

// The norm of the errors, as a share of the norm of the right results.
double errorNorm(const PlacedTensor& defined, const std::vector<float>& got) {
  double wrong = 0, all = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    wrong += (got[i] - defined.values[i]) * (got[i] - defined.values[i]);
    all += defined.values[i] * defined.values[i];
  }
  return std::sqrt(wrong / all);
}

Norms errorsOf(const Problem& p, const DefinedConvolution& c, IsaLevel level, bool tiles) {
  Session session(eagerOptions(level));
  std::vector<float> dx(c.dx.values.size()), dw(c.dw.values.size());
  for (const Pass pass : {Pass::kDx, Pass::kDw}) {
    const auto compiled = session.compile(CompileRequest{p, maskOf(pass), {}});
    EXPECT_TRUE(compiled.ok()) << compiled.error().message;
    if (!compiled.ok()) return {};
    const auto plan = choosePlan(p, pass, session.machine(), false);
    EXPECT_EQ(fieldOf(plan->plan, "matrix_unit"), tiles ? 1 : 0) << planToJson(plan->plan);
    const AlignedMemory workspace = alignedMemory((*compiled)->workspaceBytes());
    const Status done = (*compiled)->run({c.dy.memory(), c.x.memory(), c.w.memory(), dx.data(), dw.data(), nullptr},
                                         workspace.get(), (*compiled)->workspaceBytes());
    EXPECT_TRUE(done.ok()) << done.error().message;
  }
  return {errorNorm(c.dx, dx), errorNorm(c.dw, dw)};
}

TEST(TileErrors, AreNotAboveThoseOfDotProducts) {
  if (!hostRuns(IsaLevel::kAvx512Amx)) GTEST_SKIP() << "neither AMX nor AVX512-BF16 to imitate it with";
  for (const bool positive : {false, true}) {
    Problem p = ofType(DType::kBf16, squareProblem(2, 64, 64, 20));
    for (const TensorId t : {TensorId::kDx, TensorId::kDw})
      p.formats[static_cast<std::size_t>(t)] = TensorFormat{DType::kF32, Layout::kNcdhw, {}};
    DefinedConvolution c(p);
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    for (PlacedTensor* t : {&c.x, &c.w, &c.dy}) {
      for (double& value : t->values) {
        const double drawn = normal(random);
        value = nearestOf(DType::kBf16, positive ? std::fabs(drawn) : drawn);
      }
      t->store();
    }
    c.backward();
    const Norms dots = errorsOf(p, c, IsaLevel::kAvx512Bf16, false), tiles = errorsOf(p, c, IsaLevel::kAvx512Amx, true);
    EXPECT_LE(tiles.dx, dots.dx);
    EXPECT_LE(tiles.dw, dots.dw);
    EXPECT_GT(tiles.dw, 0) << "nothing was rounded";
    RecordProperty(positive ? "positive" : "signed",
                   std::to_string(tiles.dx / dots.dx) + " " + std::to_string(tiles.dw / dots.dw));
  }
}

}  // namespace
}  // namespace cubejit
