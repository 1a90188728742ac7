// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how results reach outputs the library does not write, those that are not dense and those of 8 bits: copied or filled element
// by element in the order of memory. Leaves dense tensors, and strided inputs, to the library, which takes them as they are.
#pragma once

#include <array>
#include <cstdint>

#include "api/acl/eight_bit.h"
#include "cubejit/problem.h"

namespace cubejit::acl {

/// A tensor of n, c, d, h, w (weights: o, i, d, h, w) in memory.
/// The index of a tensor in arrays by TensorId.
constexpr std::size_t at(TensorId id) { return static_cast<std::size_t>(id); }

struct View {
  std::array<std::int64_t, 5> extents{1, 1, 1, 1, 1}, strides{};  ///< in elements
  DType dtype = DType::kF32;                                      ///< of 8 bits: FLOAT16, as which it is multiplied
  EightBit eightBit = EightBit::kNone;

  std::int64_t elementBytes() const { return eightBit != EightBit::kNone ? 1 : byteSize(dtype); }
  std::int64_t elements() const { return extents[0] * extents[1] * extents[2] * extents[3] * extents[4]; }
  /// Elements from the first to behind the last.
  std::int64_t span() const;
  /// Whether memory order is the given order of axes, outer to inner, without gaps. Extents of 1 are anywhere.
  bool denseAs(const std::array<int, 5>& order) const;
  /// Whether no two elements share memory, as far as strides in order of size tell.
  bool injective() const;
};

/// Format of the view: plain or channels-last where it is dense like that, strides otherwise.
TensorFormat formatOf(const View& view);

/// Copies 8-bit elements to where they lie dense as FLOAT16 in the order n, c, d, h, w.
void widen(const View& view, const char* source, char* dense);

/// Copies elements of the view's type that lie dense in the order n, c, d, h, w to the view.
void scatter(const View& view, const char* dense, char* target);

/// The same from elements that are FLOAT: adds `bias`, of which each channel has an element (null: nothing), and rounds once.
void scatterRounded(const View& view, const char* dense, const View& biasView, const char* bias, char* target);

/// Sets every element to a value, rounded to the view's type.
void fill(const View& view, float value, char* target);

}  // namespace cubejit::acl
