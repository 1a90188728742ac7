// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that unit instructions mean what unit_program.h says: elements are followed by hand from memory through L1 and L0 to sums.
#include "tests/support/unit_models/unit_models.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "codegen/tile/element.h"
#include "cubejit/cubejit.hpp"
#include "cubejit/machines.h"
#include "cubejit/npu.h"
#include "tests/support/layers.h"
#include "tests/support/unit_models/operand_tables.h"

namespace cubejit {
namespace {

// A convolution of 20 channels (two blocks, the second one padded) to 24, 3x3 taps, stride 2, NCDHW.
Problem strided(DType type) {
  return ofType(type, inLayout(Layout::kNcdhw, planeProblem(1, 24, 20, {1, 9, 11}, {1, 3, 3}, {0, 1, 1}, {1, 2, 2})));
}

class UnitModels : public ::testing::Test {
 protected:
  void prepare(Pass pass, DType type) {
    machine_ = *machineByName("ascend910b2");
    const Problem p = strided(type);
    const auto report = planOnNpu(p, pass, machine_);
    ASSERT_TRUE(report.ok()) << report.error().message;
    auto job = makeCubeJob(p, report->plan, machine_);
    ASSERT_TRUE(job.ok()) << job.error().message;
    job_ = *job;
    memory_ = std::make_unique<CoreMemory>(machine_.buffers);
    std::mt19937_64 random(1);
    for (const TensorId t : {TensorId::kDy, TensorId::kX, TensorId::kW}) {
      std::vector<char>& bytes = tensors_[static_cast<std::size_t>(t)];
      bytes.resize(static_cast<std::size_t>(formatBytes(p, t)));
      for (std::size_t i = 0; i < bytes.size(); i += static_cast<std::size_t>(byteSize(type)))
        writeElement(elementOf(type), bytes.data() + i,
                     bitsOf(static_cast<float>(static_cast<int>(random() % 201) - 100)));
      GlobalView& view = t == TensorId::kDy ? operands_.dy : t == TensorId::kX ? operands_.x : operands_.w;
      view = {reinterpret_cast<std::byte*>(bytes.data()), static_cast<std::int64_t>(bytes.size()), type,
              indexMap(p, t)};
    }
    ASSERT_TRUE(fillTables(job_, operands_, CoreTask{}, tables_).ok());
  }
  UnitContext context() const { return {job_.work, tables_}; }
  float element(const GlobalView& v, std::array<std::int64_t, 5> at) const {
    return floatOf(
        readElement(elementOf(v.type), reinterpret_cast<const char*>(v.data) + v.map.at(at) * byteSize(v.type), 0));
  }
  float inBuffer(CoreBuffer buffer, std::int64_t index) const {
    const DType type = job_.work.type;
    return floatOf(
        readElement(elementOf(type), reinterpret_cast<const char*>(memory_->at(buffer)) + index * byteSize(type), 0));
  }

