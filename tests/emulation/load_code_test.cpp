// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that generated loads leave in L1 what their scalar models leave, byte by byte: random problems, layouts, strides, groups and
// pieces, by machine code of every ISA level and by both interpreters.
#include "emulation/load_code.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "cubejit/cubejit.hpp"
#include "cubejit/machines.h"
#include "emulation/cube_core.h"
#include "emulation/load_shape.h"
#include "runtime/unit_loader.h"
#include "runtime/verify/random_problem.h"
#include "tiling/check_problem.h"

namespace cubejit {
namespace {

class Pieces {
 public:
  Pieces(const Problem& p, Gradient gradient, const Machine& machine, std::mt19937_64& random)
      : random_(random), memory_(machine.buffers) {
    job_.problem = p;
    job_.machine = machine;
    job_.work = cubeWorkOf(p, gradient, machine, false);
    for (const TensorId t : {TensorId::kDy, TensorId::kX, TensorId::kW}) {
      std::vector<char>& bytes = tensors_[static_cast<std::size_t>(t)];
      bytes.resize(static_cast<std::size_t>(formatBytes(p, t)));
      for (char& b : bytes) b = static_cast<char>(random());
      GlobalView& view = t == TensorId::kDy ? operands_.dy : t == TensorId::kX ? operands_.x : operands_.w;
      view.data = reinterpret_cast<std::byte*>(bytes.data());
      view.bytes = static_cast<std::int64_t>(bytes.size());
      view.type = formatOf(p, t).dtype;
      view.map = indexMap(p, t);
    }
  }

  Status fill() {
    CoreTask task;
    task.image = pick(job_.work.batch);
    task.group = pick(job_.work.groups.count);
    return fillTables(job_, operands_, task, tables_);
  }

  // Empty if every load leaves the same bytes.
  std::string compare(const UnitCode& code) {
    const LoadCode* loads = code.loads(code.user, loadShapeOf(job_.work, tables_));
    if (loads == nullptr) return "no kernels";
    const CubeWork& w = job_.work;
    const bool spread = w.spread;
    const auto extent = [&](std::int64_t n, std::int64_t stride) { return spread ? (n - 1) * stride + 1 : n; };
    LoadImage image{64, pick(w.image.d), part(extent(w.image.h, w.stride.h)), part(extent(w.image.w, w.stride.w)),
                    part(w.blocks)};
    if (random_() % 2 == 0) image.columns = {0, extent(w.image.w, w.stride.w)};
    std::string wrong = same(code, *loads, image);
    if (w.gradient == Gradient::kDw) {
      const LoadPixels pixels{0,
                              pick(w.pixels.d),
                              {pick(w.smallBlocks) * w.c0, 16 + static_cast<std::int64_t>(random_() % 30)},
                              part(w.pixels.h * w.pixels.w)};
      return wrong + same(code, *loads, pixels);
    }
    const std::int64_t n = part((w.gemm.n + w.c0 - 1) / w.c0).begin * w.c0;
    const LoadWeights weights{32, pick(w.kernel.d), part(w.blocks * w.tapsHw), {n, w.gemm.n - n}, !spread};
    return wrong + same(code, *loads, weights);
  }

 private:
  std::int64_t pick(std::int64_t end) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(std::max<std::int64_t>(1, end)));
  }
  Span part(std::int64_t extent) {
    const std::int64_t begin = pick(extent);
    return {begin, 1 + pick(extent - begin)};
  }
  template <class Load>
  std::string same(const UnitCode& code, const LoadCode& loads, const Load& load) {
    const UnitContext context{job_.work, tables_};
    if (load.l1 + bytesOf(load, context) + 64 > memory_.bytes(CoreBuffer::kL1)) return {};
    std::vector<std::vector<std::byte>> left;
    for (const bool generated : {false, true}) {
      const auto size = static_cast<std::size_t>(load.l1 + bytesOf(load, context) + 64);
      std::memset(memory_.at(CoreBuffer::kL1), 0x5a, size);
      if (generated)
        execute(code, loads, load, context, memory_);
      else
        execute(load, context, memory_);
      left.emplace_back(memory_.at(CoreBuffer::kL1), memory_.at(CoreBuffer::kL1) + size);
    }
    return left[0] == left[1] ? "" : toString(UnitInstruction(load)) + "\n";
  }

  std::mt19937_64& random_;
  CubeJob job_;
  CoreMemory memory_;
  std::array<std::vector<char>, 6> tensors_;
  GlobalOperands operands_;
  OperandTables tables_;
};

void compareAll(const Options& options, int problems, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Machine machine = *machineByName("ascend910b2");
  int compared = 0;
  for (int i = 0; i < problems; ++i) {
    Problem p = randomProblem(random, 1e5);
    p.dtype = i % 3 == 0 ? DType::kF32 : i % 3 == 1 ? DType::kF16 : DType::kBf16;
    p.batch = std::max<std::int64_t>(1, p.batch);
    randomFormats(random, p, false, true);
    if (!checkProblem(p).ok()) continue;
    const auto units = loadUnits(p.dtype, options);
    ASSERT_TRUE(units.ok()) << units.error().message;
    for (const Gradient gradient : {Gradient::kDx, Gradient::kDw}) {
      Pieces pieces(p, gradient, machine, random);
      if (!pieces.fill().ok()) continue;  // operands of two types
      for (int piece = 0; piece < 6; ++piece) {
        ++compared;
        EXPECT_EQ(pieces.compare((*units)->code), "") << toString(gradient) << " #" << i << " seed " << seed;
      }
    }
  }
  EXPECT_GT(compared, problems);
}

TEST(LoadCode, LeavesWhatTheModelLeaves) { compareAll({}, 120, 1); }

TEST(LoadCode, OnAvx2Too) {
  Options options;
  options.isa = IsaLevel::kAvx2;
  compareAll(options, 60, 2);
}

TEST(LoadCode, InterpretedToo) {
  for (const BackendKind kind : {BackendKind::kInterpreter, BackendKind::kTileInterpreter}) {
    Options options;
    options.backend = kind;
    compareAll(options, 20, 3);
  }
}

TEST(LoadCode, ByTheOtherBackendToo) {
  Options options;
  options.backend = BackendKind::kLlvm;
  if (!loadUnits(DType::kF16, options).ok()) GTEST_SKIP() << "the LLVM component is not built";
  compareAll(options, 6, 4);
}

TEST(LoadCode, KernelsAreMadeOnceForAShape) {
  const auto units = loadUnits(DType::kF32, {});
  ASSERT_TRUE(units.ok());
  const UnitCode& code = (*units)->code;
  LoadShape shape;
  shape.elementBytes = 4;
  shape.runs[0] = {100, 3, 32, 16};
  const LoadCode* first = code.loads(code.user, shape);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(code.loads(code.user, shape), first);
  shape.runs[0].pitch = 101;
  EXPECT_NE(code.loads(code.user, shape), first);
}

}  // namespace
}  // namespace cubejit
