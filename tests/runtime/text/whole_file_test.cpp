// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: is a file old or new, and never anything between?
#include "runtime/text/whole_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/tuning_cases.h"

namespace cubejit {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class WholeFile : public ::testing::Test {
 protected:
  static std::string textOf(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  int files() const {
    return static_cast<int>(
        std::distance(fs::directory_iterator(fs::path(path_).parent_path()), fs::directory_iterator()));
  }
  ScratchFolder folder_{"whole_file"};
  const std::string path_ = folder_.file("result");
};

// Until the limit is given back no file grows past so many bytes.
class LargestFile {
 public:
  explicit LargestFile(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit less{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &less);
  }
  ~LargestFile() { setrlimit(RLIMIT_FSIZE, &before_); }
  LargestFile(const LargestFile&) = delete;
  LargestFile& operator=(const LargestFile&) = delete;

 private:
  rlimit before_{};
};

TEST_F(WholeFile, ReplacesWhatWasThereOnlyAtTheEnd) {
  ASSERT_TRUE(writeWholeFile(path_, "old").ok());
  {
    StagedFile file(path_);
    ASSERT_TRUE(file.open().ok());
    ASSERT_TRUE(file.fill({"ne", "w"}).ok());
    EXPECT_EQ(textOf(path_), "old");
    ASSERT_TRUE(file.publish().ok());
  }
  EXPECT_EQ(textOf(path_), "new");
  EXPECT_EQ(files(), 1);
  {
    StagedFile file(path_);
    ASSERT_TRUE(file.open().ok());
    ASSERT_TRUE(file.fill({"given up"}).ok());
    EXPECT_EQ(files(), 2);
  }
  EXPECT_EQ(textOf(path_), "new");
  EXPECT_EQ(files(), 1);
}

TEST_F(WholeFile, HasTheRightsOfAnyNewFile) {
  const mode_t mask = umask(0027);
  ASSERT_TRUE(writeWholeFile(path_, "x").ok());
  umask(mask);
  EXPECT_EQ(static_cast<unsigned>(fs::status(path_).permissions()), 0640U);
}

TEST_F(WholeFile, AFullDiskLeavesWhatWasThere) {
  ASSERT_TRUE(writeWholeFile(path_, "old").ok());
  const LargestFile limit(100);
  const Status status = writeWholeFile(path_, std::string(1000, 'x'));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  EXPECT_THAT(status.error().message, HasSubstr("cannot write " + path_ + ": "));
  EXPECT_EQ(textOf(path_), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(WholeFile, FollowsLinksAndLeavesThem) {
  const std::string link = folder_.file("link");
  fs::create_symlink(path_, link);
  ASSERT_TRUE(writeWholeFile(link, "first").ok());
  ASSERT_TRUE(writeWholeFile(link, "second").ok());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(textOf(path_), "second");
}

TEST_F(WholeFile, RefusesFoldersAndSaysWhy) {
  for (const std::string& path : {fs::path(path_).parent_path().string(), std::string(), folder_.file("no/such")}) {
    const Status status = writeWholeFile(path, "x");
    ASSERT_FALSE(status.ok()) << path;
    EXPECT_THAT(status.error().message, HasSubstr("cannot write " + path + ": "));
  }
}

TEST_F(WholeFile, WritesToWhatIsNoFile) {
  EXPECT_TRUE(writeWholeFile("/dev/null", "x").ok());
  const Status full = writeWholeFile("/dev/full", "x");
  ASSERT_FALSE(full.ok());
  EXPECT_THAT(full.error().message, HasSubstr("No space left"));
  EXPECT_TRUE(fs::exists("/dev/full"));
}

TEST_F(WholeFile, AppendsAllOrNothing) {
  ASSERT_TRUE(appendWhole(path_, "one\n", 0600, Links::kRefuse).ok());
  ASSERT_TRUE(appendWhole(path_, "two\n", 0600, Links::kRefuse).ok());
  {
    const LargestFile limit(100);
    EXPECT_FALSE(appendWhole(path_, std::string(1000, 'x') + "\n", 0600, Links::kRefuse).ok());
  }
  EXPECT_EQ(textOf(path_), "one\ntwo\n");
  const std::string link = folder_.file("link");
  fs::create_symlink(path_, link);
  EXPECT_FALSE(appendWhole(link, "three\n", 0600, Links::kRefuse).ok());
  EXPECT_TRUE(appendWhole(link, "three\n", 0600, Links::kFollow).ok());
  EXPECT_EQ(textOf(path_), "one\ntwo\nthree\n");
  fs::resize_file(path_, fs::file_size(path_) - 1);  // as an editor may leave it
  EXPECT_TRUE(appendWhole(path_, "four\n", 0600, Links::kRefuse).ok());
  EXPECT_EQ(textOf(path_), "one\ntwo\nthree\nfour\n");
}

}  // namespace
}  // namespace cubejit
