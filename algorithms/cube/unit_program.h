// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the units of a core can be told to do: the program of a core is a list of these values. Leaves their meaning to
// unit_models.h, their order to block_stream.h, their time to clock.h.
//
// Words: a `unit` of channels x taps is number block * taps + tap and stands for c0 channels; 32 bytes of one pixel or one row are c0
// elements. L1 holds pieces of the unfolded operand as [block][row][column][c0] and matrices as [x / c0][y][c0] or [y / c0][x][c0]. L0A and L0B hold
// fractals of 16 x c0 (512 bytes): L0A [m1][k1][16 m][c0 k] (Zz), L0B [k1][n1][16 n][c0 k] (Zn). L0C holds [n1][m][16 n] (Nz) of f32.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "cubejit/dtype.h"

namespace cubejit {

/// Half-open run of `count` from `begin`.
struct Span {
  std::int64_t begin = 0, count = 0;
  std::int64_t end() const { return begin + count; }
  friend bool operator==(const Span& a, const Span& b) = default;
};

/// GM -> L1: a piece of the unfolded operand at one depth. Rows and columns are those of the spread grid: a spread operand has its elements at
/// multiples of the stride and zeros between.
struct LoadImage {
  std::int64_t l1 = 0;  ///< bytes into L1
  std::int64_t depth = 0;
  Span rows, columns, blocks;
  friend bool operator==(const LoadImage& a, const LoadImage& b) = default;
};

/// GM -> L1: weights of one kernel depth, `units` along K and channels `n` of the result; [n / c0][k][c0], or, where memory has K
/// innermost (`plain`), [k / c0][n][c0].
struct LoadWeights {
  std::int64_t l1 = 0;
  std::int64_t tapDepth = 0;
  Span units, n;
  bool plain = false;
  friend bool operator==(const LoadWeights& a, const LoadWeights& b) = default;
};

/// GM -> L1: channels of the small tensor at a run of pixels of one depth; [channel / c0][pixel][c0].
struct LoadPixels {
  std::int64_t l1 = 0;
  std::int64_t depth = 0;
  Span channels, pixels;
  friend bool operator==(const LoadPixels& a, const LoadPixels& b) = default;
};

enum class L0Side : std::uint8_t { kA, kB };

/// L1 -> L0: unfolds a piece (img2col): element (pixel, unit channel) is what the unit's tap sees from the pixel; zero outside
/// the operand. To L0A pixels are m and units k; to L0B units are n and pixels k, transposed on the way.
struct Unfold {
  L0Side side = L0Side::kA;
  std::int64_t l0 = 0;  ///< bytes into L0A or L0B
  LoadImage piece;      ///< what is in L1, and where
  Span pixels, units;
  friend bool operator==(const Unfold& a, const Unfold& b) = default;
};

/// L1 -> L0: fractals of a matrix; x is m (L0A) or n (L0B), y is k. `x`, `y` count from the beginning of the piece in L1. Without
/// `plain` L1 has x innermost, and 16 x c0 are transposed on the way.
struct LoadFractals {
  L0Side side = L0Side::kA;
  std::int64_t l0 = 0, l1 = 0;
  std::int64_t pitch = 0;  ///< y's (plain: x's) that lie between two blocks of c0
  Span x, y;
  bool plain = false;
  friend bool operator==(const LoadFractals& a, const LoadFractals& b) = default;
};

/// Cube: C[m][n] (+)= sum over k, ascending (bf16: in pairs, see mmad_model), of A[m][k] * B[k][n], each product added in one fused operation in f32. Counts are of
/// fractals: m1 and n1 of 16, k1 of c0. HF32 operands are rounded when they are read.
struct Mmad {
  std::int64_t l0a = 0, l0b = 0, l0c = 0;
  std::int64_t m1 = 0, k1 = 0, n1 = 0;
  bool first = false;  ///< C starts at zero
  friend bool operator==(const Mmad& a, const Mmad& b) = default;
};

/// The k that an Mmad adds `step`th: bf16 goes in pairs, the second one first, as dot products take them.
constexpr std::int64_t kOfStep(std::int64_t step, DType operand) { return operand == DType::kBf16 ? step ^ 1 : step; }

using UnitInstruction = std::variant<LoadImage, LoadWeights, LoadPixels, Unfold, LoadFractals, Mmad>;
using UnitProgram = std::vector<UnitInstruction>;

/// "gm_to_l1 image", ..., as traces and errors call an instruction.
const char* nameOf(const UnitInstruction& instruction);
/// One line: the name and every field.
std::string toString(const UnitInstruction& instruction);

}  // namespace cubejit
