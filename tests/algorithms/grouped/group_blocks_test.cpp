// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks how groups share a vector, and which lanes a permuted operand reads.
#include "algorithms/grouped/lower/group_blocks.h"

#include <gtest/gtest.h>

namespace cubejit {
namespace {

TEST(GroupLanes, WholeGroupsOnly) {
  EXPECT_EQ(makeGroupLanes(16, 64, 4, 4).perBlock, 4);
  EXPECT_EQ(makeGroupLanes(16, 64, 3, 3).perBlock, 5);
  EXPECT_EQ(makeGroupLanes(16, 64, 1, 3).perBlock, 10);  // 32 source lanes reach 10 groups of 3
  EXPECT_EQ(makeGroupLanes(8, 64, 8, 8).perBlock, 1);
  EXPECT_EQ(makeGroupLanes(16, 64, 17, 1).perBlock, 0);
  const GroupLanes lanes = makeGroupLanes(16, 18, 1, 1);
  EXPECT_EQ(lanes.blocks, 2);
  EXPECT_EQ(lanes.classOf(0), 0);
  EXPECT_EQ(lanes.classOf(1), 1);
  EXPECT_EQ(lanes.groupsOf(1), 2);
}

TEST(GroupLanes, GroupsDoNotStraddleBlocksOfATensor) {
  TensorView blocked, plain;
  blocked.c0 = 16;
  EXPECT_EQ(makeGroupLanes(16, 40, blocked, blocked, false).perBlock, 16);
  EXPECT_EQ(makeGroupLanes(16, 40, blocked, blocked, false).blocks, 3);
  EXPECT_EQ(makeGroupLanes(8, 40, blocked, blocked, false).perBlock, 8);
  blocked.c0 = 8;
  EXPECT_EQ(makeGroupLanes(16, 40, plain, blocked, false).perBlock, 8);
  EXPECT_EQ(makeGroupLanes(16, 40, plain, plain, false).perBlock, 16);
  plain.channels = 3;  // five groups in a vector; of the others' block they would leave a rest
  EXPECT_EQ(makeGroupLanes(16, 40, plain, blocked, false).perBlock, 4);
  EXPECT_EQ(makeGroupLanes(16, 40, plain, blocked, false).secondPitch, 0);
  blocked.c0 = 16;
  blocked.channels = 2;
  blocked.blockStride = 4096;
  plain.channels = 1;  // a vector of groups reads two blocks
  EXPECT_EQ(makeGroupLanes(16, 40, plain, blocked, false).perBlock, 16);
  EXPECT_EQ(makeGroupLanes(16, 40, plain, blocked, false).secondPitch, 4096);
  EXPECT_EQ(makeGroupLanes(16, 40, plain, blocked, true).secondPitch, 0);
  blocked.c0 = 8;
  EXPECT_EQ(makeGroupLanes(16, 40, plain, blocked, false).perBlock, 4);
  blocked.channels = 4;
  EXPECT_EQ(makeGroupLanes(16, 40, blocked, blocked, true).perBlock, 2);
}

TEST(GroupLanes, UnitsAreNeighbouringBlocks) {
  const GroupLanes lanes = makeGroupLanes(16, 90, 1, 1);  // five whole blocks and one of ten groups
  EXPECT_EQ(lanes.units(1), 6);
  EXPECT_EQ(lanes.units(2), 3);
  EXPECT_EQ(lanes.units(4), 2);
  EXPECT_EQ(lanes.classOfUnit(1, 2), 0);
  EXPECT_EQ(lanes.classOfUnit(2, 2), 1);
  EXPECT_EQ(lanes.groupsOfUnit(0, 2), (std::vector<std::int64_t>{16, 16}));
  EXPECT_EQ(lanes.groupsOfUnit(1, 2), (std::vector<std::int64_t>{16, 10}));
  EXPECT_EQ(lanes.groupsOfUnit(1, 4), (std::vector<std::int64_t>{16, 10}));
  EXPECT_EQ(lanes.groupsOfUnit(1, 5), (std::vector<std::int64_t>{10}));
  EXPECT_TRUE(lanes.groupsOfUnit(0, 8).empty());
  EXPECT_TRUE(makeGroupLanes(16, 64, 1, 1).groupsOfUnit(1, 2).empty());
  EXPECT_EQ(unitLabel({16, 10}), "16+10");
}

TEST(CellOperand, ReadsChannelJOfTheLanesOwnCell) {
  for (const int lanes : {8, 16}) {
    for (std::int64_t lane = 1; lane <= 8; ++lane) {
      for (std::int64_t group = 1; group <= 8; ++group) {
        const GroupLanes shape = makeGroupLanes(lanes, 40, lane, group);
        if (shape.perBlock == 0 || shape.depthwise()) continue;
        for (std::int64_t groups = 1; groups <= shape.perBlock; ++groups) {
          for (std::int64_t j = 0; j < group; ++j) {
            Contract contract;
            contract.lanes = lanes;
            const AOperand operand = groupOperand(shape, groups, j, 64, contract);
            if (groups == 1) {  // one word for all lanes
              EXPECT_EQ(operand.kind, AKind::kBroadcast);
              EXPECT_EQ(operand.offset, 64 + 4 * j);
              continue;
            }
            const bool two = operand.kind == AKind::kPermute2;
            ASSERT_TRUE(two || operand.kind == AKind::kPermute);
            const std::int64_t first = operand.lanes.all() ? lanes : operand.lanes.hi;
            const std::int64_t second = !two ? 0 : operand.lanes2.all() ? lanes : operand.lanes2.hi;
            EXPECT_EQ(first + second, groups * group) << "reads exactly the groups' channels";
            const auto& table = contract.tables.at(static_cast<std::size_t>(operand.table));
            for (std::int64_t l = 0; l < groups * lane; ++l)
              EXPECT_EQ(table[static_cast<std::size_t>(l)], l / lane * group + j);
          }
        }
      }
    }
  }
}

TEST(CellOperand, DepthwiseIsAPlainVector) {
  Contract contract;
  EXPECT_EQ(groupOperand(makeGroupLanes(16, 32, 1, 1), 16, 0, 0, contract).kind, AKind::kVector);
  EXPECT_TRUE(contract.tables.empty());
}

}  // namespace
}  // namespace cubejit
