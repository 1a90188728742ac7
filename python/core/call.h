// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a call of Python is held before it runs: what its tensors are like, where results go, and the problem they make.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <optional>
#include <string>

#include "cubejit/cubejit.hpp"
#include "python/core/array.h"
#include "python/core/convolution.h"
#include "python/core/memory_format.h"
#include "python/core/tensor_view.h"

namespace cubejit::python {

/// Where a result goes: memory of the caller's, or new memory in the order of the operand it belongs to.
struct Target {
  pybind11::object given = pybind11::none();  ///< what is returned if the memory is the caller's
  TensorView view;
  Array array;
  void* data = nullptr;
  TensorFormat format;
};

inline constexpr std::array<TensorId, 3> kOperands{TensorId::kDy, TensorId::kX, TensorId::kW};

/// One call. Everything of Python is looked at first, with the GIL; settle() and compute() need it no more.
struct Call {
  Problem problem;
  PassMask mask;
  std::string math;
  std::array<TensorView, kOperands.size()> views;  ///< of kOperands; those that nothing reads may be empty
  std::array<TensorView, kPasses.size()> likes;    ///< by Pass: shapes and types of results
  std::array<Target, kPasses.size()> targets;      ///< by Pass
  std::array<Operand, kOperands.size()> operands;  ///< since settle()
  TensorView bias, addend, yGiven;  ///< of post-ops, and y for backward passes; empty where there are none

  TensorView& like(Pass pass) { return likes[static_cast<std::size_t>(pass)]; }
  Target& target(Pass pass) { return targets[static_cast<std::size_t>(pass)]; }

  /// The problem of the views, which x and w must have. `dy`: its shape, if it is one of them.
  void describe(const std::string& math, const std::optional<Shape>& dy, const ConvolutionArguments& arguments);
  /// Where the result of a pass goes: to `given`, or, None, to new memory in the order of the operand it is like; y is like x.
  void aim(Pass pass, const pybind11::object& given);
  /// Where new memory of a result that was aimed lies: dense with these strides, plain or channels-last; throws if it is neither.
  void order(Pass pass, const Shape& strides);
  /// What forward does with its sums: b, z, or None, and an activation's text. To be said before aim(): y lies as z does.
  void finish(const pybind11::object& b, const pybind11::object& z, const std::string& activation);
  /// What backward passes of a convolution with that activation read beside dy.
  void slope(const pybind11::object& y, const std::string& activation);
  /// What dx, dw and db are like.
  void likeOperands();
  /// Throws if b or z does not fit y, which is settled.
  void checkFinish() const;
  /// How every tensor lies in memory becomes the problem's.
  void settle();
  /// Computes the passes of the mask. Memory for results is made once the problem is known to be legal.
  void compute(Session& session, int threads);
  /// What the caller is given.
  pybind11::object result(Pass pass);
};

/// The pass of a name; throws, and says which there are.
Pass passOf(const std::string& name);

/// An activation's text as post-ops; throws if it is none, and if it says bias or add, which are arguments of their own.
PostOps activationOf(const std::string& text);

/// The shape of y.
Shape shapeOfY(const Problem& problem);

/// Throws if there is no such word for `math`.
void requireMath(const std::string& math);

}  // namespace cubejit::python
