// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that single shapes' programs do what the models of the units do: the same sums and results bit by bit, the same counts as their
// instructions, wherever a task begins, whatever is left out; and that each is generated once.
#include "runtime/cores/kernel_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

#include "codegen/tile/element.h"
#include "cubejit/machines.h"
#include "cubejit/npu.h"
#include "runtime/cores/task_code.h"
#include "runtime/verify/random_problem.h"
#include "tests/support/unit_clock.h"
#include "tests/support/unit_models/cube_core.h"
#include "tests/support/unit_models/operand_tables.h"

namespace cubejit {
namespace {

struct Case {
  const char* chip;
  DType type;
  Pass pass;
  std::int64_t stride = 1;
  DType result = DType::kF32;
  float odd = 0;  ///< here and there in the operands
  std::int64_t baseM = 32, baseN = 16;
};

// Two images of 3 x 7 x 9, 32 channels to 48: those of a job of dW are whole blocks.
Problem problemOf(const Case& c) {
  Problem p;
  p.rank = 3;
  p.batch = 2;
  p.cin = 32;
  p.cout = 48;
  p.in = {3, 7, 9};
  p.kernel = {2, 3, 3};
  p.stride = {1, c.stride, c.stride};
  p.padBefore = p.padAfter = {1, 1, 1};
  p.out = {4, (7 + 2 - 3) / c.stride + 1, (9 + 2 - 3) / c.stride + 1};
  p.dtype = c.type;
  p.layout = Layout::kNdc1hwc0;
  const std::int64_t c0 = byteSize(c.type) == 2 ? 16 : 8;
  const auto format = [&](TensorId t, DType type, Layout layout) {
    p.formats[static_cast<std::size_t>(t)] = TensorFormat{type, layout, {}, c0};
  };
  for (const TensorId t : {TensorId::kDy, TensorId::kX}) format(t, c.type, Layout::kNdc1hwc0);
  format(TensorId::kW, c.type, Layout::kFractalZ3d);
  format(TensorId::kDx, c.result, Layout::kNdc1hwc0);
  format(TensorId::kDw, DType::kF32, Layout::kFractalZ3d);
  return p;
}

class KernelCores : public ::testing::Test {
 protected:
  void prepare(const Case& c) {
    case_ = c;
    p_ = problemOf(c);
    machine_ = machineByName(c.chip).value();
    NpuPlanOptions options;
    options.kernels = CubeKernels::kAscendC;
    const auto report = planOnNpu(p_, c.pass, machine_, options);
    ASSERT_TRUE(report.ok()) << report.error().message;
    TilingPlan plan = report->plan;
    CubeTile& tile = plan.cube().tile;
    tile.base.m = std::min(tile.base.m, c.baseM), tile.base.n = c.baseN;  // several blocks
    auto job = makeCubeJob(p_, plan, machine_, CubeKernels::kAscendC);
    ASSERT_TRUE(job.ok()) << job.error().message;
    job_ = std::move(*job);
    for (const TensorId t : {TensorId::kDy, TensorId::kX, TensorId::kW}) {
      std::vector<char>& memory = memory_[static_cast<std::size_t>(t)];
      memory.assign(static_cast<std::size_t>(formatBytes(p_, t)), 0);
      const std::int64_t e = byteSize(c.type);
      const std::vector<float> values = randomReals(random_, formatBytes(p_, t) / e);
      const Element element = e == 4 ? Element::kF32 : elementOf(c.type);
      for (std::size_t i = 0; i < values.size(); ++i)
        writeElement(element, memory.data() + static_cast<std::int64_t>(i) * e,
                     bitsOf(c.odd != 0 && random_() % 97 == 0 ? c.odd : values[i]));
    }
  }
  GlobalView view(TensorId t) {
    std::vector<char>& memory = memory_[static_cast<std::size_t>(t)];
    return {reinterpret_cast<std::byte*>(memory.data()), static_cast<std::int64_t>(memory.size()),
            formatOf(p_, t).dtype, indexMap(p_, t)};
  }
  TaskOperand operand(TensorId t) {
    const GlobalView v = view(t);
    return {v.data, v.data, v.bytes};
  }
  bool dx() const { return case_.pass == Pass::kDx; }
  TensorId other() const { return dx() ? TensorId::kW : TensorId::kX; }
  Result<std::shared_ptr<KernelJob>> job(const std::string& key) {
    return kernelJob(key, [&]() -> Result<std::pair<CubeJob, TaskTensors>> {
      ++made_;
      const IndexMap dy = indexMap(p_, TensorId::kDy), second = indexMap(p_, other());
      const std::int64_t c0 = job_.work.c0, plane = p_.in.h * p_.in.w, rows = (p_.cout + 15) / 16 * 16;
      const BlockPitches result{formatOf(p_, dx() ? TensorId::kDx : TensorId::kDw).dtype, c0, c0,
                                (dx() ? plane : rows) * c0, !dx()};
      return std::pair{job_, TaskTensors{dx() ? dy : second, dx() ? second : dy, result}};
    });
  }
  Options options(bool fast, BackendKind backend = kUsualBackend) const {
    Options o;
    o.machine = machine_;
    o.elideCopies = fast;
    o.backend = backend;
    o.verify = true;
    return o;
  }
  // A few rows somewhere, at some depth of some image.
  CoreTask anyTask() {
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
    };
    CoreTask task;
    const std::int64_t width = job_.work.row(), height = dx() ? p_.in.h : p_.out.h;
    const std::int64_t row = below(height), rows = 1 + below(height - row);
    task.image = below(p_.batch);
    task.depth = below(dx() ? p_.in.d : p_.out.d);
    task.extent = job_.plan.cube().singleShape;
    if (dx()) {
      task.start.m = row * width;
      task.extent.m = rows * width;
      task.extent.k = job_.work.gemm.k * p_.kernel.d;
      task.extent.n = job_.work.gemm.n;
    } else {
      task.tapDepth = below(p_.kernel.d);
      task.start.k = row * width;
      task.extent = {job_.work.gemm.m, rows * width, job_.work.gemm.n};
    }
    return task;
  }
  // Runs a task both ways; results must agree, of which there are some if the task has any.
  void compare(KernelCore& core, const std::string& key, const CoreTask& task, const std::string& what) {
    const auto job = this->job(key);
    ASSERT_TRUE(job.ok());
    const auto models = CubeCore::create(machine_, 0);
    const Status begun = core.begin(*job, {operand(TensorId::kDy), operand(other())}, task);
    ASSERT_TRUE(begun.ok()) << begun.error().message;
    const GlobalOperands operands{view(TensorId::kDy), view(TensorId::kX), view(TensorId::kW)};
    const Status same = (*models)->begin(job_, operands, task);
    ASSERT_TRUE(same.ok()) << same.error().message;
    const TensorId result = dx() ? TensorId::kDx : TensorId::kDw;
    std::vector<char>& memory = memory_[static_cast<std::size_t>(result)];
    memory.assign(static_cast<std::size_t>(formatBytes(p_, result)), '\0');
    std::vector<char> wanted = memory;
    BlockTarget target{view(result), !dx(), false};
    target.view.data = reinterpret_cast<std::byte*>(wanted.data());
    Clock clock(machine_, job_.work.type);
    CoreCounts counted;
    BlockStream stream(job_, task);
    CubeBlock block;
    UnitProgram program;
    OperandTables tables;
    ASSERT_TRUE(fillTables(job_, operands, task, tables).ok());
    const std::int64_t e = byteSize(target.view.type);
    while (stream.next(block, program)) {
      ASSERT_TRUE(*core.iterate() && *(*models)->iterate()) << what;
      ASSERT_EQ(core.block().m0, block.m0);
      ASSERT_EQ(core.block().n0, block.n0);
      for (const UnitInstruction& i : program) {
        if (block.computed) runOn(clock, i, UnitContext{job_.work, tables}, counted);
      }
      for (std::int64_t m = 0; m < block.m; ++m) {
        for (std::int64_t n = 0; n < block.n; ++n)
          ASSERT_EQ(bitsOf(core.sum(m, n)), bitsOf((*models)->sum(m, n))) << what << " at " << m << ", " << n;
      }
      if (!block.computed) continue;
      ASSERT_TRUE((*models)->write(target).ok());
      const IndexMap& map = target.view.map;
      const std::int64_t at = dx() ? map.along(0, task.image) + map.along(1, block.n0) + map.along(2, task.depth) +
                                         map.along(3, (task.start.m + block.m0) / p_.in.w) +
                                         map.along(4, (task.start.m + block.m0) % p_.in.w)
                                   : map.along(2, task.tapDepth) + map.along(0, block.m0) +
                                         map.along(1, block.n0 / job_.work.blockUnit() * job_.work.c0) +
                                         map.along(3, block.n0 / job_.work.c0 % 9 / 3) +
                                         map.along(4, block.n0 / job_.work.c0 % 3);
      const BlockPitches& pitches = (*job)->tensors().result;
      const std::int64_t columns = block.n;
      ASSERT_TRUE(core.store(pitches, block.m, columns, memory.data() + at * e)) << what;
      clock.moveOut(stream.l0c(), (block.m + 15) / 16 * 16 * ((block.n + 15) / 16 * 16),
                    block.m * ((block.n + 15) / 16 * 16), block.m * columns * e, counted);
    }
    EXPECT_FALSE(*core.iterate());
    for (std::size_t i = 0; i < memory.size(); i += static_cast<std::size_t>(e))
      ASSERT_EQ(std::memcmp(memory.data() + i, wanted.data() + i, static_cast<std::size_t>(e)), 0)
          << what << ", byte " << i;
    const CoreCounts counts = core.takeCounts();
    EXPECT_EQ(counts.cycles, clock.now()) << what;
    EXPECT_EQ(counts.cubeSteps, counted.cubeSteps) << what;
    EXPECT_EQ(counts.instructions, counted.instructions) << what;
    EXPECT_EQ(counts.bytes, counted.bytes) << what;
  }

