// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a cube instruction means: every sum is a chain of fused multiply-adds in f32, k ascending; of bf16 pairs ascend, and the
// second of each is added first (no document says the chip's order; this one is also that of hosts that multiply pairs).
#include <array>
#include <cmath>

#include "codegen/tile/element.h"
#include "tests/support/unit_models/unit_models.h"

namespace cubejit {
namespace {

constexpr std::int64_t kSide = kFractalRows;

// One fractal of 16 x c0 operands as the cube sees them.
using Fractal = std::array<float, kSide * kSide>;

void readFractal(const std::byte* from, DType type, std::int64_t c0, Fractal& out) {
  for (std::int64_t i = 0; i < kSide * c0; ++i) {
    const auto* at = reinterpret_cast<const char*>(from) + i * byteSize(type);
    const float value = floatOf(readElement(elementOf(type), at, 0));
    out[static_cast<std::size_t>(i)] = isHf32(type) ? toHf32(value, type == DType::kHf32 ? 11 : 10) : value;
  }
}

}  // namespace

std::int64_t bytesOf(const Mmad& i, const UnitContext&) { return i.m1 * i.n1 * kSide * kSide * 4; }

void execute(const Mmad& i, const UnitContext& c, CoreMemory& memory) {
  const std::int64_t c0 = c.work.c0;
  Fractal a{}, b{};
  for (std::int64_t n = 0; n < i.n1; ++n) {
    for (std::int64_t m = 0; m < i.m1; ++m) {
      float* sums = memory.l0c(i.l0c) + (n * i.m1 + m) * kSide * kSide;  // [16 m][16 n]
      if (i.first) std::fill(sums, sums + kSide * kSide, 0.0F);
      for (std::int64_t k = 0; k < i.k1; ++k) {
        readFractal(memory.at(CoreBuffer::kL0a, i.l0a) + (m * i.k1 + k) * kFractalBytes, c.work.type, c0, a);
        readFractal(memory.at(CoreBuffer::kL0b, i.l0b) + (k * i.n1 + n) * kFractalBytes, c.work.type, c0, b);
        for (std::int64_t row = 0; row < kSide; ++row) {
          for (std::int64_t step = 0; step < c0; ++step) {
            const std::int64_t kk = kOfStep(step, c.work.type);
            for (std::int64_t column = 0; column < kSide; ++column) {
              float& sum = sums[row * kSide + column];
              sum = std::fma(a[static_cast<std::size_t>(row * c0 + kk)], b[static_cast<std::size_t>(column * c0 + kk)],
                             sum);
            }
          }
        }
      }
    }
  }
}

}  // namespace cubejit
