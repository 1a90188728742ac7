// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that generated code brings sums to memory as the model does, byte by byte: random blocks of random gradients, any layout and
// type, added, replaced and zeroed, by machine code of every ISA level and by both interpreters.
#include "emulation/out_code.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "cubejit/cubejit.hpp"
#include "cubejit/machines.h"
#include "emulation/move_out.h"
#include "runtime/unit_loader.h"
#include "runtime/verify/random_problem.h"
#include "tiling/check_problem.h"

namespace cubejit {
namespace {

float anySum(std::mt19937_64& random) {
  static std::normal_distribution<float> normal;
  const float sum = normal(random);
  switch (random() % 16) {
    case 0: return std::ldexp(sum, -130);  // denormal in bf16 and f32
    case 1: return std::ldexp(sum, -20);   // denormal in f16
    case 2: return std::ldexp(sum, 20);    // infinite in f16
    case 3: return random() % 2 == 0 ? INFINITY : -0.0F;
    default: return sum;
  }
}

class Blocks {
 public:
  Blocks(const Problem& p, Gradient gradient, const Machine& machine, std::mt19937_64& random)
      : random_(random), memory_(machine.buffers) {
    job_.problem = p;
    job_.machine = machine;
    job_.work = cubeWorkOf(p, gradient, machine, false);
    tensor_ = gradient == Gradient::kDx ? TensorId::kDx : TensorId::kDw;
    bytes_ = static_cast<std::size_t>(formatBytes(p, tensor_));
  }

  // Empty if the model and `code` leave the same bytes, and count them so.
  std::string compare(const UnitCode& code) {
    const CubeWork& w = job_.work;
    CoreTask task;
    task.image = pick(w.batch);
    task.group = pick(w.groups.count);
    task.depth = pick(w.pixels.d);
    task.tapDepth = w.gradient == Gradient::kDw ? pick(w.kernel.d) : 0;
    CubeBlock block;
    block.computed = true;
    block.m0 = pick(w.gemm.m);
    block.n0 = pick((w.gemm.n + w.c0 - 1) / w.c0) * w.c0;
    block.m = std::min<std::int64_t>(1 + pick(w.gemm.m - block.m0), 200);
    block.n = std::min<std::int64_t>(roundUp(w.gemm.n, w.c0) - block.n0, 64);
    float* sums = memory_.l0c();
    for (std::int64_t i = 0; i < roundUp(block.m, 16) * roundUp(block.n, 16); ++i) sums[i] = anySum(random_);
    BlockTarget target;
    target.view.type = formatOf(job_.problem, tensor_).dtype;
    target.view.map = indexMap(job_.problem, tensor_);
    target.view.bytes = static_cast<std::int64_t>(bytes_);
    target.group = task.group;
    target.add = byteSize(target.view.type) == 4 && random_() % 2 == 0;
    target.alone = random_() % 4 != 0;
    target.fresh = random_() % 4 == 0;
    const bool zero = random_() % 4 == 0;
    std::vector<std::byte> left[2];
    std::int64_t written[2] = {};
    for (const bool generated : {false, true}) {
      std::vector<std::byte>& memory = left[generated ? 1 : 0];
      memory.assign(bytes_, std::byte{0x3e});  // 0.19 to add to
      target.view.data = memory.data();
      const auto places = placesOf(job_, task, block, target);
      if (!places.ok()) return places.error().message;
      const UnitCode* units = generated ? &code : nullptr;
      written[generated ? 1 : 0] = zero ? zeroOut(block, target, *places, memory_, units)
                                        : moveOut(job_, block, 0, target, *places, memory_, units);
    }
    if (written[0] != written[1])
      return "wrote " + std::to_string(written[0]) + " and " + std::to_string(written[1]) + " elements";
    written_ += written[0];
    return left[0] == left[1] ? "" : std::string(zero ? "zeros" : "sums") + " differ";
  }
  std::int64_t written() const { return written_; }

 private:
  std::int64_t pick(std::int64_t end) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(std::max<std::int64_t>(1, end)));
  }

  std::mt19937_64& random_;
  CubeJob job_;
  CoreMemory memory_;
  TensorId tensor_;
  std::size_t bytes_ = 0;
  std::int64_t written_ = 0;
};

void compareAll(const Options& options, int problems, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::int64_t written = 0;
  for (int i = 0; i < problems; ++i) {
    const Machine machine = *machineByName(i % 5 == 0 ? "ascend310p3" : "ascend910b2");
    Problem p = randomProblem(random, 1e5);
    p.dtype = machine.npu.fixpipe && i % 3 == 0    ? DType::kF32
              : i % 3 == 1 || !machine.npu.fixpipe ? DType::kF16
                                                   : DType::kBf16;
    p.batch = std::max<std::int64_t>(1, p.batch);
    randomFormats(random, p, false, true);
    for (const TensorId t : {TensorId::kDx, TensorId::kDw}) {
      if (random() % 3 != 0) continue;
      TensorFormat wide = formatOf(p, t);
      wide.dtype = DType::kF32;
      p.formats[static_cast<std::size_t>(t)] = wide;
    }
    if (!checkProblem(p).ok()) continue;
    const auto units = loadUnits(p.dtype, options);
    ASSERT_TRUE(units.ok()) << units.error().message;
    for (const Gradient gradient : {Gradient::kDx, Gradient::kDw}) {
      Blocks blocks(p, gradient, machine, random);
      for (int block = 0; block < 8; ++block)
        EXPECT_EQ(blocks.compare((*units)->code), "") << toString(gradient) << " #" << i << " seed " << seed;
      written += blocks.written();
    }
  }
  EXPECT_GT(written, 1000 * problems);
}

TEST(OutCode, LeavesWhatTheModelLeaves) { compareAll({}, 150, 1); }

TEST(OutCode, OnAvx2Too) {
  Options options;
  options.isa = IsaLevel::kAvx2;
  compareAll(options, 60, 2);
}

TEST(OutCode, InterpretedToo) {
  for (const BackendKind kind : {BackendKind::kInterpreter, BackendKind::kTileInterpreter}) {
    Options options;
    options.backend = kind;
    compareAll(options, 12, 3);
  }
}

TEST(OutCode, ByTheOtherBackendToo) {
  Options options;
  options.backend = BackendKind::kLlvm;
  if (!loadUnits(DType::kF16, options).ok()) GTEST_SKIP() << "the LLVM component is not built";
  compareAll(options, 6, 4);
}

TEST(OutCode, MemoryOfAnySizeIsZeroed) {
  const auto units = loadUnits(DType::kF16, {});
  ASSERT_TRUE(units.ok());
  for (const DType type : {DType::kF16, DType::kF32}) {
    for (std::int64_t bytes = 0; bytes <= 200; bytes += byteSize(type)) {
      std::vector<std::byte> memory(static_cast<std::size_t>(bytes + 64), std::byte{0x7f});
      zeroMemory((*units)->code, {memory.data() + 32, type}, bytes);
      for (std::int64_t i = 0; i < bytes + 64; ++i)
        ASSERT_EQ(memory[static_cast<std::size_t>(i)] == std::byte{0}, i >= 32 && i < 32 + bytes) << bytes << " " << i;
    }
  }
}

}  // namespace
}  // namespace cubejit