  Case case_;
  Problem p_;
  Machine machine_;
  CubeJob job_;
  std::array<std::vector<char>, 6> memory_;
  std::mt19937_64 random_{11};
  std::atomic<int> made_{0};
};

TEST_F(KernelCores, LeaveWhatTheModelsLeaveAndCountWhatTheInstructionsAre) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  int number = 0;
  for (const Pass g : {Pass::kDx, Pass::kDw}) {
    for (const Case& c :
         {Case{"ascend910b2", DType::kF16, g, 1, DType::kF16}, Case{"ascend910a", DType::kF16, g, 2, DType::kF16},
          Case{"ascend910b2", DType::kBf16, g, 2, DType::kBf16}, Case{"ascend910b2", DType::kF32, g, 1},
          Case{"ascend910b2", DType::kHf32, g, 2}, Case{"ascend910b2", DType::kBf16, g, 1, DType::kF32, kInfinity},
          Case{"ascend910b2", DType::kF16, g, 2, DType::kF32, kInfinity},
          Case{"ascend910b2", DType::kF32, g, 1, DType::kF32, 0, 40, 8},
          Case{"ascend910b2", DType::kF32, g, 2, DType::kF32, 0, 24, 24}}) {
      prepare(c);
      const std::string key = "case " + std::to_string(++number);
      for (const bool fast : {false, true}) {
        for (const BackendKind backend : {kUsualBackend, BackendKind::kTileInterpreter}) {
          KernelCore core(options(fast, backend), 0);
          for (int i = 0; i < (backend == kUsualBackend ? 6 : 2); ++i)
            compare(core, key, anyTask(), key + (fast ? " fast " : " faithful ") + std::to_string(i));
        }
      }
    }
  }
}

