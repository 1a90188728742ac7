// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: is every line read as it is, and does reading end where a file does not?
#include "runtime/text/text_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>
#include <vector>

#include "runtime/text/printable.h"
#include "runtime/tuning/pins.h"
#include "runtime/tuning/record_keeper.h"
#include "tests/support/tuning_cases.h"

namespace cubejit {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TextFile : public ::testing::Test {
 protected:
  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  static Result<TextLines> open(const std::string& path) {
    return TextLines::open(path, "numbers, one a line", Stage::kPlan);
  }
  // "NUMBER:LINE" of every line, or the error behind the last.
  static std::vector<std::string> linesOf(const std::string& path) {
    std::vector<std::string> out;
    auto file = open(path);
    if (!file.ok()) return {file.error().message};
    for (std::string line;;) {
      const auto more = file->next(line);
      if (more.ok() && !*more) return out;
      out.push_back(more.ok() ? std::to_string(file->number()) + ":" + line : more.error().message);
      if (!more.ok() && more.error().code == ErrorCode::kIo) return out;
    }
  }
  ScratchFolder folder_{"text_file"};
  const std::string path_ = folder_.file("text");
};

TEST_F(TextFile, GivesEveryLineThatIsNotBlankWithItsNumber) {
  write("1\n\n \t\r\n4\r\n5");
  EXPECT_THAT(linesOf(path_), ElementsAre("1:1", "4:4\r", "5:5"));
  write("");
  EXPECT_THAT(linesOf(path_), ElementsAre());
  const std::string many(300000, 'x');  // longer than a read
  write(many + "\n" + many);
  EXPECT_THAT(linesOf(path_), ElementsAre("1:" + many, "2:" + many));
  auto file = open(path_);
  std::string line;
  ASSERT_TRUE(file->next(line).ok());
  EXPECT_TRUE(file->whole());
  EXPECT_EQ(file->end(), many.size() + 1);
  ASSERT_TRUE(file->next(line).ok());
  EXPECT_FALSE(file->whole()) << "it may be cut off";
}

TEST_F(TextFile, ALineThatIsTooLongIsRefusedAlone) {
  write("1\n" + std::string(kMostText, 'x') + "\n" + std::string(kMostText + 1, 'x') + "\n4\n");
  const std::vector<std::string> lines = linesOf(path_);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[1].size(), kMostText + 2);
  EXPECT_EQ(lines[2], path_ + ":3: the line is longer than 1 MiB; it should hold numbers, one a line");
  EXPECT_EQ(lines[3], "4:4");
}

TEST_F(TextFile, WhatDoesNotEndIsRefused) {
  const std::vector<std::string> lines = linesOf("/dev/zero");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], AllOf(HasSubstr("/dev/zero"), HasSubstr("longer than 256 MiB"), HasSubstr("numbers")));
  auto file = open("/dev/full");
  std::string line;
  EXPECT_FALSE(file->next(line).ok());
  EXPECT_LE(line.capacity(), 2 * kMostText);
  const auto whole = readText("/dev/zero", "a number", Stage::kPlan);
  ASSERT_FALSE(whole.ok());
  EXPECT_EQ(whole.error().message, "/dev/zero is longer than 1 MiB; it should hold a number");
  write(std::string(kMostText + 1, 'x'));
  EXPECT_FALSE(readText(path_, "a number", Stage::kPlan).ok());
  write(std::string(kMostText, 'x'));
  EXPECT_TRUE(readText(path_, "a number", Stage::kPlan).ok());
  EXPECT_FALSE(findPin("/dev/zero", smallConvolution(), Pass::kDx, "avx2").ok());
  EXPECT_FALSE(readRecords("/dev/zero").ok());
}

TEST_F(TextFile, PipesAreReadAsFilesAre) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  const auto during = [&](const auto& reading) {
    std::thread writer([&] { write("1\n2\n"); });
    reading();
    writer.join();
  };
  during([&] { EXPECT_THAT(linesOf(path_), ElementsAre("1:1", "2:2")); });
  during([&] { EXPECT_EQ(readText(path_, "a number", Stage::kPlan).value(), "1\n2\n"); });
}

TEST_F(TextFile, WhatCannotBeReadSaysWhy) {
  for (const auto& [path, why] : std::vector<std::pair<std::string, std::string>>{
           {folder_.file(""), "it is a folder"}, {folder_.file("none"), "No such file"}, {"", "No such file"}}) {
    const auto text = readText(path, "a number", Stage::kPlan);
    ASSERT_FALSE(text.ok());
    EXPECT_EQ(text.error().code, ErrorCode::kIo);
    EXPECT_THAT(text.error().message, HasSubstr("cannot read " + path + ": " + why));
    EXPECT_THAT(linesOf(path), ElementsAre(text.error().message));
  }
}

TEST(Printable, IsOneLineWithoutControls) {
  EXPECT_EQ(printable("a\nb\x1b[31m\r\x7f\tc"), "a\\x0ab\\x1b[31m\\x0d\\x7f\tc");
  EXPECT_EQ(printable("gr\xc3\xb6\xc3\x9f\x65 \xc2\x9b \xff"), "gr\xc3\xb6\xc3\x9f\x65 \\xc2\\x9b \\xff");
  EXPECT_EQ(printable(printable("\n")), printable("\n"));
}

}  // namespace
}  // namespace cubejit
