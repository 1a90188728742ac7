// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/explore/explore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cubejit/machines.h"
#include "runtime/explore/energy.h"
#include "runtime/explore/grid.h"

namespace cubejit {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Machine explored() { return *machineByName("ascend910b2"); }

TEST(Explore, TheLastNumberOfAGridVariesFastest) {
  const auto grid = gridOf({{"cores", {4, 8}}, {"l1_bytes", {65536, 131072, 262144}}}, explored());
  ASSERT_TRUE(grid.ok()) << grid.error().message;
  ASSERT_EQ(grid->size(), 6U);
  for (std::size_t i = 0; i < grid->size(); ++i) {
    const GridPoint& point = (*grid)[i];
    EXPECT_EQ(point.machine.cores, i < 3 ? 4 : 8);
    EXPECT_EQ(point.machine.buffers.l1Bytes, std::int64_t{65536} << (i % 3));
    EXPECT_EQ(point.vary.begin().key(), "cores");
  }
  EXPECT_THAT((*grid)[4].machine.name, HasSubstr("cores=8 l1_bytes=131072"));
}

TEST(Explore, TheMemorysRateIsSharedByCores) {
  const Machine base = explored();
  const auto grid = gridOf({{"cores", {base.cores / 2, base.cores}}}, base);
  ASSERT_TRUE(grid.ok());
  EXPECT_DOUBLE_EQ((*grid)[0].machine.npu.paths.ddrRead, 2 * base.npu.paths.ddrRead);
  EXPECT_DOUBLE_EQ((*grid)[1].machine.npu.paths.ddrRead, base.npu.paths.ddrRead);
  const auto given = gridOf({{kMemoryRate, {800.0}}}, base);
  ASSERT_TRUE(given.ok());
  EXPECT_NEAR((*given)[0].machine.npu.paths.ddrRead * base.cores * base.npu.mhz * 1e-3, 800, 1e-6);
}

TEST(Explore, EveryRuleOfAGridIsToldOnce) {
  const auto grid = gridOf({{"cores", {0, 4}}, {"l1_bytes", {1, 2}}}, explored());
  ASSERT_FALSE(grid.ok());
  EXPECT_THAT(grid.error().message, HasSubstr("cores = 0 must be 1 to 4096"));
  EXPECT_THAT(grid.error().message, HasSubstr("l1_bytes = 2 must be"));
  const std::string first = grid.error().message.substr(grid.error().message.find("cores = 0"));
  EXPECT_EQ(first.find("cores = 0", 1), std::string::npos);
  std::vector<Json> many(70);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = i + 1;
  const auto tooMany = gridOf({{"cores", many}, {"mhz", many}}, explored());
  ASSERT_FALSE(tooMany.ok());
  EXPECT_THAT(tooMany.error().message, HasSubstr("70 cores x 70 mhz are 4900 points; the most is 4096"));
}

Json pointAt(double us, double energy, int failed = 0) {
  return {{"us", us}, {"energy_pj", energy}, {"failed", failed}};
}

TEST(Explore, TheFrontHasWhatNoOtherBeatsInBoth) {
  const std::vector<Json> points = {pointAt(3, 1), pointAt(1, 3),    pointAt(2, 2), pointAt(2, 4),
                                    pointAt(2, 2), pointAt(0, 0, 1), pointAt(4, 1)};
  EXPECT_THAT(paretoFront(points, "us", "energy_pj"), ElementsAre(1, 2, 4, 0));
}

TEST(Explore, EnergyOfAMemoryFollowsAPowerLawBetweenSizes) {
  EnergyFigures figures;
  figures.sram = {{1024, 1}, {4096, 4}};
  EXPECT_DOUBLE_EQ(figures.sramByte(256), 0.5);   // below: the square root
  EXPECT_DOUBLE_EQ(figures.sramByte(2048), 2.0);  // between
  EXPECT_DOUBLE_EQ(figures.sramByte(1 << 20), 4.0);
}

class ExploredFile : public ::testing::Test {
 protected:
  void SetUp() override {
    Problem p;
    p.name = "layer", p.batch = 1, p.cin = p.cout = 32, p.in = {1, 14, 14}, p.kernel = {1, 3, 3};
    p.padBefore = p.padAfter = {0, 1, 1};
    p.dtype = DType::kF16;
    question_ = {{p}, {Pass::kDx}, {}, {}};
    auto grid = gridOf({{"cores", {2, 4, 8}}}, explored());
    ASSERT_TRUE(grid.ok());
    grid_ = std::move(*grid);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  // Opens the file, explores until `stopAfter` points were asked about, and returns how many were.
  Result<int> run(std::vector<Json>& points, int stopAfter) {
    points.assign(grid_.size(), {});
    PointFile file;
    CUBEJIT_RETURN_IF_ERROR(file.open(path_, request_, points));
    int asked = 0;
    const ExploreRun how{1, [&] { return asked >= stopAfter; }, [&](std::size_t, const Machine&) { ++asked; }};
    CUBEJIT_RETURN_IF_ERROR(explore(grid_, question_, how, file, points));
    return asked;
  }

  const std::string path_ = ::testing::TempDir() + "explored.jsonl";
  Json request_{{"schema", "cubejit.explore/1"}, {"vary", {{"cores", {2, 4, 8}}}}};
  ExploreQuestion question_;
  std::vector<GridPoint> grid_;
};

TEST_F(ExploredFile, IsGoneOnWithWhereItStopped) {
  std::vector<Json> points, again, whole;
  ASSERT_EQ(*run(points, 2), 2);
  EXPECT_TRUE(points[2].is_null());
  std::ofstream(path_, std::ios::app) << "{\"point\": 2, \"cut";
  ASSERT_EQ(*run(again, 9), 1);
  EXPECT_EQ(again[0], points[0]);
  for (const Json& point : again) EXPECT_TRUE(isExploredPoint(point)) << point.dump();
  EXPECT_EQ(*run(whole, 9), 0);
  EXPECT_EQ(whole, again);
}

TEST_F(ExploredFile, OfAnotherRequestIsLeftAlone) {
  std::vector<Json> points;
  ASSERT_EQ(*run(points, 9), 3);
  request_["vary"]["cores"] = {2, 4, 16};
  const auto other = run(points, 9);
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("holds another exploration: its 'vary' differs"));
  std::ofstream(path_) << "something else\n";
  const auto foreign = run(points, 9);
  ASSERT_FALSE(foreign.ok());
  EXPECT_THAT(foreign.error().message, HasSubstr("is no file of points"));
}

}  // namespace
}  // namespace cubejit
