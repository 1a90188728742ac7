// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of printing kernels: every documented conversion with every documented type, and tensors.
#include "cubejit_ascendc/kernel_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cubejit_ascendc/launch.h"

namespace cubejit::ascendc {
namespace {

template <class... Args>
std::string printed(const char* format, Args&&... args) {
  testing::internal::CaptureStdout();
  AscendC::printf(format, args...);
  std::fflush(stdout);
  return testing::internal::GetCapturedStdout();
}

TEST(KernelText, ConversionsTakeEveryType) {
  EXPECT_EQ(printed("fmt string %d\n", 0x123), "fmt string 291\n");
  EXPECT_EQ(printed("%d %i %u", std::int8_t{-5}, INT64_MIN, UINT64_MAX),
            "-5 -9223372036854775808 18446744073709551615");
  EXPECT_EQ(printed("%x %X %o %u", std::int32_t{-1}, std::uint8_t{255}, std::int16_t{-1}, std::int8_t{-1}),
            "ffffffff FF 177777 255");
  EXPECT_EQ(printed("%f %.2f %lf %e", 0.5F, half(1.0F / 3.0F), bfloat16_t(3.0F), 1e300),
            "0.500000 0.33 3.000000 1.000000e+300");
  EXPECT_EQ(printed("%5d|%-5ld|%05llu|%+d|%c|%d", 1, 2L, 3ULL, 4, 'x', true), "    1|2    |00003|+4|x|1");
  EXPECT_EQ(printed("%s and %10.3s", "text", "longer"), "text and        lon");
  int* const null = nullptr;
  EXPECT_EQ(printed("%p", null), "(nil)");
  EXPECT_EQ(printed("%p", reinterpret_cast<const char*>(0x10)), "0x10");
}

TEST(KernelText, WhatDoesNotFitIsNoTrap) {
  EXPECT_EQ(printed("100%% of %s, %d and %d", 7, 2.75F), "100% of (no text), 2 and %d");
  EXPECT_EQ(printed("%n %*d %y %", 1), "%n %*d %y %");
  EXPECT_EQ(printed("%f", 3), "3.000000");
}

TEST(KernelText, TensorsAreDumpedWithinTheirMemory) {
  std::vector<half> memory{half(1.0F), half(2.5F), half(-3.0F)};
  std::vector<std::int8_t> bytes{-1, 2};
  const auto kernel = [](half* gm, std::int8_t* whole) {
    AscendC::GlobalTensor<half> tensor;
    tensor.SetGlobalBuffer(gm);
    AscendC::DumpTensor(tensor[1], 5, 2);
    AscendC::DumpTensor(tensor, 6, 4);
    AscendC::GlobalTensor<std::int8_t> small;
    small.SetGlobalBuffer(whole);
    AscendC::DumpTensor(small, 7, 2);
    AscendC::PRINTF("block %d\n", AscendC::GetBlockIdx());
  };
  LaunchOptions options;
  options.blocks = 1;
  testing::internal::CaptureStdout();
  const auto report = launch(options, kernel, globalMemory(memory), globalMemory(bytes));
  std::fflush(stdout);
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              testing::MatchesRegex("DumpTensor: desc=5, addr=0x[0-9a-f]+, data_type=float16, position=GM, "
                                    "dump_size=2\n\\[2.500000, -3.000000\\]\n"
                                    "DumpTensor: desc=7, .*data_type=int8, .*\n\\[-1, 2\\]\nblock 0\n"));
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().message, "core 0, DumpTensor: 8 bytes from byte 0 of memory of 6 bytes");
}

}  // namespace
}  // namespace cubejit::ascendc
