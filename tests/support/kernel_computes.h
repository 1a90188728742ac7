// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what it takes for the program of a kernel to compute what its text says: for vectors of 4, 8 and 16 lanes, the interpreter's results are the
// evaluation's.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "codegen/lang/lower.h"
#include "codegen/lang/parse.h"
#include "codegen/tile/interpret_program.h"
#include "tests/support/kernel_operands.h"

namespace cubejit {

inline const std::vector<IsaLevel> kLevels{IsaLevel::kNeon, IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kAvx512Bf16};

// Relative to the greatest result. Functions are right to a few units; a sum of numbers of both signs is far less than its terms.
inline constexpr double kFar = 1e-5;

inline void computesWhatItSays(const std::string& text, const lang::Settings& settings, unsigned seed,
                               double far = kFar, bool everywhere = false,
                               const std::vector<IsaLevel>& levels = kLevels) {
  const auto kernel = lang::parse(text, settings);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  for (const IsaLevel level : levels) {
    SCOPED_TRACE(toString(level));
    const auto program = lang::lower(*kernel, isaOf(level));
    if (!program.ok()) {
      EXPECT_THAT(program.error().message,
                  testing::AnyOf(testing::HasSubstr("registers"), testing::HasSubstr("dot product of bytes")))
          << text;
      EXPECT_FALSE(everywhere || isaOf(level).lanes() == 16) << program.error().message;
      continue;
    }
    KernelOperands operands(*kernel, *program, seed);
    const Status ran = interpret(*program, operands.addresses());
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    EXPECT_LE(operands.distance(), far);
  }
}

inline std::string withHead(const std::string& lines) { return "cubejit kernel 1\nkernel test\n" + lines; }

}  // namespace cubejit
