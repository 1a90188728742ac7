// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of a few calls: what do queues, flags and barriers order, and which flags are wrong?
#include "emulation/unit_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace cubejit {
namespace {

using testing::HasSubstr;
using Kind = UnitFlag::Kind;

constexpr UnitFlag kSet{Kind::kSet, static_cast<int>(UnitPipe::kMte2), static_cast<int>(UnitPipe::kMte1), 0},
    kWait{Kind::kWait, kSet.from, kSet.to, 0}, kBarrier{Kind::kBarrier, kSet.from, kSet.to, 0};

std::vector<Node> callsOf(const std::vector<std::pair<CoreUnit, std::vector<UnitFlag>>>& calls) {
  std::vector<Node> nodes;
  for (const auto& [unit, flags] : calls) {
    Node node;
    node.call.unit = static_cast<int>(unit);
    node.call.issues = true;
    node.call.flags = flags;
    nodes.push_back(node);
  }
  return nodes;
}

TEST(UnitOrder, APipeKeepsItsOrderAndOthersDoNot) {
  const auto calls = callsOf({{CoreUnit::kGmToL1, {}}, {CoreUnit::kGmToL1, {}}, {CoreUnit::kL1ToL0, {}}});
  const UnitOrder order(calls, {0, 3});
  EXPECT_TRUE(order.finishes() && order.faults().empty());
  EXPECT_TRUE(order.isBefore(0, 1));
  EXPECT_FALSE(order.isBefore(1, 0) || order.isBefore(0, 2) || order.isBefore(2, 0));
}

TEST(UnitOrder, AFlagOrdersWhatWasIssuedBeforeIt) {
  const auto calls = callsOf({{CoreUnit::kGmToL1, {kSet}}, {CoreUnit::kGmToL1, {}}, {CoreUnit::kL1ToL0, {kWait}}});
  const UnitOrder order(calls, {0, 3});
  EXPECT_TRUE(order.finishes() && order.faults().empty());
  EXPECT_TRUE(order.isBefore(0, 2));
  EXPECT_FALSE(order.isBefore(1, 2));
}

TEST(UnitOrder, ABarrierOrdersAllPipes) {
  const auto calls = callsOf(
      {{CoreUnit::kGmToL1, {}}, {CoreUnit::kL1ToL0, {}}, {CoreUnit::kCube, {kBarrier}}, {CoreUnit::kGmToL1, {}}});
  const UnitOrder order(calls, {0, 4});
  EXPECT_TRUE(order.finishes() && order.faults().empty());
  for (const int before : {0, 1}) {
    for (const int behind : {2, 3}) EXPECT_TRUE(order.isBefore(before, behind)) << before << ", " << behind;
  }
  EXPECT_FALSE(order.isBefore(2, 3));
}

TEST(UnitOrder, FlagsThatAreWrongAreFaults) {
  const auto faultOf = [](const std::vector<Node>& calls) {
    const UnitOrder order(calls, {0, static_cast<int>(calls.size())});
    return order.faults().empty() ? std::string() : order.faults().front().what;
  };
  EXPECT_THAT(faultOf(callsOf({{CoreUnit::kGmToL1, {kSet}}})), HasSubstr("is never awaited"));
  EXPECT_THAT(faultOf(callsOf({{CoreUnit::kL1ToL0, {kWait}}})), HasSubstr("the flag is never set"));
  EXPECT_THAT(
      faultOf(callsOf({{CoreUnit::kGmToL1, {kSet}}, {CoreUnit::kGmToL1, {kSet}}, {CoreUnit::kL1ToL0, {kWait}}})),
      HasSubstr("while it is set"));
  // The second set may come before the first wait is over.
  EXPECT_THAT(faultOf(callsOf({{CoreUnit::kGmToL1, {kSet}},
                               {CoreUnit::kL1ToL0, {kWait}},
                               {CoreUnit::kGmToL1, {kSet}},
                               {CoreUnit::kL1ToL0, {kWait}}})),
              HasSubstr("is over"));
}

}  // namespace
}  // namespace cubejit
