// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that fast programs of a chip leave the bits of faithful ones, whatever the operands hold: infinities, NaNs, and values whose
// products underflow.
#include "runtime/chip/chip_transforms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>

#include "codegen/tile/element.h"
#include "codegen/tile/touch.h"
#include "codegen/tile/walk.h"
#include "cubejit/cubejit.hpp"
#include "cubejit/emulation.h"
#include "cubejit/index_map.h"
#include "cubejit/machines.h"
#include "runtime/pipeline/compile.h"
#include "runtime/verify/random_problem.h"
#include "tests/support/layers.h"
#include "tests/support/unit_models/run_units.h"

namespace cubejit {
namespace {

Problem strided(DType type) {
  return ofType(type, planeProblem(2, 20, 24, {1, 13, 15}, {1, 3, 3}, {0, 1, 1}, {1, 2, 2}));
}

// Elements of a tensor: small reals, and `value` here and there.
std::vector<char> memoryOf(const Problem& p, TensorId t, std::mt19937_64& random, float value) {
  const DType type = formatOf(p, t).dtype;
  const std::int64_t e = byteSize(type), count = formatBytes(p, t) / e;
  const std::vector<float> reals = randomReals(random, count);
  std::vector<char> memory(static_cast<std::size_t>(count * e));
  for (std::int64_t i = 0; i < count; ++i) {
    const bool odd = value != 1.0F && random() % 7 == 0;
    writeElement(elementOf(e == 4 ? DType::kF32 : type), memory.data() + i * e,
                 bitsOf(odd ? value : reals[static_cast<std::size_t>(i)]));
  }
  return memory;
}

// dX of dy and w, or dW of dy and x.
Tensors tensorsOf(Pass g, const std::vector<char>& dy, const std::vector<char>& other, std::vector<char>& result) {
  Tensors tensors;
  tensors.dy = dy.data();
  (g == Pass::kDx ? tensors.w : tensors.x) = other.data();
  (g == Pass::kDx ? tensors.dx : tensors.dw) = result.data();
  return tensors;
}

Result<std::vector<char>> programOf(Pass g, const Problem& p, const char* chip, bool fast, const std::vector<char>& dy,
                                    const std::vector<char>& other, int threads = 0,
                                    const std::vector<TilingPlan>& plans = {}) {
  Options options;
  options.machine = machineByName(chip).value();
  options.elideCopies = fast;
  options.threads = threads;
  Session session(options);
  CUBEJIT_TRY(executable, session.compile(CompileRequest{p, maskOf(g), plans}));
  const bool pairs = p.dtype == DType::kBf16 && isaOf(executable->state().isa.level).bf16Dot;
  EXPECT_EQ(executable->state().parts.front()->anyValues != nullptr,
            (fast && g == Pass::kDx && p.stride.h > 1) || pairs);
  std::vector<char> result(static_cast<std::size_t>(formatBytes(p, resultOf(g))), '\x55');
  const std::size_t bytes = executable->workspaceBytes(2);
  const std::unique_ptr<void, decltype(&std::free)> workspace(std::aligned_alloc(64, (bytes + 63) / 64 * 64),
                                                              &std::free);
  CUBEJIT_RETURN_IF_ERROR(executable->run(tensorsOf(g, dy, other, result), workspace.get(), bytes, 2));
  return result;
}

// What the models of the chip's units leave.
std::vector<char> modelsOf(Pass g, const Problem& p, const char* chip, const std::vector<char>& dy,
                           const std::vector<char>& other) {
  EmulationRequest request{p, g, machineByName(chip).value(), {}};
  std::vector<char> result(static_cast<std::size_t>(formatBytes(p, resultOf(g))), '\x55');
  const Status ran = runUnits(request, tensorsOf(g, dy, other, result));
  EXPECT_TRUE(ran.ok()) << ran.error().message;
  return result;
}

TEST(ChipTransforms, FastProgramsLeaveTheBitsWhateverTheOperandsHold) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  std::mt19937_64 random(5);
  for (const DType type : {DType::kF16, DType::kBf16, DType::kF32, DType::kHf32}) {
    for (const float value : {1.0F, kInfinity, -kInfinity, kNan, -1e-30F, 1e-38F, 3e38F, 65504.0F, -6e-8F}) {
      for (const Pass g : {Pass::kDx, Pass::kDw}) {
        for (const bool inDy : {false, true}) {
          const Problem p = strided(type);
          const TensorId second = g == Pass::kDx ? TensorId::kW : TensorId::kX;
          const std::vector<char> dy = memoryOf(p, TensorId::kDy, random, inDy ? value : 1.0F),
                                  other = memoryOf(p, second, random, inDy ? 1.0F : value);
          const auto slow = programOf(g, p, "ascend910b2", false, dy, other),
                     fast = programOf(g, p, "ascend910b2", true, dy, other);
          ASSERT_TRUE(slow.ok() && fast.ok()) << (slow.ok() ? fast : slow).error().message;
          const std::string what = std::string(toString(g)) + " " + toString(type) + ", " + std::to_string(value) +
                                   " in " + toString(inDy ? TensorId::kDy : second);
          EXPECT_EQ(*slow, *fast) << what;
          EXPECT_EQ(*slow, modelsOf(g, p, "ascend910b2", dy, other)) << what;
        }
      }
    }
  }
}

// Four images, each a part of its own.
TEST(ChipTransforms, PartsHaveTheBitsOfTheFaithfulProgram) {
  Problem p = strided(DType::kF32);
  p.batch = 4;
  std::mt19937_64 random(7);
  // All of each operand: products that underflow to -0 and +0, and NaNs and infinities among reals.
  for (const float value : {1.0F, -1e-30F, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    std::vector<char> dy = memoryOf(p, TensorId::kDy, random, value), x = memoryOf(p, TensorId::kX, random, 1.0F);
    for (std::vector<char>* memory : {&dy, &x}) {
      for (std::size_t i = 0; value == -1e-30F && i < memory->size(); i += 4) {
        const float tiny = memory == &dy && random() % 2 == 0 ? value : -value;
        std::memcpy(memory->data() + i, &tiny, 4);
      }
    }
    const auto slow = programOf(Pass::kDw, p, "ascend910b2", false, dy, x);
    ASSERT_TRUE(slow.ok()) << slow.error().message;
    for (const int threads : {1, 64}) {
      const auto fast = programOf(Pass::kDw, p, "ascend910b2", true, dy, x, threads);
      ASSERT_TRUE(fast.ok()) << fast.error().message;
      EXPECT_EQ(*slow, *fast) << value << ", planned for " << threads;
    }
  }
}

TEST(ChipTransforms, ZerosAreLeftOutWhereTheyAddNothing) {
  std::mt19937_64 random(6);
  Machine chip = *machineByName("ascend910b2");
  const auto allows = [&](DType type, float inDy, float inW) {
    const Problem p = strided(type);
    const std::vector<char> dy = memoryOf(p, TensorId::kDy, random, inDy), w = memoryOf(p, TensorId::kW, random, inW);
    Tensors tensors;
    tensors.dy = dy.data();
    tensors.w = w.data();
    return valuesAllow(p, TilingPlan(Pass::kDx, CubePlan{}), chip, true, tensors);
  };
  EXPECT_TRUE(allows(DType::kF16, 1, 1));
  EXPECT_TRUE(allows(DType::kF16, std::numeric_limits<float>::infinity(), 1))
      << "0 is an element of w's, never of dy's";
  EXPECT_FALSE(allows(DType::kF16, 1, std::numeric_limits<float>::infinity()));
  EXPECT_TRUE(allows(DType::kF32, 1, 1));
  EXPECT_FALSE(allows(DType::kF32, 1e-30F, 1e-30F)) << "products underflow";
  chip.isa = avx512Bf16Isa();
  EXPECT_TRUE(allows(DType::kBf16, 1, 1));
  EXPECT_FALSE(allows(DType::kBf16, std::numeric_limits<float>::infinity(), 1))
      << "pairs want finite values on both sides";
  EXPECT_FALSE(valuesAllow(strided(DType::kF32), TilingPlan(Pass::kDx, CubePlan{}), chip, true, Tensors{}));
}

// Of each panel, however many blocks multiply it; another one that comes to lie where it was is read for itself.
TEST(ChipTransforms, WhatTheCubeReadsIsKeptForOtherBlocks) {
  const auto read = [](const TileProgram& program) {
    ProgramTouch touch(program);
    std::int64_t bytes = 0;
    for (const Phase& phase : program.phases) {
      walkCalls(phase, [&](const CallSite& site) {
        if (site.call->name == "read_l0a" || site.call->name == "read_l0b")
          bytes += touch.bytesOf(*site.variant, CallOperand::kC);
        return true;
      });
    }
    return bytes;
  };
  std::mt19937_64 random(8);
  for (const DType type : {DType::kF16, DType::kBf16, DType::kF32}) {
    Problem p = strided(type);
    p.cin = 96;
    p.cout = 64;
    p.in = p.out = {1, 7, 7};
    p.stride = {1, 1, 1};
    for (const Pass g : {Pass::kDx, Pass::kDw}) {
      Options options;
      options.machine = machineByName("ascend910b2").value();
      options.elideCopies = true;
      Session session(options);
      CompileRequest request{p, maskOf(g), {}};
      const auto planned = session.plan(p, g);
      ASSERT_TRUE(planned.ok()) << planned.error().message;
      TilingPlan plan = planned->plan;
      plan.cube().tile.base = {32, 32, 32};
      request.plans = {plan};
      const auto executable = session.compile(request);
      ASSERT_TRUE(executable.ok()) << executable.error().message;
      const CompiledPass& part = *(*executable)->state().parts.front();
      EXPECT_LT(10 * read(part.tile), 9 * read(*part.lowered)) << toString(g) << " " << toString(type);
      const TensorId second = g == Pass::kDx ? TensorId::kW : TensorId::kX;
      const std::vector<char> dy = memoryOf(p, TensorId::kDy, random, 1.0F), other = memoryOf(p, second, random, 1.0F);
      const auto fast = programOf(g, p, "ascend910b2", true, dy, other, 0, request.plans);
      ASSERT_TRUE(fast.ok()) << fast.error().message;
      const auto slow = programOf(g, p, "ascend910b2", false, dy, other, 0, request.plans);
      ASSERT_TRUE(slow.ok()) << slow.error().message;
      EXPECT_EQ(*slow, *fast) << toString(g) << " " << toString(type);
    }
  }
}

// Rows that only fill a fractal up, and products with the zeros that a stride puts between elements.
TEST(ChipTransforms, FewerProductsAreMade) {
  const auto products = [](const TileProgram& program) {
    std::int64_t count = 0;
    for (const Phase& phase : program.phases) {
      walkCalls(phase, [&](const CallSite& site) {
        const auto* contract = std::get_if<Contract>(&program.kernels[static_cast<std::size_t>(site.variant->kernel)]);
        if (contract == nullptr) return true;
        for (const Segment& s : program.lists[static_cast<std::size_t>(site.variant->list)].front())
          count += std::ssize(contract->accumulators) * s.outer * site.repeat;
        return true;
      });
    }
    return count;
  };
  Options options;
  options.machine = machineByName("ascend910b2").value();
  options.elideCopies = true;
  Session session(options);
  const auto executable = session.compile(strided(DType::kF16), {true, false, false});
  ASSERT_TRUE(executable.ok());
  const CompiledPass& part = *(*executable)->state().parts.front();
  ASSERT_TRUE(part.lowered.has_value());
  EXPECT_LT(3 * products(part.tile), products(*part.lowered)) << "a stride of 2 x 2 leaves a quarter, and a little";
  EXPECT_EQ(products(part.anyValues->tile), products(*part.lowered));
}

}  // namespace
}  // namespace cubejit
