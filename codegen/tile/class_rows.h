// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how combinations of classes are written: a row for each combination of all axes but one, whose classes are the row's cells. That axis
// is the last one with more than one class; * stands for it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "codegen/tile/program.h"

namespace cubejit {

class ClassRows {
 public:
  /// Axes that there are not have no classes.
  ClassRows(const std::vector<Axis>& axes, const std::vector<int>& classAxes) {
    for (const int a : classAxes) {
      const bool there = a >= 0 && static_cast<std::size_t>(a) < axes.size();
      radix_.push_back(there ? static_cast<std::size_t>(std::max(0, axes[static_cast<std::size_t>(a)].classes)) : 0);
      if (radix_.back() > 1) across_ = radix_.size() - 1;
    }
    for (std::size_t a = 0; a < radix_.size(); ++a) {
      if (a != across_ && __builtin_mul_overflow(rows_, radix_[a], &rows_)) counted_ = false;
    }
    if (__builtin_mul_overflow(rows_, width(), &all_)) counted_ = false;
  }

  std::size_t rows() const { return counted_ ? rows_ : 0; }
  std::size_t width() const { return across_ < radix_.size() ? radix_[across_] : 1; }
  /// Combinations in all; false if they cannot be counted.
  bool count(std::size_t& all) const {
    all = all_;
    return counted_;
  }
  std::size_t axes() const { return radix_.size(); }
  std::size_t across() const { return across_; }
  std::size_t radix(std::size_t axis) const { return radix_[axis]; }

  /// The number of a combination, as in Call. Axes behind the row's have one class at most.
  std::size_t number(std::size_t row, std::size_t cell) const { return row * width() + cell; }

  /// "0 2 * 0 ": the classes of a row.
  std::string text(std::size_t row) const {
    std::string text;
    for (std::size_t a = radix_.size(); a-- > 0;) {
      if (a == across_) {
        text = "* " + text;
        continue;
      }
      text = std::to_string(row % radix_[a]) + " " + text;
      row /= radix_[a];
    }
    return text;
  }

 private:
  std::vector<std::size_t> radix_;
  std::size_t across_ = static_cast<std::size_t>(-1), rows_ = 1, all_ = 0;
  bool counted_ = true;
};

}  // namespace cubejit
