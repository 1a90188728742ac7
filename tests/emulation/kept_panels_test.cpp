// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that panels are told apart by everything that makes them, and that their room is limited.
#include "emulation/kept_panels.h"

#include <gtest/gtest.h>

#include <vector>

#include "cubejit/machines.h"
#include "cubejit/npu.h"

namespace cubejit {
namespace {

TEST(KeptPanels, AreToldApartByLoadMoveTaskAndWay) {
  const LoadImage image{0, 1, {2, 3}, {4, 5}, {6, 7}};
  const LoadWeights weights{0, 1, {2, 3}, {4, 5}, false};
  const LoadPixels pixels{0, 1, {2, 3}, {4, 5}};
  const Unfold unfold{L0Side::kA, 0, image, {1, 2}, {3, 4}};
  const LoadFractals fractals{L0Side::kB, 0, 0, 1, {2, 3}, {4, 5}, false};
  std::vector<PanelKey> keys;
  const auto add = [&](const UnitInstruction& load, const UnitInstruction& move, const CoreTask& task = {},
                       const ForwardWay& way = {}) { keys.push_back(keyOf(load, move, task, way)); };
  add(image, unfold);
  add(weights, fractals);
  add(pixels, fractals);
  LoadImage otherImage = image;
  ++otherImage.rows.begin;
  add(otherImage, unfold);
  LoadWeights otherWeights = weights;
  ++otherWeights.tapDepth;
  add(otherWeights, fractals);
  Unfold otherUnfold = unfold;
  ++otherUnfold.units.count;
  add(image, otherUnfold);
  LoadFractals otherFractals = fractals;
  ++otherFractals.y.begin;
  add(weights, otherFractals);
  CoreTask task;
  task.group = 1;
  add(weights, fractals, task);
  add(image, unfold, task);
  task = {};
  task.image = 1;
  add(image, unfold, task);
  add(pixels, fractals, task);
  ForwardWay way;
  way.pairs = true;
  add(image, unfold, {}, way);
  way.onlySeen = true;
  add(image, unfold, {}, way);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(keys[i] == keys[j]) << i << " " << j;
  }
  EXPECT_TRUE(keyOf(weights, fractals, task, {}) == keys[1]);  // every image has the same weights
  LoadFractals elsewhere = fractals;
  elsewhere.l0 = elsewhere.l1 = 512;
  EXPECT_TRUE(keyOf(weights, elsewhere, {}, {}) == keys[1]);
}

TEST(KeptPanels, AreFoundUntilTheirRoomIsFull) {
  constexpr std::int64_t kFloats = KeptPanels::kMostBytes / 4;
  const auto key = [](std::int64_t n) {
    PanelKey k;
    k.words[3] = n;
    return k;
  };
  KeptPanels kept;
  EXPECT_EQ(kept.find(key(0)), nullptr);
  EXPECT_EQ(kept.add(key(0), kFloats + 1), nullptr);
  float* first = kept.add(key(1), kFloats / 2);
  float* second = kept.add(key(2), kFloats / 2);
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_GE(second - first, kFloats / 2);
  EXPECT_EQ(kept.find(key(1)), first);
  EXPECT_EQ(kept.find(key(2)), second);
  EXPECT_NE(kept.add(key(3), 1), nullptr);  // the others are forgotten
  EXPECT_EQ(kept.find(key(1)), nullptr);
  kept.clear();
  EXPECT_EQ(kept.find(key(3)), nullptr);
}

TEST(KeptPanels, AreKeptWhereTheyAreAskedForAgain) {
  Problem p;
  p.rank = 2;
  p.batch = 4;
  p.cin = p.cout = 64;
  p.in = p.out = {1, 14, 14};
  p.kernel = {1, 3, 3};
  p.padBefore = p.padAfter = {0, 1, 1};
  p.dtype = DType::kF16;
  const Machine machine = *machineByName("ascend910b2");
  const auto report = planOnNpu(p, Gradient::kDx, machine);
  ASSERT_TRUE(report.ok());
  auto job = makeCubeJob(p, report->plan, machine, false);
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_TRUE(reuseOf(*job, false).b);  // four images have the same weights
  p.batch = 1;
  job->problem = p;
  job->work = cubeWorkOf(p, Gradient::kDx, machine, false);
  job->plan.cube().singleShape = job->work.gemm;
  job->plan.cube().tile.base = {1024, 16, 1024};
  EXPECT_FALSE(reuseOf(*job, false).a);  // one task of one block
  EXPECT_FALSE(reuseOf(*job, false).b);
}

}  // namespace
}  // namespace cubejit
