// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides in which registers an expression's values are, and how its operations become vector ops; the meaning is that of tile/expression.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "codegen/units/assembler.h"

namespace cubejit {

class ExpressionCode {
 public:
  /// Load an operand into a register.
  struct Loads {
    std::function<void(int reg)> d{}, b{}, e{};
  };

  /// It refers to the expression.
  ExpressionCode(VectorAssembler& a, const Expression& f);

  bool any() const { return f_.any(); }
  /// Registers that apply() overwrites beside the element's.
  std::size_t temporaries() const { return temporaries_; }
  /// Keeps values in these registers, those that most steps read first: apply() finds them there from now on. Constants are loaded now, and by
  /// keepRow() what is the same all along a row, d or b.
  void keep(const std::vector<int>& registers, const std::function<bool(const ExpressionValue&)>& ofRow);
  void keepRow(const Loads& loads);
  /// Makes f of what is in `reg`. `free`: at least temporaries() registers.
  void apply(int reg, const std::vector<int>& free, const Loads& loads);

 private:
  class Evaluation;

  VectorAssembler& a_;
  const Expression& f_;
  std::size_t elementEnds_ = 0;    ///< the last step that reads the element
  std::vector<std::size_t> ends_;  ///< by step: the last one that reads what it gives
  std::size_t temporaries_ = 0;
  std::vector<std::pair<ExpressionValue, int>> kept_;  ///< constants as their bits, and their registers
};

}  // namespace cubejit
