// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of `verify`: does its exit code tell what was verified from what was not?
#include "tests/support/cli.h"

namespace cubejit {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kVerified = "--input 1,4,8 --weight 4,4,3";

TEST_F(Cli, WhereNothingWasVerifiedThatIsSaid) {
  const auto skipped = [&](const std::string& words, int count) {
    const Outcome o = run("verify " + words);
    EXPECT_EQ(o.code, 7) << words << "\n" << o.err;
    EXPECT_EQ(o.out, "0 passed, 0 failed, " + std::to_string(count) + " skipped\n");
    EXPECT_THAT(o.err, AllOf(HasSubstr("skipped "), HasSubstr("error[nothing_checked]: "), HasSubstr("= help: "),
                             HasSubstr("= repro: cubejit verify " + words)));
  };
  skipped(std::string(kVerified) + " --max-elements 0", 1);
  skipped("--fuzz 3 --max-elements 0", 3);
  write("two.jsonl", R"({"name":"small","n":1,"ci":2,"co":2,"input":[1,1,5],"output":[1,1,3],"kernel":[1,1,3]})"
                     "\n"
                     R"({"name":"large","n":1,"ci":2,"co":2,"input":[1,1,500],"output":[1,1,498],"kernel":[1,1,3]})"
                     "\n");
  const Outcome some = run("verify --suite two.jsonl --max-elements 100");
  EXPECT_EQ(some.code, 0) << some.err;
  EXPECT_EQ(some.out, "1 passed, 0 failed, 1 skipped\n");
}

}  // namespace
}  // namespace cubejit
