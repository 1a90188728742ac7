// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the memory random VectorPrograms run on: the same bytes for the same seed, what is written between guard words.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>

#include "codegen/vector/interpret.h"
#include "codegen/vector/print.h"
#include "cubejit/kernel_args.h"
#include "tests/support/random_vector_program.h"

namespace cubejit {

inline constexpr std::size_t kGuardWords = 64;
inline constexpr std::uint32_t kGuard = 0x5ca1ab1e;

// Memory of one run: floats to read, scalars to read, floats to write, the last between guard words.
struct RandomArena {
  alignas(64) std::uint32_t a[kRandomArenaBytes / 4];
  alignas(64) std::int64_t list[kRandomArenaBytes / 8];
  alignas(64) std::uint32_t c[2 * kGuardWords + kRandomArenaBytes / 4];

  explicit RandomArena(unsigned seed) {
    std::mt19937 rng(seed);
    std::uniform_real_distribution<float> real(-1, 1);
    for (auto& w : a) {
      const float f = real(rng);
      std::memcpy(&w, &f, 4);
      w &= ~0x400U;  // nor is the lower half a NaN, as f16 or bf16: which of two NaNs an operation keeps is not said
    }
    for (auto& w : list) w = static_cast<std::int64_t>(rng() % 64) - 8;
    for (auto& w : c) w = kGuard;
    for (std::size_t i = 0; i < kRandomArenaBytes / 4; ++i) c[kGuardWords + i] = a[i] ^ 0x80000000u;
  }
  KernelArgs args() {
    KernelArgs args;
    args.a = a;
    args.c = c + kGuardWords;
    args.list = list;
    args.repeat = 3;
    args.aRepeat = -2;
    return args;
  }
  bool guardsIntact() const {
    for (std::size_t i = 0; i < kGuardWords; ++i) {
      if (c[i] != kGuard || c[std::size(c) - 1 - i] != kGuard) return false;
    }
    return true;
  }
};

/// Interprets the program on `left`, and what legalize() made of it on a copy: both must leave the same.
inline testing::AssertionResult leavesTheSame(const VectorProgram& given, const VectorProgram& legal,
                                              RandomArena& left) {
  RandomArena rewritten = left;
  for (const Status& ran : {interpret(given, left.args()), interpret(legal, rewritten.args())}) {
    if (!ran.ok()) return testing::AssertionFailure() << ran.error().message;
  }
  if (std::memcmp(left.c, rewritten.c, sizeof left.c) == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "legalize changed the meaning\n" << print(given) << print(legal);
}

}  // namespace cubejit
