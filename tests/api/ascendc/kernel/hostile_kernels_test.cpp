// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked when nothing a kernel says makes sense: every field of a tiling at every odd value, setters at the ends of
// their types, calls in any order, tensors at any offset. Either it is reported, or what is computed is right; memory around the
// tensors is never touched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "cubejit/cubejit.h"
#include "cubejit_ascendc/tiling_request.h"
#include "tests/support/ascend_dw_kernel.h"
#include "tests/support/ascend_dx_kernel.h"
#include "tiling/conv_backprop/conv3d_bp_filter_tiling.h"

namespace cubejit {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using InputTiling = AscendC::tiling::TConv3DBackpropInputTiling;
using FilterTiling = AscendC::tiling::TConv3DBpFilterTiling;

constexpr std::uint64_t kOdd[] = {0,  1,  2,  3,  7,   8,   15,    16,         17,
                                  32, 48, 64, 80, 240, 256, 65536, 2147483647, 4294967295U};

// A vector between two fences; the fences are looked at when it goes.
template <class T>
class Fenced {
 public:
  explicit Fenced(const std::vector<T>& inside) : memory_(inside.size() + 2 * kFence, T(123.0F)), size_(inside.size()) {
    std::copy(inside.begin(), inside.end(), begin());
  }
  ~Fenced() {
    for (std::size_t i = 0; i < kFence; ++i) {
      EXPECT_EQ(static_cast<float>(memory_[i]), 123.0F) << "in front";
      EXPECT_EQ(static_cast<float>(memory_[kFence + size_ + i]), 123.0F) << "behind";
    }
  }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  T* begin() { return memory_.data() + kFence; }
  std::size_t size() const { return size_; }
  ascendc::GlobalMemory global() { return {begin(), size_ * sizeof(T)}; }