  Machine machine_;
  CubeJob job_;
  std::unique_ptr<CoreMemory> memory_;
  std::array<std::vector<char>, 6> tensors_;
  GlobalOperands operands_;
  OperandTables tables_;
};

TEST_F(UnitModels, AnImageIsSpreadByTheStrideAndUnfoldedWithItsPadding) {
  for (const DType type : {DType::kF16, DType::kF32}) {
    prepare(Pass::kDx, type);
    const CubeWork& w = job_.work;
    const LoadImage load{0, 0, {0, 9}, {0, 11}, {0, w.blocks}};  // 5 x 6 of dy, zeros between
    execute(load, context(), *memory_);
    EXPECT_EQ(bytesOf(load, context()), 9 * 11 * w.blocks * 32);
    EXPECT_EQ(memoryBytesOf(load, context()), 5 * 6 * w.blocks * 32);
    for (const auto& [row, column] : {std::pair<std::int64_t, std::int64_t>{4, 6}, {3, 6}, {8, 10}}) {
      const bool there = row % 2 == 0 && column % 2 == 0;
      EXPECT_EQ(inBuffer(CoreBuffer::kL1, (row * 11 + column) * w.c0 + 3),
                there ? element(operands_.dy, {0, 3, 0, row / 2, column / 2}) : 0.0F);
    }
    EXPECT_EQ(inBuffer(CoreBuffer::kL1, (((w.blocks - 1) * 9 + 4) * 11 + 6) * w.c0 + 20 % w.c0),
              0.0F);  // no channel 20
    const Unfold unfold{L0Side::kA, 0, load, {0, 40}, {0, w.blocks * 9}};
    execute(unfold, context(), *memory_);
    const std::int64_t k1 = w.blocks * 9;
    for (std::int64_t m = 0; m < 40; m += 3) {
      for (std::int64_t unit = 0; unit < k1; ++unit) {
        const std::int64_t kh = unit % 9 / 3, kw = unit % 3, row = m / 11 + 1 - kh, column = m % 11 + 1 - kw;
        const bool there = row >= 0 && column >= 0 && row % 2 == 0 && column % 2 == 0 && row < 9 && column < 11;
        EXPECT_EQ(inBuffer(CoreBuffer::kL0a, ((m / 16 * k1 + unit) * 16 + m % 16) * w.c0 + 1),
                  there ? element(operands_.dy, {0, unit / 9 * w.c0 + 1, 0, row / 2, column / 2}) : 0.0F);
      }
    }
  }
}

TEST_F(UnitModels, WeightsReachL0bAsFractalsOfColumns) {
  prepare(Pass::kDx, DType::kF16);
  const LoadWeights load{64, 0, {0, 18}, {0, 32}, false};
  execute(load, context(), *memory_);
  const LoadFractals fractals{L0Side::kB, 512, 64, 18 * 16, {0, 32}, {9 * 16, 9 * 16}, false};
  execute(fractals, context(), *memory_);
  EXPECT_EQ(bytesOf(fractals, context()), 2 * 9 * 512);
  for (std::int64_t k = 0; k < 9 * 16; k += 5) {
    for (std::int64_t n = 0; n < 32; n += 3) {
      const std::int64_t o = 16 + k % 16, tap = k / 16;
      const float want = o < 20 && n < 24 ? element(operands_.w, {o, n, 0, tap / 3, tap % 3}) : 0.0F;
      EXPECT_EQ(inBuffer(CoreBuffer::kL0b, 256 + (k / 16 * 2 + n / 16) * 256 + n % 16 * 16 + k % 16), want);
    }
  }
}

TEST_F(UnitModels, TheCubeAddsInOrderOfK) {
  prepare(Pass::kDx, DType::kF32);
  std::mt19937_64 random(2);
  std::normal_distribution<float> normal;
  auto* a = reinterpret_cast<float*>(memory_->at(CoreBuffer::kL0a));
  auto* b = reinterpret_cast<float*>(memory_->at(CoreBuffer::kL0b));
  for (int i = 0; i < 2 * 3 * 128; ++i) a[i] = normal(random);
  for (int i = 0; i < 3 * 1 * 128; ++i) b[i] = normal(random);
  execute(Mmad{0, 0, 0, 2, 3, 1, true}, context(), *memory_);
  execute(Mmad{0, 0, 0, 2, 3, 1, false}, context(), *memory_);
  for (const auto& [m, n] : {std::pair<int, int>{0, 0}, {17, 5}, {31, 15}}) {
    float sum = 0;
    for (int again = 0; again < 2; ++again) {
      for (int k = 0; k < 24; ++k)
        sum = std::fma(a[((m / 16 * 3 + k / 8) * 16 + m % 16) * 8 + k % 8], b[(k / 8 * 16 + n) * 8 + k % 8], sum);
    }
    EXPECT_EQ(memory_->l0c()[m * 16 + n], sum);
  }
}

}  // namespace
}  // namespace cubejit
