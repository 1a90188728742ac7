// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does the command help those who do not know its words yet?
#include <string>

#include "tests/support/cli.h"

namespace cubejit {
namespace {

using ::testing::HasSubstr;

TEST_F(Cli, UnknownWordsAreNamedWithTheNearest) {
  refused(2, "plna", {"unknown command 'plna'; the nearest is plan"});
  refused(2, "benhc --threads 2", {"unknown command 'benhc'; the nearest is bench"});
  refused(2, "tune-wroker", {"tune, db\n"});  // what only the command itself calls is not offered
  refused(2, "xyz", {"unknown command 'xyz'; there are targets, plan, "});
  refused(2, "db lst", {"unknown command 'lst' of db; the nearest is list"});
  refused(2, "db", {"subcommand is required"});
  refused(2, "plan --thread 2", {"unknown flag '--thread' of plan; the nearest is --threads"});
  refused(2, "plan --inptu=1,4,6", {"unknown flag '--inptu' of plan; the nearest is --input"});
  refused(2, "plan extra", {"unknown word 'extra' of plan"});
}

}  // namespace
}  // namespace cubejit
