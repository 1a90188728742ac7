// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: is a text a whole number only if all of it is one, and one that the type holds?
#include "tiling/whole_number.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace cubejit {
namespace {

TEST(WholeNumber, IsExactAtTheEndsOfItsType) {
  EXPECT_EQ(wholeNumber<std::uint64_t>("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(wholeNumber<std::uint64_t>("18446744073709551616"), std::nullopt);
  EXPECT_EQ(wholeNumber<std::int64_t>("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(wholeNumber<std::int64_t>("9223372036854775808"), std::nullopt);
  EXPECT_EQ(wholeNumber<int>("2147483648"), std::nullopt);
  EXPECT_EQ(wholeNumber<int>("010"), 10) << "no octal";
}

TEST(WholeNumber, AnythingElseIsNone) {
  for (const char* text : {"", " 1", "1 ", "+1", "0x10", "1e3", "1.0", "1,0", "--1", "one"})
    EXPECT_EQ(wholeNumber<std::int64_t>(text), std::nullopt) << text;
  EXPECT_EQ(wholeNumber<std::uint64_t>("-1"), std::nullopt);
}

}  // namespace
}  // namespace cubejit
