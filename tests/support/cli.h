// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how tests of the command run it: in a folder of the test's own, which a refusal must leave as it was.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/command.h"

namespace cubejit {

class Cli : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("cubejit_cli_" + std::string(test->name()) + std::to_string(getpid()));
    logs_ = folder_.string() + "_logs";
    std::filesystem::create_directories(folder_);
    std::filesystem::create_directories(logs_);
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::remove_all(logs_);
  }

  // Runs the command in the test's folder.
  Outcome run(const std::string& arguments, const std::string& input = "", const std::string& environment = "") const {
    std::ofstream(logs_ / "in", std::ios::binary) << input;
    const std::string line = "cd " + folder_.string() + " && " + environment + " timeout 120 " + CUBEJIT_CLI + " " +
                             arguments + " <" + (logs_ / "in").string() + " >" + (logs_ / "out").string() + " 2>" +
                             (logs_ / "err").string();
    return outcomeOf(line, logs_ / "out", logs_ / "err");
  }

  // A refusal: this exit code, these words, the repro line, nothing on stdout and no new file.
  void refused(int code, const std::string& arguments, const std::vector<std::string>& words,
               const std::string& input = "", const std::string& environment = "") const {
    SCOPED_TRACE(arguments);
    const auto before = files();
    const Outcome o = run(arguments, input, environment);
    EXPECT_EQ(o.code, code) << o.err;
    EXPECT_EQ(o.out, "");
    for (const std::string& word : words) EXPECT_THAT(o.err, ::testing::HasSubstr(word));
    EXPECT_THAT(o.err, ::testing::AllOf(::testing::HasSubstr("error["), ::testing::HasSubstr("= repro: cubejit")));
    EXPECT_EQ(files(), before);
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_))
      names.push_back(entry.path().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  void write(const std::string& name, const std::string& contents) const {
    std::ofstream(folder_ / name, std::ios::binary) << contents;
  }

  std::filesystem::path folder_, logs_;
};

/// A NumPy file with this header and these values.
inline std::string npy(const std::string& shape, const std::vector<float>& values, const std::string& descr = "<f4",
                       const std::string& order = "False", int major = 1) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  while ((header.size() + (major == 1 ? 10 : 12) + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string file = "\x93NUMPY";
  file += static_cast<char>(major);
  file += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) file += static_cast<char>(header.size() >> (8 * i) & 255);
  return file + header + std::string(reinterpret_cast<const char*>(values.data()), values.size() * 4);
}

}  // namespace cubejit