 private:
  static constexpr std::size_t kFence = 4096;
  std::vector<T> memory_;
  std::size_t size_;
};

AscendCase someCase() {
  Problem p;
  p.batch = 1, p.cin = 40, p.cout = 24;
  p.in = Dhw{2, 9, 7}, p.kernel = Dhw{2, 3, 2}, p.stride = Dhw{1, 2, 1};
  p.padBefore = p.padAfter = Dhw{1, 1, 0};
  return AscendCase(p);
}

template <class Tiling>
void setShape(Tiling& tiling, const Problem& p) {
  tiling.SetWeightShape(p.cout, p.cin, p.kernel.d, p.kernel.h, p.kernel.w);
  tiling.SetInputShape(p.batch, p.cin, p.in.d, p.in.h, p.in.w);
  tiling.SetGradOutputShape(p.batch, p.cout, p.out.d, p.out.h, p.out.w);
  tiling.SetPadding(p.padBefore.d, p.padAfter.d, p.padBefore.h, p.padAfter.h, p.padBefore.w, p.padAfter.w);
  tiling.SetStride(p.stride.d, p.stride.h, p.stride.w);
}

// Fields that say what is computed, and how memory lies: with another value the right result is another one.
bool saysWhat(const std::string& field) {
  for (const char* name :
       {"batch",   "cin",     "cout",     "cout1",     "cin1",      "cout1G",    "cin1G",      "c0",
        "group",   "dout",    "ho",       "wo",        "di",        "hi",        "wi",         "dk",
        "hk",      "wk",      "strideD",  "strideH",   "strideW",   "padFront",  "padBack",    "padUp",
        "padDown", "padLeft", "padRight", "dilationD", "dilationH", "dilationW", "channelSize"}) {
    if (field == name) return true;
  }
  return false;
}

// Calls run(tiling, field, value) for a good tiling with one field changed.
template <class Tiling, class Describe, class Run>
void eachChange(const Tiling& good, const Describe& describe, const Run& run) {
  std::vector<std::string> fields;
  Tiling looked = good;
  describe(looked, [&](const char* name, auto&) { fields.emplace_back(name); });
  for (const std::string& field : fields)
    for (const std::uint64_t value : kOdd) {
      Tiling changed = good;
      describe(changed, [&](const char* name, auto& v) {
        if (field == name) v = static_cast<std::decay_t<decltype(v)>>(value);
      });
      SCOPED_TRACE(field + " = " + std::to_string(value));
      run(changed, field);
    }
}

struct Tally {
  int right = 0, told = 0;
};

TEST(HostileKernels, EveryFieldOfAnInputTilingAtEveryOddValue) {
  const AscendCase c = someCase();
  ConvBackpropApi::Conv3DBpInputTiling tiling;
  setShape(tiling, c.problem);
  AscendC::tiling::Conv3DBackpropInputTilingData data;
  ASSERT_EQ(tiling.GetTiling(data), 0) << cubejit_last_error();
  const InputTiling good = data.conv3DDxTiling;
  Fenced<half> w(c.pack<half>(TensorId::kW, Layout::kFractalZ3d, c.w)),
      dy(c.pack<half>(TensorId::kDy, Layout::kNdc1hwc0, c.dy));
  const Problem result = c.with(TensorId::kDx, DType::kF16, Layout::kNdc1hwc0, 16);
  const auto reference = c.reference();
  const std::vector<half> empty(static_cast<std::size_t>(indexMap(result, TensorId::kDx).elements), half(0.0F));
  Tally tally;
  const auto describe = [](InputTiling& t, const auto& v) { ascendc::describeInputTiling(t, v); };
  eachChange(good, describe, [&](const InputTiling& t, const std::string& field) {
    Fenced<half> dx(empty);
    ascendc::LaunchOptions options;
    options.blocks = 1;
    const auto report = ascendc::launch(options, inputKernel<half>, w.global(), dy.global(), dx.global(), &t, &good, 1);
    if (!report.ok()) {
      ++tally.told;
      EXPECT_NE(report.error().message, "");
      return;
    }
    if (saysWhat(field) && ascendc::problemOf(t) != ascendc::problemOf(good)) return;
    ++tally.right;
    forEachElement(result, TensorId::kDx, [&](std::size_t plain, std::size_t at) {
      ASSERT_EQ(static_cast<float>(dx.begin()[at]), static_cast<float>(half(static_cast<float>(reference.dx[plain]))));
    });
  });
  EXPECT_GT(tally.right, 200);
  EXPECT_GT(tally.told, 400);
}

TEST(HostileKernels, EveryFieldOfAFilterTilingAtEveryOddValue) {
  const AscendCase c = someCase();
  ConvBackpropApi::Conv3dBpFilterTiling tiling;
  setShape(tiling, c.problem);
  AscendC::tiling::Conv3DBackpropFilterTilingData data;
  ASSERT_EQ(tiling.GetTiling(data), 0) << cubejit_last_error();
  const FilterTiling good = data.dwTiling;
  Fenced<half> x(c.pack<half>(TensorId::kX, Layout::kNdc1hwc0, c.x)),
      dy(c.pack<half>(TensorId::kDy, Layout::kNdc1hwc0, c.dy));
  const Problem result = c.with(TensorId::kDw, DType::kF32, Layout::kFractalZ3d, 16);
  const auto reference = c.reference();
  const std::vector<float> empty(static_cast<std::size_t>(indexMap(result, TensorId::kDw).elements), 0.0F);
  Tally tally;
  const auto describe = [](FilterTiling& t, const auto& v) { ascendc::describeFilterTiling(t, v); };
  eachChange(good, describe, [&](const FilterTiling& t, const std::string& field) {
    Fenced<float> dw(empty);
    ascendc::LaunchOptions options;
    options.blocks = 1;
    const auto report = ascendc::launch(options, filterKernel<half>, x.global(), dy.global(), dw.global(), &t, &good);
    if (!report.ok()) {
      ++tally.told;
      EXPECT_NE(report.error().message, "");
      return;
    }
    if (saysWhat(field) && ascendc::problemOf(t) != ascendc::problemOf(good)) return;
    ++tally.right;
    forEachElement(result, TensorId::kDw, [&](std::size_t plain, std::size_t at) {
      ASSERT_EQ(dw.begin()[at], static_cast<float>(reference.dw[plain]));
    });
  });
  EXPECT_GT(tally.right, 100);
  EXPECT_GT(tally.told, 300);
}

// Setters at the ends of their types, tensors at any offset, in a right order of calls.
TEST(HostileKernels, SettersAtTheEndsOfTheirTypes) {
  SmallInputGradient s;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t sizes[] = {0, 1, 8, 16 * 8, 32 * 8, std::uint64_t{1} << 63, kMost, kMost - 7};
  const std::int32_t rows[] = {0, -1, 1, std::numeric_limits<std::int32_t>::min(),
                               std::numeric_limits<std::int32_t>::max()};
  const std::uint64_t offsets[] = {0, 1, 4096, std::uint64_t{1} << 62, std::uint64_t{1} << 63, kMost, kMost - 15};
  Fenced<half> dx(s.gradInput);
  int told = 0, all = 0;
  const auto run = [&](std::uint64_t m, std::uint64_t k, std::uint64_t n, std::uint32_t depth, std::int32_t row,
                       std::uint64_t a, std::uint64_t b, std::uint64_t out) {
    ++all;
    ascendc::LaunchOptions options;
    options.blocks = 1;
    const auto report = ascendc::launch(
        options,
        [&](half* weight, half* gradOutput, half* gradInput) {
          AscendC::GlobalTensor<half> wGm, dyGm, dxGm;
          wGm.SetGlobalBuffer(weight), dyGm.SetGlobalBuffer(gradOutput), dxGm.SetGlobalBuffer(gradInput);
          InputGradient<half> g;
          g.Init(&s.t());
          g.SetSingleShape(m, k, static_cast<std::uint32_t>(n));
          g.SetStartPosition(depth, row);
          g.SetGradOutput(dyGm[a]);
          g.SetWeight(wGm[b]);
          while (g.Iterate()) g.GetTensorC(dxGm[out]);
          g.End();
        },
        ascendc::globalMemory(s.weight), ascendc::globalMemory(s.gradOutput), dx.global());
    told += report.ok() ? 0 : 1;
  };
  for (const std::uint64_t m : sizes)
    for (const std::uint64_t n : sizes) run(m, s.k(), n, 0, -1, 0, 0, 0);
  for (const std::uint64_t k : sizes) run(s.kPixels, k, 32, 0, -1, 0, 0, 0);
  for (const std::int32_t row : rows)
    for (const std::uint32_t depth : {0U, 1U, 2U, 2147483648U, 4294967295U}) run(8, s.k(), 32, depth, row, 0, 0, 0);
  for (const std::uint64_t offset : offsets) {
    run(s.kPixels, s.k(), 32, 0, -1, offset, 0, 0);
    run(s.kPixels, s.k(), 32, 0, -1, 0, offset, 0);
    run(s.kPixels, s.k(), 32, 0, -1, 0, 0, offset);
  }
  EXPECT_GT(told, 100);
  EXPECT_GT(all, told);
}

TEST(HostileKernels, FilterSettersAtTheEndsOfTheirTypes) {
  const AscendCase c = someCase();
  ConvBackpropApi::Conv3dBpFilterTiling tiling;
  setShape(tiling, c.problem);
  AscendC::tiling::Conv3DBackpropFilterTilingData data;
  ASSERT_EQ(tiling.GetTiling(data), 0) << cubejit_last_error();
  auto x = c.pack<half>(TensorId::kX, Layout::kNdc1hwc0, c.x),
       dy = c.pack<half>(TensorId::kDy, Layout::kNdc1hwc0, c.dy);
  Fenced<float> dw(std::vector<float>(2 * 48 * 32 * 6, 0.0F));
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t sizes[] = {0, 1, 32, 48 * 6, 5 * 6, std::uint64_t{1} << 63, kMost};
  int told = 0, all = 0;
  for (const std::uint64_t m : sizes)
    for (const std::uint64_t n : sizes)
      for (const std::uint64_t k : sizes)
        for (const std::uint32_t row : {0U, 3U, 2147483647U, 4294967295U}) {
          ++all;
          ascendc::LaunchOptions options;
          options.blocks = 1;
          const auto report = ascendc::launch(
              options,
              [&](half* input, half* gradOutput, float* gradWeight) {
                AscendC::GlobalTensor<half> xGm, dyGm;
                AscendC::GlobalTensor<float> dwGm;
                xGm.SetGlobalBuffer(input), dyGm.SetGlobalBuffer(gradOutput), dwGm.SetGlobalBuffer(gradWeight);
                FilterGradient<half> g;
                g.Init(&data.dwTiling);
                g.SetSingleShape(m, n, k);
                g.SetStartPosition(row);
                g.SetInput(xGm);
                g.SetGradOutput(dyGm);
                while (g.Iterate()) g.GetTensorC(dwGm);
                g.End();
              },
              ascendc::globalMemory(x), ascendc::globalMemory(dy), dw.global());
          told += report.ok() ? 0 : 1;
        }
  EXPECT_GT(told, 900);
  EXPECT_GT(all, told);
}

// Calls in any order: always an answer, the same one again, and no write but by GetTensorC after Iterate.
TEST(HostileKernels, CallsInAnyOrder) {
  SmallInputGradient s;
  const auto expected = s.tensors.reference();
  std::mt19937 random(5);
  for (int program = 0; program < 300; ++program) {
    Fenced<half> dx(s.gradInput);
    ascendc::LaunchOptions options;
    options.blocks = 1;
    const auto report = ascendc::launch(options, [&] {
      InputGradient<half> g;
      AscendC::GlobalTensor<half> w, dy, out;
      w.SetGlobalBuffer(s.weight.data(), s.weight.size());
      dy.SetGlobalBuffer(s.gradOutput.data(), s.gradOutput.size());
      out.SetGlobalBuffer(dx.begin(), dx.size());
      if (random() % 4 != 0) s.prepare(g);
      for (int call = 0; call < 20; ++call) {
        switch (random() % 9) {
          case 0: g.Init(&s.t()); break;
          case 1: g.SetWeight(w); break;
          case 2: g.SetGradOutput(dy); break;
          case 3: g.SetSingleShape(s.kPixels, s.k(), 32); break;
          case 4: g.SetStartPosition(0, -1); break;
          case 5: g.ctx.isFirstIter_ = true; break;
          case 6: random() % 8 == 0 ? g.End() : static_cast<void>(0); break;
          case 7: g.GetTensorC(out); break;
          default: g.Iterate(); break;
        }
      }
      if (random() % 2 == 0) g.End();
    });
    static_cast<void>(report);
    const Problem result = s.tensors.with(TensorId::kDx, DType::kF16, Layout::kNdc1hwc0, 16);
    forEachElement(result, TensorId::kDx, [&](std::size_t plain, std::size_t at) {
      const float is = static_cast<float>(dx.begin()[at]);
      ASSERT_TRUE(is == -77.0F || is == static_cast<float>(expected.dx[plain])) << program << " " << at << " " << is;
    });
  }
}

// A result over its own operands would be wrong from the second block on.
TEST(HostileKernels, ResultsInPlaceOfOperands) {
  SmallInputGradient s;
  const auto run = [&](std::vector<half>& result) {
    const std::vector<half> before = result;
    ascendc::LaunchOptions options;
    options.blocks = 1;
    const auto report = ascendc::launch(options, [&] {
      InputGradient<half> g;
      s.prepare(g);
      AscendC::GlobalTensor<half> out;
      out.SetGlobalBuffer(result.data());
      while (g.Iterate()) g.GetTensorC(out);
      g.End();
    });
    for (std::size_t i = 0; i < 16 * s.kPixels; ++i)  // what the single shape reads of gradOutput
      EXPECT_EQ(result[i].bits(), before[i].bits());
    return report.ok() ? "" : report.error().message;
  };
  s.gradOutput.resize(4 * s.gradOutput.size(), half(1.0F));
  EXPECT_THAT(run(s.gradOutput),
              HasSubstr("block m 0 n 0 of single shape 1, Conv3DBackpropInput::GetTensorC: output: the block lies in "
                        "what is read of gradOutput"));
  s.weight.resize(s.gradOutput.size(), half(0.0F));
  EXPECT_THAT(run(s.weight), HasSubstr("in what is read of weight"));
}

TEST(HostileKernels, TensorsAtOffsetsBeyondAllMemory) {
  std::vector<float> memory(16, 1.0F);
  const auto report = ascendc::launch(
      ascendc::LaunchOptions{},
      [](float* gm) {
        if (AscendC::GetBlockIdx() != 0) return;
        AscendC::GlobalTensor<float> tensor;
        tensor.SetGlobalBuffer(gm, std::numeric_limits<std::uint64_t>::max());
        EXPECT_EQ(tensor.GetValue(std::uint64_t{1} << 62), 0.0F);  // 2^62 x 4 bytes is 0 bytes
        EXPECT_EQ(tensor[std::uint64_t{1} << 62].GetValue(0), 0.0F);
        EXPECT_EQ(tensor[std::uint64_t{0} - 1].GetValue(0), 0.0F);
        EXPECT_EQ(tensor[5][std::uint64_t{0} - 5].GetValue(0), 1.0F);
        EXPECT_EQ(tensor[std::uint64_t{1} << 62][std::uint64_t{0} - (std::uint64_t{1} << 62)].GetValue(1), 1.0F);
        tensor.SetValue(16, 2.0F);
      },
      ascendc::globalMemory(memory));
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().message,
              AllOf(HasSubstr("GetValue: the tensor has no memory"), HasSubstr("GetValue: byte -4 of memory of 64"),
                    HasSubstr("SetValue: byte 64 of memory of 64 bytes")));
}

}  // namespace
}  // namespace cubejit
