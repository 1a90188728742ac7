// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how elements of a program's buffers are named: the axes of each, and which element lies at a byte offset.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/lang/source.h"
#include "codegen/tile/origin.h"
#include "codegen/tile/program.h"
#include "cubejit/host_isa.h"
#include "cubejit/problem.h"

namespace cubejit {

/// Where an element is: a number an axis.
using ElementPlace = std::vector<std::int64_t>;

struct ElementAxes {
  std::vector<std::string> names;
  std::vector<std::int64_t> extent;  ///< elements
  bool positional = false;           ///< an element is A[3, 5], by the order of axes, and not dx[c3 w5], by their names
};

/// What is known of buffers' elements. May be asked by many threads at once.
class TensorElements {
 public:
  TensorElements() = default;
  TensorElements(const TensorElements&) = delete;
  TensorElements& operator=(const TensorElements&) = delete;
  virtual ~TensorElements() = default;
  /// Nothing of buffers that are no tensors.
  virtual std::optional<ElementAxes> axesOf(const Buffer& buffer) const = 0;
  /// As many numbers as there are axes; nothing outside the tensor, between its elements, or in its padding.
  virtual std::optional<ElementPlace> elementAt(const Buffer& buffer, std::int64_t offset) const = 0;
  /// What is called by the element it came from, or goes to, if it lies elsewhere.
  virtual Moves followed() const = 0;
};

/// Tensors of a convolution, by their names: dy, x, w, ... Sums on their way are called by where they go.
std::shared_ptr<const TensorElements> elementsOf(const Problem& problem);
/// Tensors of a kernel in the kernel language, and what `let` names (within a loop: of the tile). An axis is called by the index that alone is its
/// subscript wherever the kernel names the tensor, else d0, d1, ... Copies are called by what they are copies of.
std::shared_ptr<const TensorElements> elementsOf(const lang::Source& kernel, const HostIsa& isa);

}  // namespace cubejit
