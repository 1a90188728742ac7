// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what all passes of a convolution with post-ops are: their definition as loops in fp64, over tensors that a formula of each layout
// places. It shares no code with the library, whose index maps and references are what it is held against.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cubejit/problem.h"
#include "tests/support/fenced_memory.h"

namespace cubejit {

/// The nearest value that a type has, ties to even.
double nearestOf(DType type, double value);

/// Values in the order n, c, d, h, w (weights: outer, inner, taps), and the memory of a type and layout that they lie in. Bytes that stand for
/// nothing are NaN until somebody writes them.
class PlacedTensor {
 public:
  PlacedTensor(const TensorFormat& format, const std::array<std::int64_t, 5>& extent);

  std::vector<double> values;
  const std::array<std::int64_t, 5>& extent() const { return extent_; }
  std::size_t indexOf(std::int64_t n, std::int64_t c, std::int64_t d, std::int64_t h, std::int64_t w) const;
  double& at(std::int64_t n, std::int64_t c, const Dhw& p) { return values[indexOf(n, c, p.d, p.h, p.w)]; }
  double at(std::int64_t n, std::int64_t c, const Dhw& p) const { return values[indexOf(n, c, p.d, p.h, p.w)]; }

  void* memory() const { return memory_.data(); }
  std::string bytes() const { return std::string(memory_.data(), static_cast<std::size_t>(size_)); }
  void store();  ///< values, rounded, to memory
  /// What memory has that the values, rounded, are not, or that stands for nothing and is not zero; empty: nothing.
  std::string difference() const;

 private:
  std::int64_t elements() const;
  std::int64_t placeOf(std::int64_t n, std::int64_t c, std::int64_t d, std::int64_t h, std::int64_t w) const;
  template <class Visit>
  void forEach(Visit visit) const;

  TensorFormat format_;
  std::array<std::int64_t, 5> extent_;
  std::int64_t size_ = 0;
  FencedMemory memory_;
};

/// The tensors of a problem; z lies as y does, dw as w.
struct DefinedConvolution {
  explicit DefinedConvolution(const Problem& problem);

  /// Fills in y, or, given y, the results of backward passes.
  void forward();
  void backward();

  const Problem& p;
  PlacedTensor x, w, y, dy, dx, dw, b, db, z;

 private:
  template <class Visit>
  void forEachProduct(Visit visit) const;
};

}  // namespace cubejit
