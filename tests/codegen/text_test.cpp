// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks whether names and numbers are read as they were written, and whether the first failure stays.
#include <gtest/gtest.h>

#include "codegen/text/reader.h"
#include "codegen/text/writer.h"

namespace cubejit {
namespace {

TEST(Text, NamesReadBack) {
  std::string everyByte;
  for (int byte = 0; byte < 256; ++byte) everyByte += static_cast<char>(byte);
  for (const std::string& name : {std::string("a_1.b"), std::string(), std::string("two words"), everyByte,
                                  std::string("1x"), std::string(" a")}) {
    const std::string text = nameText(name) + " 7";
    TextReader in(text, Stage::kTile, TextReader::Semicolon::kComment);
    EXPECT_EQ(in.name("a name"), name) << text;
    EXPECT_EQ(in.integerOf<int>("a number"), 7);
  }
}

TEST(Text, TheFirstFailureStays) {
  TextReader in("a 300\nb", Stage::kTile, TextReader::Semicolon::kComment);
  in.expect("a");
  in.integer(0, 255, "a byte");
  in.expect("b");
  EXPECT_TRUE(in.failed() && in.endOfLine() && !in.nextLine());
  EXPECT_EQ(in.error().message, "line 1, column 3: expected a byte: 300 is not in [0, 255]");
}

}  // namespace
}  // namespace cubejit
