// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a test asks that a kernel means the same at every stage: both interpreters and the code, on copies of the same memory.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "codegen/backend.h"
#include "codegen/tile/interpret.h"
#include "codegen/vector/interpret.h"
#include "codegen/vector/legalize.h"
#include "codegen/vector/print.h"
#include "codegen/vectorize.h"
#include "tests/support/run_code.h"

namespace cubejit {

/// Runs the kernel four ways on copies of `c`; args.c is set here, and args.d `d` words behind it. All of a copy must be the same.
inline void agreeInBits(const Kernel& kernel, IsaLevel level, KernelArgs args, const std::vector<float>& c,
                        std::size_t d = 0) {
  const auto program = vectorize(kernel, isaOf(level));
  ASSERT_TRUE(program.ok()) << program.error().message;
  const auto legal = legalize(*program);
  ASSERT_TRUE(legal.ok()) << legal.error().message;
  const auto code = emitXbyak(*legal);
  ASSERT_TRUE(code.ok()) << code.error().message;
  const auto outcome = [&](auto&& run) {
    std::vector<float> copy = c;
    args.c = copy.data();
    args.d = copy.data() + d;
    run();
    return copy;
  };
  const auto same = [](const std::vector<float>& x, const std::vector<float>& y) {
    return std::memcmp(x.data(), y.data(), x.size() * 4) == 0;
  };
  const std::vector<float> wanted = outcome([&] { interpret(kernel, args); });
  EXPECT_TRUE(same(wanted, outcome([&] { EXPECT_TRUE(interpret(*program, args).ok()); }))) << "vectorize\n"
                                                                                           << print(*program);
  EXPECT_TRUE(same(wanted, outcome([&] { EXPECT_TRUE(interpret(*legal, args).ok()); }))) << "legalize\n"
                                                                                         << print(*legal);
  if (hostRuns(level)) {
    EXPECT_TRUE(same(wanted, outcome([&] { EXPECT_TRUE(runCode(*code, args)); }))) << "emit\n" << print(*legal);
  }
}

}  // namespace cubejit
