// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that dw's last cast is that of its model, bit by bit: any layout, type, groups and number of parts, generated and interpreted,
// on any number of threads.
#include "runtime/weight_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "cubejit/cubejit.hpp"
#include "cubejit/machines.h"
#include "runtime/unit_loader.h"
#include "runtime/verify/random_problem.h"
#include "tiling/check_problem.h"

namespace cubejit {
namespace {

void compareAll(const Options& options, int problems, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  for (int i = 0; i < problems; ++i) {
    Problem p = randomProblem(random, 1e5);
    p.dtype = i % 4 == 0 ? DType::kF32 : i % 4 == 1 ? DType::kF16 : i % 4 == 2 ? DType::kBf16 : DType::kHf32;
    p.batch = std::max<std::int64_t>(1, p.batch);
    randomFormats(random, p, false, true);
    if (i % 3 == 0) {
      TensorFormat wide = formatOf(p, TensorId::kDw);
      wide.dtype = DType::kF32;
      p.formats[static_cast<std::size_t>(TensorId::kDw)] = wide;
    }
    if (!checkProblem(p).ok()) continue;
    CubeJob job;
    job.problem = p;
    job.machine = *machineByName("ascend910b2");
    job.work = cubeWorkOf(p, Gradient::kDw, job.machine, false);
    job.plan = TilingPlan(Gradient::kDw, CubePlan{});
    job.plan.cube().tile.base.m = i % 2 * 16;  // cut, or whole
    const auto units = loadUnits(job.work.type, options);
    ASSERT_TRUE(units.ok()) << units.error().message;
    const std::int64_t parts = 1 + i % 3;
    std::vector<std::vector<char>> results;
    for (const int way : {0, 1, 3}) {  // the model; one thread, three
      auto sums = WeightSums::create(job, parts);
      ASSERT_TRUE(sums.ok()) << sums.error().message;
      std::mt19937_64 same(seed + static_cast<std::uint64_t>(i));
      for (std::int64_t part = 0; part < parts; ++part) {
        auto* to = reinterpret_cast<float*>(sums->view(part).data);
        for (std::int64_t e = 0; e < sums->view(0).bytes / 4; ++e)
          to[e] = std::ldexp(normal(same), same() % 8 == 0 ? -130 : 0);
      }
      results.emplace_back(static_cast<std::size_t>(formatBytes(p, TensorId::kDw)), 0x7f);
      const GlobalView dw{reinterpret_cast<std::byte*>(results.back().data()), formatBytes(p, TensorId::kDw),
                          formatOf(p, TensorId::kDw).dtype, indexMap(p, TensorId::kDw)};
      sums->finish(dw, way == 0 ? nullptr : &(*units)->code, options.parallelFor, std::max(1, way));
      EXPECT_EQ(results.back() == results.front(), true) << "way " << way << " #" << i << " seed " << seed;
    }
  }
}

TEST(WeightSums, AreCastAsTheModelCastsThem) { compareAll({}, 160, 1); }

TEST(WeightSums, OnAvx2AndInterpretedToo) {
  Options options;
  options.isa = IsaLevel::kAvx2;
  compareAll(options, 40, 2);
  for (const BackendKind kind : {BackendKind::kInterpreter, BackendKind::kTileInterpreter}) {
    Options interpreted;
    interpreted.backend = kind;
    compareAll(interpreted, 12, 3);
  }
}

TEST(WeightSums, ByTheOtherBackendToo) {
  Options options;
  options.backend = BackendKind::kLlvm;
  if (!loadUnits(DType::kF16, options).ok()) GTEST_SKIP() << "the LLVM component is not built";
  compareAll(options, 6, 4);
}

}  // namespace
}  // namespace cubejit
