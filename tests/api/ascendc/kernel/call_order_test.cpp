// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of the protocol alone: which calls may follow which.
#include "api/ascendc/kernel/call_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cubejit::ascendc {
namespace {

using testing::HasSubstr;

CallOrder ready() {
  CallOrder order;
  order.initialised();
  for (const Call setter : {Call::kSetWeight, Call::kSetGradOutput, Call::kSetSingleShape, Call::kSetStartPosition})
    order.set(setter);
  return order;
}

TEST(CallOrder, NothingComesBeforeInitOrAfterEnd) {
  CallOrder order;
  for (const Call call : {Call::kSetWeight, Call::kSetInput, Call::kSetGradOutput, Call::kSetSingleShape,
                          Call::kSetStartPosition, Call::kIterate, Call::kGetTensorC, Call::kEnd})
    EXPECT_EQ(order.refuses(call, true), std::string(toString(call)) + " before Init: Init comes first");
  EXPECT_EQ(order.refuses(Call::kInit, true), "");
  order = ready();
  EXPECT_THAT(order.refuses(Call::kInit, true), HasSubstr("a second Init"));
  order.ended();
  for (const Call call : {Call::kInit, Call::kSetWeight, Call::kIterate, Call::kGetTensorC, Call::kEnd})
    EXPECT_THAT(order.refuses(call, true), HasSubstr(std::string(toString(call)) + " after End"));
}

TEST(CallOrder, EverySetterComesBeforeTheFirstIterate) {
  CallOrder order;
  order.initialised();
  EXPECT_THAT(order.refuses(Call::kIterate, true),
              HasSubstr("before SetWeight, SetGradOutput, SetSingleShape, SetStartPosition"));
  order.set(Call::kSetGradOutput);
  order.set(Call::kSetStartPosition);
  EXPECT_THAT(order.refuses(Call::kIterate, true), HasSubstr("before SetWeight, SetSingleShape:"));
  order.needs(Call::kSetInput);
  EXPECT_THAT(order.refuses(Call::kIterate, true), HasSubstr("before SetInput, SetSingleShape:"));
  order = ready();
  EXPECT_EQ(order.refuses(Call::kIterate, true), "");
}

TEST(CallOrder, IterateAndGetTensorCTakeTurns) {
  CallOrder order = ready();
  EXPECT_THAT(order.refuses(Call::kGetTensorC, true), HasSubstr("without a block"));
  order.computed();
  EXPECT_THAT(order.refuses(Call::kIterate, false), HasSubstr("while a block waits in L0C"));
  EXPECT_THAT(order.refuses(Call::kIterate, true), HasSubstr("while a block waits in L0C"));
  EXPECT_THAT(order.refuses(Call::kEnd, false), HasSubstr("while a block waits in L0C"));
  EXPECT_EQ(order.refuses(Call::kGetTensorC, false), "");
  order.moved();
  EXPECT_THAT(order.refuses(Call::kGetTensorC, false), HasSubstr("once after each Iterate"));
  EXPECT_EQ(order.refuses(Call::kIterate, false), "");
  EXPECT_EQ(order.refuses(Call::kEnd, false), "") << "a loop may be left early";
}

TEST(CallOrder, AnotherSingleShapeIsAskedForByIsFirstIter) {
  CallOrder order = ready();
  order.computed();
  order.moved();
  EXPECT_THAT(order.refuses(Call::kSetSingleShape, false), HasSubstr("SetSingleShape between Iterates"));
  EXPECT_EQ(order.refuses(Call::kSetSingleShape, true), "");
  order.exhausted();
  EXPECT_THAT(order.refuses(Call::kIterate, false), HasSubstr("ctx.isFirstIter_ = true"));
  EXPECT_EQ(order.refuses(Call::kSetWeight, false), "");
  EXPECT_EQ(order.refuses(Call::kIterate, true), "");
  EXPECT_EQ(order.refuses(Call::kEnd, false), "");
}

}  // namespace
}  // namespace cubejit::ascendc
