// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that emulated chips compute gradients: random problems on several chips against the fp64 reference, with exact equality, and
// the same bits and counts for every number of host threads.
#include "cubejit/emulation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "algorithms/cube/rules.h"
#include "cubejit/index_map.h"
#include "cubejit/machines.h"
#include "runtime/verify/format_tensor.h"
#include "runtime/verify/random_problem.h"
#include "runtime/verify/reference_conv.h"
#include "tests/support/unit_models/run_units.h"
#include "tiling/check_problem.h"

namespace cubejit {
namespace {

struct Data {
  std::vector<float> dy, x, w;
  std::vector<char> dyMemory, xMemory, wMemory;
};

Status runProgram(const EmulationRequest& request, const Tensors& tensors, const Options& options = {},
                  const EmulationRun& how = {}) {
  CUBEJIT_TRY(emulation, Emulation::create(request, options));
  CUBEJIT_RETURN_IF_ERROR(emulation->run(tensors, how));
  return Unit{};
}

Data dataOf(const Problem& p, std::mt19937_64& random) {
  Data d;
  const double summands = 64 + static_cast<double>(p.batch * std::max(p.in.volume(), p.out.volume())) +
                          static_cast<double>(p.kernel.volume() * std::max(p.cin, p.cout));
  const auto make = [&](TensorId t, std::vector<float>& plain, std::vector<char>& memory) {
    plain = randomIntegers(random, plainElements(p, t), summands);
    memory.assign(static_cast<std::size_t>(formatBytes(p, t)), 0);
    encodeTensor(p, t, plain, memory.data());
    if (formatOf(p, t).strided()) plain = decodeTensor(p, t, memory.data()).plain;
  };
  make(TensorId::kDy, d.dy, d.dyMemory);
  make(TensorId::kX, d.x, d.xMemory);
  make(TensorId::kW, d.w, d.wMemory);
  return d;
}

std::string describe(const Problem& p) {
  std::string text;
  const auto add = [&](const char* name, const Dhw& v) {
    text += std::string(name) + std::to_string(v.d) + "," + std::to_string(v.h) + "," + std::to_string(v.w) + " ";
  };
  text += "n" + std::to_string(p.batch) + " g" + std::to_string(p.groups) + " ci" + std::to_string(p.cin) + " co" +
          std::to_string(p.cout) + (p.transposed ? " transposed " : " ") + toString(p.dtype) + " ";
  add("in", p.in), add("k", p.kernel), add("out", p.out), add("s", p.stride), add("dil", p.dilation);
  add("pad", p.padBefore);
  return text;
}

// Empty if every element is what the reference says.
std::string difference(const Problem& p, Pass pass, const Machine& machine, const Data& d,
                       const std::optional<TilingPlan>& plan = {}) {
  const TensorId t = pass == Pass::kDx ? TensorId::kDx : TensorId::kDw;
  EmulationRequest request{p, pass, machine, plan};
  const auto emulation = Emulation::create(request);
  if (!emulation.ok()) {
    if (emulation.error().code == ErrorCode::kUnsupported || emulation.error().code == ErrorCode::kNoFeasiblePlan)
      return "skipped";
    return emulation.error().message;
  }
  std::vector<char> result(static_cast<std::size_t>(formatBytes(p, t)), static_cast<char>(0xff));
  Tensors tensors{d.dyMemory.data(), d.xMemory.data(), d.wMemory.data(), nullptr, nullptr, nullptr};
  (pass == Pass::kDx ? tensors.dx : tensors.dw) = result.data();
  const auto report = (*emulation)->run(tensors);
  if (!report.ok()) return report.error().message;
  PassMask mask;
  (pass == Pass::kDx ? mask.dx : mask.dw) = true;
  const ReferenceResults want = referenceResults(plainProblem(p), mask, d.dy, d.x, d.w);
  const std::vector<double>& values = pass == Pass::kDx ? want.dx : want.dw;
  const DecodedTensor got = decodeTensor(p, t, result.data());
  if (got.dirtyPadding >= 0) return "padding " + std::to_string(got.dirtyPadding) + " is not zero";
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float wanted = roundedTo(formatOf(p, t).dtype, static_cast<float>(values[i]));
    if (!(got.plain[i] == wanted))
      return "element " + std::to_string(i) + " of " + std::to_string(values.size()) + " is " +
             std::to_string(got.plain[i]) + ", should be " + std::to_string(wanted);
  }
  return {};
}

void fuzz(const std::string& chip, DType type, int count, std::uint64_t seed, bool layouts) {
  const Machine machine = *machineByName(chip);
  std::mt19937_64 random(seed);
  int compared = 0;
  for (int i = 0; i < count; ++i) {
    Problem p = randomProblem(random, 2e5);
    p.dtype = type;
    if (layouts) randomFormats(random, p, false, true);
    ASSERT_TRUE(checkProblem(p).ok());
    const Data d = dataOf(p, random);
    for (const Pass pass : {Pass::kDx, Pass::kDw}) {
      const std::string wrong = difference(p, pass, machine, d);
      if (wrong == "skipped") continue;
      ++compared;
      EXPECT_EQ(wrong, "") << chip << " " << toString(pass) << " " << describe(p) << " seed " << seed << " #" << i;
    }
  }
  EXPECT_GT(compared, count);
}

TEST(Emulation, RandomProblemsOnTheToy) {
  fuzz("toy", DType::kF16, 40, 1, true);
  fuzz("toy", DType::kF32, 40, 2, true);
  fuzz("toy", DType::kBf16, 20, 3, false);
  fuzz("toy", DType::kHf32, 20, 4, false);
}

TEST(Emulation, RandomProblemsOnChips) {
  fuzz("ascend910a", DType::kF16, 20, 5, true);
  fuzz("ascend310p3", DType::kF16, 20, 6, false);
  fuzz("ascend910b2", DType::kF16, 20, 7, true);
  fuzz("ascend910b2", DType::kF32, 20, 8, true);
  fuzz("ascend910_9391", DType::kBf16, 10, 9, false);
}

// Tilings filled by hand: every legal one computes the same gradient, whatever its blocks, steps, buffers, order and tasks are.
TEST(Emulation, AnyLegalTilingComputesTheGradient) {
  std::mt19937_64 random(21);
  const Machine machine = *machineByName("toy");
  const auto pick = [&](std::initializer_list<std::int64_t> values) {
    return values.begin()[random() % values.size()];
  };
  int legal = 0;
  for (int i = 0; i < 30; ++i) {
    Problem p = randomProblem(random, 2e5);
    p.dtype = DType::kF16;
    p.batch = std::max<std::int64_t>(1, p.batch);
    const Data d = dataOf(p, random);
    for (const Pass pass : {Pass::kDx, Pass::kDw}) {
      const auto planned = planOnNpu(p, pass, machine);
      if (!planned.ok()) continue;
      for (int change = 0; change < 12; ++change) {
        TilingPlan plan = planned->plan;
        CubeTile& t = plan.cube().tile;
        t.base = {pick({16, 32, 64}), pick({16, 32, 48}), pick({16, 32, 48})};
        t.stepM = pick({1, 1, 2}), t.stepN = pick({1, 1, 3}), t.stepKa = pick({1, 2, 5}), t.stepKb = pick({1, 3, 4});
        t.buffersL0a = pick({1, 2}), t.buffersL0b = pick({1, 2}), t.buffersL0c = pick({1, 2});
        t.buffersA1 = pick({1, 2}), t.buffersB1 = pick({1, 2});
        t.order = random() % 2 == 0 ? BlockOrder::kMOuter : BlockOrder::kNOuter;
        const CubeWork work = cubeWorkOf(p, pass, machine);
        std::int64_t& pixels = pass == Pass::kDx ? plan.cube().singleShape.m : plan.cube().singleShape.k;
        pixels = pick({work.row(), 2 * work.row(), std::max<std::int64_t>(1, work.row() / 2), pixels});
        plan.cube().cores = splitOf(work, plan.cube().singleShape);
        if (!checkOnNpu(p, plan, machine).empty()) continue;
        ++legal;
        EXPECT_EQ(difference(p, pass, machine, d, plan), "") << toString(pass) << " " << describe(p);
      }
    }
  }
  EXPECT_GT(legal, 150);
}

// What --fast keeps is of one run: other tensors in the same places, and threads that share tasks otherwise, give what staging gives.
TEST(Emulation, PanelsAreKeptForOneRunOnly) {
  std::mt19937_64 random(31);
  Problem p;
  p.rank = 2;
  p.batch = 3;
  p.cin = 40;
  p.cout = 70;
  p.in = {1, 15, 13};
  p.kernel = {1, 3, 3};
  p.padBefore = p.padAfter = {0, 1, 1};
  for (const std::int64_t stride : {1, 2}) {
    p.stride = {1, stride, stride};
    p.out = {1, (p.in.h - 1) / stride + 1, (p.in.w - 1) / stride + 1};
    for (const DType type : {DType::kF16, DType::kBf16, DType::kF32}) {
      p.dtype = type;
      ASSERT_TRUE(checkProblem(p).ok());
      for (const Pass pass : {Pass::kDx, Pass::kDw}) {
        EmulationRequest request{p, pass, *machineByName("ascend910b2"), {}};
        const auto staged = Emulation::create(request);
        request.fast = true;
        const auto fast = Emulation::create(request);
        ASSERT_TRUE(staged.ok() && fast.ok());
        Data d = dataOf(p, random);
        const auto bytes = static_cast<std::size_t>(formatBytes(p, pass == Pass::kDx ? TensorId::kDx : TensorId::kDw));
        for (int run = 0; run < 4; ++run) {
          for (const auto& [t, memory] :
               {std::pair{TensorId::kDy, &d.dyMemory}, {TensorId::kX, &d.xMemory}, {TensorId::kW, &d.wMemory}})
            encodeTensor(p, t, randomReals(random, plainElements(p, t)), memory->data());
          std::vector<char> results[2];
          EmulationReport reports[2];
          for (int way = 0; way < 2; ++way) {
            results[way].assign(bytes, static_cast<char>(0xff));
            Tensors tensors{d.dyMemory.data(), d.xMemory.data(), d.wMemory.data(), nullptr, nullptr, nullptr};
            (pass == Pass::kDx ? tensors.dx : tensors.dw) = results[way].data();
            EmulationRun how;
            how.threads = way == 0 ? 1 : 1 + run % 3;
            const auto report = (way == 0 ? *staged : *fast)->run(tensors, how);
            ASSERT_TRUE(report.ok()) << report.error().message;
            reports[way] = *report;
          }
          EXPECT_EQ(results[1] == results[0], true) << toString(pass) << " run " << run << " " << describe(p);
          EXPECT_EQ(reports[1].cycles, reports[0].cycles);
          EXPECT_EQ(reports[1].total.bytes, reports[0].total.bytes);
          EXPECT_EQ(reports[1].total.highWater, reports[0].total.highWater);
          EXPECT_EQ(reports[1].total.cubeSteps, reports[0].total.cubeSteps);
        }
      }
    }
  }
}

// Generated code (or its interpreters) and the scalar models leave the same bits, on reals.
TEST(Emulation, GeneratedUnitsAgreeWithTheirModels) {
  std::mt19937_64 random(12);
  const std::pair<const char*, DType> chips[] = {{"toy", DType::kF16},
                                                 {"toy", DType::kF32},
                                                 {"toy", DType::kHf32},
                                                 {"ascend910b2", DType::kBf16},
                                                 {"ascend310p3", DType::kF16}};
  for (int i = 0; i < 40; ++i) {
    const auto& [chip, type] = chips[i % 5];
    Problem p = randomProblem(random, 1e5);
    p.dtype = type;
    p.batch = std::max<std::int64_t>(1, p.batch);
    Data d = dataOf(p, random);
    for (const auto& [t, memory] :
         {std::pair{TensorId::kDy, &d.dyMemory}, {TensorId::kX, &d.xMemory}, {TensorId::kW, &d.wMemory}})
      encodeTensor(p, t, randomReals(random, plainElements(p, t)), memory->data());
    for (const Pass pass : {Pass::kDx, Pass::kDw}) {
      const auto bytes = static_cast<std::size_t>(formatBytes(p, pass == Pass::kDx ? TensorId::kDx : TensorId::kDw));
      std::vector<std::vector<char>> results;
      for (int way = 0; way < 6; ++way) {
        EmulationRequest request{p, pass, *machineByName(chip), {}};
        request.fast = way >= 4;
        Options options;
        if (way == 2) options.backend = BackendKind::kTileInterpreter;
        if (way == 3 || way == 5) options.isa = IsaLevel::kAvx2;
        if (way == 2 && i % 4 != 0) continue;  // slow
        results.emplace_back(bytes, static_cast<char>(0xff));
        Tensors tensors{d.dyMemory.data(), d.xMemory.data(), d.wMemory.data(), nullptr, nullptr, nullptr};
        (pass == Pass::kDx ? tensors.dx : tensors.dw) = results.back().data();
        const Status ran = way == 0 ? runUnits(request, tensors) : runProgram(request, tensors, options);
        ASSERT_TRUE(ran.ok()) << ran.error().message;
        EXPECT_EQ(results.back() == results.front(), true) << chip << " way " << way << " " << describe(p);
      }
    }
  }
}

// Of bf16 some operands are so small, some so large, that pairs must not be multiplied at once.
TEST(Emulation, PairsOfBf16LeaveTheBitsOfSingleProducts) {
  std::mt19937_64 random(14);
  for (int i = 0; i < 18; ++i) {
    Problem p = randomProblem(random, 1e5);
    p.dtype = DType::kBf16;
    p.batch = std::max<std::int64_t>(1, p.batch);
    Data d = dataOf(p, random);
    for (const auto& [t, memory] :
         {std::pair{TensorId::kDy, &d.dyMemory}, {TensorId::kX, &d.xMemory}, {TensorId::kW, &d.wMemory}}) {
      std::vector<float> values = randomReals(random, plainElements(p, t));
      for (float& v : values) {
        if (i % 3 == 1) v = std::ldexp(v, -60 - static_cast<int>(random() % 8));
        if (i % 3 == 2 && random() % 97 == 0) v = std::ldexp(v, random() % 2 == 0 ? -130 : 58);
      }
      encodeTensor(p, t, values, memory->data());
    }
    for (const Pass pass : {Pass::kDx, Pass::kDw}) {
      const auto bytes = static_cast<std::size_t>(formatBytes(p, pass == Pass::kDx ? TensorId::kDx : TensorId::kDw));
      std::vector<std::vector<char>> results;
      for (const int way : {0, 1, 2}) {
        EmulationRequest request{p, pass, *machineByName("ascend910b2"), {}};
        request.fast = way == 2;
        results.emplace_back(bytes, static_cast<char>(0xff));
        Tensors tensors{d.dyMemory.data(), d.xMemory.data(), d.wMemory.data(), nullptr, nullptr, nullptr};
        (pass == Pass::kDx ? tensors.dx : tensors.dw) = results.back().data();
        const Status ran = way == 0 ? runUnits(request, tensors) : runProgram(request, tensors);
        ASSERT_TRUE(ran.ok()) << ran.error().message;
        EXPECT_EQ(results.back() == results.front(), true) << "way " << way << " #" << i << " " << describe(p);
      }
    }
  }
}

// What a stride puts between is left out in --fast, unless weights are infinite or sums may underflow to -0.
TEST(Emulation, ProductsOfZerosAreLeftOutOnlyWhereThatChangesNoBit) {
  std::mt19937_64 random(16);
  for (int i = 0; i < 24; ++i) {
    Problem p;
    p.rank = 2;
    p.cin = 16 + static_cast<std::int64_t>(random() % 20);
    p.cout = 1 + static_cast<std::int64_t>(random() % 40);
    p.stride = {1, 2 + static_cast<std::int64_t>(random() % 3), 1 + static_cast<std::int64_t>(random() % 3)};
    p.kernel = {1, 1 + static_cast<std::int64_t>(random() % 4), 1 + static_cast<std::int64_t>(random() % 3)};
    p.out = {1, 3 + static_cast<std::int64_t>(random() % 4), 8};
    p.in = {1, (p.out.h - 1) * p.stride.h + p.kernel.h, (p.out.w - 1) * p.stride.w + p.kernel.w};
    p.dtype = i % 4 == 0 ? DType::kF32 : i % 4 == 1 ? DType::kF16 : i % 4 == 2 ? DType::kBf16 : DType::kHf32;
    ASSERT_TRUE(checkProblem(p).ok());
    Data d = dataOf(p, random);
    for (const auto& [t, memory] : {std::pair{TensorId::kDy, &d.dyMemory}, {TensorId::kW, &d.wMemory}}) {
      std::vector<float> values = randomReals(random, plainElements(p, t));
      for (float& v : values) {
        if (i % 3 == 1 && random() % 31 == 0)  // 0 x infinity is NaN
          v = t == TensorId::kW ? INFINITY : v;
        if (i % 3 == 2) v = std::ldexp(v, byteSize(p.dtype) == 2 && p.dtype == DType::kF16 ? -20 : -75);
      }
      encodeTensor(p, t, values, memory->data());
    }
    std::vector<std::vector<char>> results;
    for (const int way : {0, 1, 2}) {
      EmulationRequest request{p, Pass::kDx, *machineByName("toy"), {}};
      request.fast = way == 2;
      results.emplace_back(static_cast<std::size_t>(formatBytes(p, TensorId::kDx)), static_cast<char>(0xff));
      Tensors tensors{d.dyMemory.data(), d.xMemory.data(), d.wMemory.data(), nullptr, nullptr, nullptr};
      tensors.dx = results.back().data();
      const Status ran =
          way == 0 ? runUnits(request, tensors) : runProgram(request, tensors, {}, EmulationRun{1 + i % 2});
      ASSERT_TRUE(ran.ok()) << ran.error().message;
      EXPECT_EQ(results.back() == results.front(), true) << "way " << way << " #" << i << " " << describe(p);
    }
  }
}

TEST(Emulation, BiasSumsAreThoseOfPlainLoops) {
  std::mt19937_64 random(15);
  for (int i = 0; i < 24; ++i) {
    Problem p = randomProblem(random, 1e5);
    p.dtype = i % 4 == 0 ? DType::kF32 : i % 4 == 1 ? DType::kF16 : i % 4 == 2 ? DType::kBf16 : DType::kHf32;
    p.batch = std::max<std::int64_t>(1, p.batch);
    randomFormats(random, p, false, true);
    ASSERT_TRUE(checkProblem(p).ok());
    Data d = dataOf(p, random);
    encodeTensor(p, TensorId::kDy, randomReals(random, plainElements(p, TensorId::kDy)), d.dyMemory.data());
    std::vector<std::vector<char>> results;
    for (const bool plain : {true, false}) {
      const EmulationRequest request{p, Pass::kDb, *machineByName("toy"), {}};
      results.emplace_back(static_cast<std::size_t>(formatBytes(p, TensorId::kDb)), static_cast<char>(0xff));
      Tensors tensors;
      tensors.dy = d.dyMemory.data();
      tensors.db = results.back().data();
      const Status ran = plain ? runUnits(request, tensors) : runProgram(request, tensors);
      ASSERT_TRUE(ran.ok()) << ran.error().message;
    }
    EXPECT_EQ(results[0] == results[1], true) << describe(p);
  }
}

TEST(Emulation, ThreadsChangeNoBit) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 12; ++i) {
    Problem p = randomProblem(random, 1e6);
    p.dtype = i % 2 == 0 ? DType::kF16 : DType::kF32;
    const Data d = dataOf(p, random);
    for (const Pass pass : {Pass::kDx, Pass::kDw}) {
      EmulationRequest request{p, pass, *machineByName(i % 3 == 0 ? "toy" : "ascend910b2"), {}};
      const auto emulation = Emulation::create(request);
      ASSERT_TRUE(emulation.ok()) << emulation.error().message;
      const auto bytes = static_cast<std::size_t>(formatBytes(p, pass == Pass::kDx ? TensorId::kDx : TensorId::kDw));
      std::vector<char> first;
      double cycles = 0;
      for (const int threads : {1, 2, 3}) {
        std::vector<char> result(bytes, static_cast<char>(0xff));
        Tensors tensors{d.dyMemory.data(), d.xMemory.data(), d.wMemory.data(), nullptr, nullptr, nullptr};
        (pass == Pass::kDx ? tensors.dx : tensors.dw) = result.data();
        EmulationRun how;
        how.threads = threads;
        const auto report = (*emulation)->run(tensors, how);
        ASSERT_TRUE(report.ok()) << report.error().message;
        EXPECT_GT(report->cycles, 0);
        if (threads == 1) {
          first = result;
          cycles = report->cycles;
        }
        EXPECT_EQ(result, first);
        EXPECT_EQ(report->cycles, cycles);
      }
    }
  }
}

}  // namespace
}  // namespace cubejit
