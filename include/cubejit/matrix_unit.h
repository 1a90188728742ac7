// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a unit is described that multiplies small matrices at once: a chip's cube, or the tiles of Intel's AMX.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "cubejit/dtype.h"
#include "cubejit/mkn.h"

namespace cubejit {

/// In which order a product adds the terms of an element. It decides the last bits, so interpreters and code keep to it.
enum class SumOrder : std::uint8_t {
  kOneByOne,  ///< c = fma(a[m][k], b[k][n], c), one k after another
  kTwoChains  ///< the even k and the odd k, a chain of fma each that begins with zero; c + (even + odd). Sums that are denormal, and bf16
              ///< that are, count as zero. Source: Intel's Software Developer's Manual, TDPBF16PS and TDPFP16PS
};

/// What one instruction multiplies for one type of operands: C[m][n] += A[m][k] * B[k][n], sums in f32.
struct MatrixProduct {
  DType operand = DType::kF16;
  Mkn shape{16, 16, 16};
  double cycles = 1;  ///< of the core, for one product
  SumOrder order = SumOrder::kOneByOne;
};

/// The products of a unit, a type each.
class MatrixProducts {
 public:
  static constexpr std::size_t kMost = 8;
  constexpr MatrixProducts() = default;
  /// Precondition: at most kMost.
  constexpr MatrixProducts(std::initializer_list<MatrixProduct> list) {
    for (const MatrixProduct& product : list) add(product);
  }
  /// False: there are kMost already.
  constexpr bool add(const MatrixProduct& product) {
    if (count_ == kMost) return false;
    list_[count_++] = product;
    return true;
  }
  constexpr std::size_t size() const { return count_; }
  constexpr bool empty() const { return count_ == 0; }
  constexpr const MatrixProduct* begin() const { return list_.data(); }
  constexpr const MatrixProduct* end() const { return list_.data() + count_; }
  constexpr const MatrixProduct& front() const { return list_[0]; }
  constexpr const MatrixProduct& operator[](std::size_t i) const { return list_[i]; }

 private:
  std::array<MatrixProduct, kMost> list_{};
  std::size_t count_ = 0;
};

/// A matrix unit. Ascend's cube reads tiles (fractals) of `rows` rows of `rowBytes` bytes from buffers, L0A and L0B, and keeps sums in L0C; a
/// unit with tile registers of its own says how many.
struct MatrixUnit {
  int tiles = 0;  ///< registers; 0: operands and sums lie in buffers
  int rows = 16;
  std::int64_t rowBytes = 32;
  double loadCycles = 0, storeCycles = 0;  ///< of a tile register
  MatrixProducts products;                 ///< one a type

  /// Whether its registers hold a block of so many tiles of sums along rows and columns, with a step's operands.
  constexpr bool holds(std::int64_t rowTiles, std::int64_t columnTiles) const {
    return rowTiles <= tiles && columnTiles <= tiles && rowTiles * columnTiles + rowTiles + columnTiles <= tiles;
  }
  /// The product for a type; null if the unit lacks it. Asked for hf32 of any width, the unit's own.
  constexpr const MatrixProduct* product(DType type) const {
    for (const MatrixProduct& candidate : products) {
      if (candidate.operand == type || (isHf32(candidate.operand) && isHf32(type))) return &candidate;
    }
    return nullptr;
  }
};

/// Intel's AMX: eight tiles of at most 16 rows of 64 bytes, and products of bf16, or of f16, too. Cycles: Sapphire Rapids, github.com/usstq/mm_amx
/// (products one in 16 cycles, loads out of L1 one in 8); stores are not published and assumed.
inline constexpr MatrixUnit kAmxBf16{8, 16, 64, 8, 16, {{DType::kBf16, {16, 32, 16}, 16, SumOrder::kTwoChains}}};
inline constexpr MatrixUnit kAmxFp16{
    8,
    16,
    64,
    8,
    16,
    {{DType::kBf16, {16, 32, 16}, 16, SumOrder::kTwoChains}, {DType::kF16, {16, 32, 16}, 16, SumOrder::kTwoChains}}};

}  // namespace cubejit
