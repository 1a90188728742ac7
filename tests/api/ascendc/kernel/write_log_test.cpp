// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of the log of writes: blocks that overwrite each other or themselves are told, once; adding, and parts of
// their own, are not.
#include "api/ascendc/kernel/write_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cubejit/cubejit.h"
#include "tests/support/ascend_dx_kernel.h"

namespace cubejit::ascendc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(WriteLog, TellsWhoOverwritesWhom) {
  std::vector<float> a(100), b(100);
  Placement place;  // 3 rows of 4, 10 apart
  place.rows = 3, place.columns = 4, place.rowStride = 10;
  {
    WriteLog log({globalMemory(a), globalMemory(b)});
    EXPECT_EQ(log.wrote({0, 0}, a.data(), place, 4, false).what, "");
    EXPECT_EQ(log.wrote({1, 0}, a.data() + 4, place, 4, false).what, "") << "beside it";
    EXPECT_EQ(log.wrote({1, 0}, b.data(), place, 4, false).what, "") << "another tensor";
    EXPECT_EQ(log.wrote({0, 0}, a.data(), place, 4, true).what, "") << "adds to its own";
    EXPECT_THAT(log.wrote({2, 0}, a.data() + 23, place, 4, false).what,
                HasSubstr("blocks 0 and 2 write the same results"));
    EXPECT_EQ(log.wrote({2, 0}, a.data(), place, 4, false).what, "") << "told before";
  }
  WriteLog adds({globalMemory(a)});
  for (const std::int64_t block : {0, 1, 2, 1}) EXPECT_EQ(adds.wrote({block, 0}, a.data(), place, 4, true).what, "");
  EXPECT_THAT(adds.wrote({3, 0}, a.data(), place, 4, false).what, HasSubstr("blocks 1 and 3"));
  WriteLog own({globalMemory(a)});
  EXPECT_EQ(own.wrote({5, 0}, a.data(), place, 4, false).what, "");
  EXPECT_THAT(own.wrote({5, 0}, a.data(), place, 4, false).what,
              HasSubstr("block 5 overwrites results that it wrote before"));
  EXPECT_EQ(own.wrote({6, 0}, b.data(), place, 4, false).what, "") << "memory that nobody told of";
}

// Blocks of a launch that compute the same depth, or two.
TEST(WriteLog, LaunchesNoteIt) {
  SmallInputGradient s;
  const auto notes = [&](bool apart, std::uint8_t atomic) {
    LaunchOptions options;
    options.blocks = 2;
    options.hostThreads = 1;
    const auto report = launch(
        options,
        [&](half* result) {
          InputGradient<half> g;
          s.prepare(g);
          g.SetStartPosition(apart ? static_cast<std::uint32_t>(AscendC::GetBlockIdx()) : 0, -1);
          AscendC::GlobalTensor<half> out;
          out.SetGlobalBuffer(result);
          while (g.Iterate()) g.GetTensorC(out, atomic);
          g.End();
        },
        globalMemory(s.gradInput));
    EXPECT_TRUE(report.ok());
    return report.ok() ? report->notes : std::vector<std::string>{"failed"};
  };
  EXPECT_THAT(notes(true, 0), IsEmpty());
  EXPECT_THAT(notes(false, 1), IsEmpty());
  EXPECT_THAT(notes(false, 0), ElementsAre(HasSubstr("blocks 0 and 1 write the same results")));
}

}  // namespace
}  // namespace cubejit::ascendc