TEST_F(KernelCores, GenerateOnceForAllCoresAndThreads) {
  prepare({"ascend910b2", DType::kF16, Pass::kDx, 1, DType::kF16});
  CoreTask task = anyTask();
  task.image = 0;
  std::vector<std::shared_ptr<const TaskCode>> codes(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    threads.emplace_back([&, i] {
      const auto job = this->job("once");
      CoreTask mine = task;
      mine.image = static_cast<std::int64_t>(i % 2);  // the same but for where it lies
      const Options o = options(false);
      codes[i] = (*job)->codeOf(mine, placeOf((*job)->job(), (*job)->tensors(), mine), avx2Isa(), o, {}).value();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& code : codes) EXPECT_EQ(code, codes.front());
  const int made = made_;
  EXPECT_TRUE(job("once").ok());
  EXPECT_EQ(made_, made);
}

TEST_F(KernelCores, SayWhichRuleATaskBreaks) {
  prepare({"ascend910b2", DType::kF16, Pass::kDx, 1, DType::kF16});
  KernelCore core(options(false), 3);
  EXPECT_EQ(core.index(), 3);
  EXPECT_THAT(core.iterate().error().message, testing::HasSubstr("begin one before iterating"));
  CoreTask task = anyTask();
  task.start.m = 4;
  task.depth = 3;
  const auto job = this->job("rules");
  const TaskOperands operands{operand(TensorId::kDy), operand(TensorId::kW)};
  const Status refused = core.begin(*job, operands, task);
  EXPECT_EQ(refused.error().message, "depth = 3 must be 0 to 2\nstart m = 4 must be a multiple of 9");
  // Other pitches, a part of the block: not by the program.
  task = anyTask();
  ASSERT_TRUE(core.begin(*job, operands, task).ok());
  ASSERT_TRUE(*core.iterate());
  const CubeBlock block = core.block();
  BlockPitches pitches = (*job)->tensors().result;
  std::vector<std::uint16_t> out(4096);
  EXPECT_FALSE(core.store(pitches, block.m, block.n - 1, out.data()));
  pitches.adds = true;
  EXPECT_FALSE(core.store(pitches, block.m, block.n, out.data()));
  EXPECT_EQ(out, std::vector<std::uint16_t>(4096)) << "nothing has happened";
}

}  // namespace
}  // namespace cubejit
