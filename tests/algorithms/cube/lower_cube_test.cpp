// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that the program of a chip's plan is sound and computes, bit by bit, what the chip's units compute one instruction at a time: on
// random problems, chips, types, layouts and plans.
#include "algorithms/lower.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "codegen/tile/elide_copies.h"
#include "codegen/tile/verify.h"
#include "cubejit/cubejit.hpp"
#include "cubejit/emulation.h"
#include "cubejit/machines.h"
#include "cubejit/npu.h"
#include "runtime/loader/load_programs.h"
#include "runtime/verify/random_problem.h"
#include "tests/support/cases.h"
#include "tests/support/unit_models/run_units.h"
#include "tiling/legal_plans.h"

namespace cubejit {
namespace {

std::vector<std::byte> randomBytes(std::mt19937_64& random, const Problem& p, TensorId t) {
  const std::int64_t bytes = formatBytes(p, t), e = byteSize(formatOf(p, t).dtype);
  const std::vector<float> values = randomReals(random, bytes / e);
  std::vector<std::byte> out(static_cast<std::size_t>(bytes));
  for (std::int64_t i = 0; i < bytes / e; ++i)
    writeElement(elementOf(e == 4 ? DType::kF32 : formatOf(p, t).dtype), reinterpret_cast<char*>(out.data()) + i * e,
                 bitsOf(values[static_cast<std::size_t>(i)]));
  return out;
}

struct Arrays {
  std::vector<std::byte> dy, x, w, dx, dw;
  Tensors tensors() {
    Tensors t;
    t.dy = dy.data();
    t.x = x.data();
    t.w = w.data();
    t.dx = dx.data();
    t.dw = dw.data();
    return t;
  }
};

Status runCompiled(TileProgram tile, const Machine& host, Arrays& arrays) {
  LoadedCode code;
  CUBEJIT_TRY(compiled, compileProgram(std::move(tile), host, {}, code));
  const std::size_t bytes = compiled->launch->workspaceBytes(2);
  std::unique_ptr<char, decltype(&std::free)> workspace(
      static_cast<char*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)), &std::free);
  std::memset(workspace.get(), 0x77, bytes);
  const ParallelFor alone;
  compiled->launch->run(compiled->binding.bind(arrays.tensors()), nullptr, workspace.get(), Team{2, alone, false, 0});
  return Unit{};
}

// Empty: the program, the same with its copies elided, and the units agree.
std::string difference(const Problem& p, Pass pass, const Machine& chip, const TilingPlan& plan,
                       std::mt19937_64& random) {
  const auto job = makeCubeJob(p, plan, chip);
  if (!job.ok()) return "";
  Arrays units{randomBytes(random, p, TensorId::kDy),
               randomBytes(random, p, TensorId::kX),
               randomBytes(random, p, TensorId::kW),
               {},
               {}};
  units.dx.assign(static_cast<std::size_t>(formatBytes(p, TensorId::kDx)), std::byte{0x55});
  units.dw.assign(static_cast<std::size_t>(formatBytes(p, TensorId::kDw)), std::byte{0x55});
  const Arrays given = units;
  EmulationRequest request;
  request.problem = p;
  request.pass = pass;
  request.machine = chip;
  request.plan = plan;
  if (const Status ran = runUnits(request, units.tensors()); !ran.ok()) return "units: " + ran.error().message;

  const Machine host = detectHost(runnableIsas().front());
  auto tile = lower(*job, host.isa.lanes());
  if (!tile.ok()) return tile.error().message;
  if (const Status sound = verify(*tile); !sound.ok()) return sound.error().message.substr(0, 2000);
  const bool dx = pass == Pass::kDx;
  const TileProgram elided = elideCopies(*tile);
  if (const Status sound = verify(elided); !sound.ok()) return "elided: " + sound.error().message.substr(0, 2000);
  for (const bool after : {false, true}) {
    Arrays program = given;
    if (const Status ran = runCompiled(after ? elided : *tile, host, program); !ran.ok())
      return ran.error().message.substr(0, 2000);
    const auto &x = dx ? units.dx : units.dw, &y = dx ? program.dx : program.dw;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] != y[i])
        return (after ? "elided: byte " : "byte ") + std::to_string(i) + " of " + std::to_string(x.size()) + " differs";
    }
  }
  return "";
}

TEST(LowerCube, RandomProblems) {
  std::mt19937_64 random(77);
  std::vector<Machine> chips;
  for (const std::string& name : machineNames()) {
    const Machine machine = *machineByName(name);
    if (machine.isEmulated()) chips.push_back(machine);
  }
  int compared = 0;
  constexpr int problems = casesOf(300);
  for (int i = 0; i < problems; ++i) {
    const Machine& chip = chips[random() % chips.size()];
    Problem p = randomProblem(random, 2e5);
    p.batch = std::max<std::int64_t>(1, p.batch);
    p.dtype = chip.npu.cube.products[random() % chip.npu.cube.products.size()].operand;
    if (i % 2 == 0) randomFormats(random, p, false, true);
    for (const Pass pass : {Pass::kDx, Pass::kDw}) {
      const auto planned = planOnNpu(p, pass, chip);
      if (!planned.ok()) continue;
      std::vector<TilingPlan> plans{planned->plan};
      if (const auto legal = legalPlans(p, pass, chip); legal.ok() && i % 3 == 0) {
        for (int k = 0; k < 2; ++k) plans.push_back((*legal)[random() % legal->size()].plan);
      }
      for (const TilingPlan& plan : plans) {
        const std::string wrong = difference(p, pass, chip, plan, random);
        EXPECT_EQ(wrong, "") << i << " " << toString(pass) << " on " << chip.name << " " << toString(p.dtype);
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, problems);
  RecordProperty("compared", compared);
}

// A row of two thousand million pixels: the error comes before the memory is gone.
TEST(LowerCube, ProgramsHaveABound) {
  Problem p;
  p.rank = 1;
  p.cin = p.cout = 1;
  p.in.w = p.stride.w = 2147483646;
  const Machine chip = *machineByName("ascend950pr_9599");
  p.dtype = DType::kF16;
  const auto planned = planOnNpu(p, Pass::kDx, chip);
  ASSERT_TRUE(planned.ok()) << planned.error().message;
  const auto job = makeCubeJob(p, planned->plan, chip);
  ASSERT_TRUE(job.ok());
  const auto tile = lower(*job, 8);
  ASSERT_FALSE(tile.ok());
  EXPECT_EQ(tile.error().code, ErrorCode::kLimitExceeded);
  EXPECT_NE(tile.error().message.find("has more than 1048576 calls"), std::string::npos) << tile.error().message;
}

}  // namespace
}  // namespace cubejit
