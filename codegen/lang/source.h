// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a kernel of the kernel language is, with all its parameters known: tensors, indices, and a nest of loops around statements. It is a
// value. Leaves to lang/parse how text becomes one, to lang/check which ones mean something, and to lang/lower how one becomes a TileProgram.
//
// Meaning: an index stands for all numbers of its range at once, or, within a loop over it, for those of one tile. An expression is a value for
// each combination of the indices that it names, and is the same along all others. A statement stores one for each combination of its target's.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "codegen/tile/combine.h"
#include "codegen/tile/expression.h"
#include "codegen/tile/program.h"

namespace cubejit::lang {

/// From a tensor's first element to its last one.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 37;

/// What begins at 0. Without a loop over it, it is whole wherever it stands.
struct Index {
  enum class Loop : std::uint8_t { kNone, kSerial, kParallel };
  std::string name;
  std::int64_t extent = 0;
  Loop loop = Loop::kNone;
  std::int64_t tile = 0;  ///< of a loop: numbers that its body sees at once, the last time fewer
  int tileOf =
      -1;  ///< the loop around it over whose tile it goes, in tiles that that one is made of; -1: it goes over all numbers
  int line = 0;
  std::int64_t seen() const { return loop == Loop::kNone ? extent : tile; }
  friend bool operator==(const Index& x, const Index& y) = default;
};

/// The sum of some indices' multiples and a constant. Each index occurs once.
struct Subscript {
  struct Term {
    int index = -1;
    std::int64_t factor = 1;
    friend bool operator==(const Term& x, const Term& y) = default;
  };
  std::vector<Term> terms;
  std::int64_t constant = 0;
  friend bool operator==(const Subscript& x, const Subscript& y) = default;
};

struct Tensor {
  struct Dimension {
    std::int64_t extent = 0, stride = 0;  ///< in elements
    int tileOf = -1;  ///< what `let` names: the loop of whose tile it holds values; -1: of the whole
    std::int64_t block =
        0;  ///< of the last dimension of a value: so many numbers lie beside each other, blocks behind one another; 0: all do
    friend bool operator==(const Dimension& x, const Dimension& y) = default;
  };
  std::string name;
  Buffer::Use use = Buffer::Use::kPrivate;  ///< the one constant has 0, 1, 2, ...: what indices in expressions read
  Element element = Element::kF32;          ///< f32, f16, bf16, i8 or i32
  std::vector<Dimension> dimensions;
  int line = 0;
  int packed =
      -1;  ///< of bf16 or i8: the dimension whose numbers lie two and two, or four and four, in words; -1: none
  /// How many of them are in a word.
  std::int64_t members() const { return packed < 0 ? 1 : 4 / elementBytes(element); }
  /// What its memory is made of.
  Element stored() const { return packed < 0 ? element : Element::kF32; }
  bool hasElements() const {
    return std::all_of(dimensions.begin(), dimensions.end(), [](const Dimension& d) { return d.extent > 0; });
  }
  /// From its first element to behind the last one.
  std::int64_t bytes() const {
    if (!hasElements()) return 0;
    std::int64_t last = 0;
    for (const Dimension& d : dimensions) last += (d.extent - 1) * d.stride;
    return (last + 1) * elementBytes(stored());
  }
  friend bool operator==(const Tensor& x, const Tensor& y) = default;
};

/// An element of a tensor for each combination of the indices.
struct Access {
  int tensor = -1;
  std::vector<Subscript> at;  ///< one a dimension
  friend bool operator==(const Access& x, const Access& y) = default;
};

/// An operation of the language, by its word: what becomes steps of a tile program's expression.
struct Operation {
  const char* word;
  std::size_t arity;
  ExpressionValue (*make)(Expression& f, const ExpressionValue* operands);
};
/// Null if there is none of that name.
const Operation* operationNamed(std::string_view word);
std::string operationWords();

struct Number {
  float value = 0;
  /// 0 and -0 are two numbers.
  friend bool operator==(const Number& x, const Number& y) {
    return std::bit_cast<std::uint32_t>(x.value) == std::bit_cast<std::uint32_t>(y.value);
  }
};
/// An operation on as many parts as it reads.
struct Apply {
  const Operation* operation = nullptr;
  friend bool operator==(const Apply& x, const Apply& y) = default;
};
/// Sum, minimum or maximum of one part over all numbers of these indices, or those of the tile that a serial loop is at; in it they are its own,
/// whatever they are around it.
struct Reduction {
  Combine combine = Combine::kSum;
  std::vector<int> over;
  friend bool operator==(const Reduction& x, const Reduction& y) = default;
};
struct Expr {
  std::variant<Number, Access, Apply, Reduction> what;
  std::vector<Expr> of;
  friend bool operator==(const Expr& x, const Expr& y) = default;
};

/// The operation of that word, which there is.
inline Expr call(const char* word, std::vector<Expr> of) { return {Apply{operationNamed(word)}, std::move(of)}; }

struct Statement {
  Access target;
  Expr value;
  int line = 0;
  friend bool operator==(const Statement& x, const Statement& y) = default;
};

/// A statement, or a loop over an index.
struct Item {
  int index = -1;  ///< -1: a statement
  std::vector<Item> body;
  Statement statement;
  friend bool operator==(const Item& x, const Item& y) = default;
};

/// A number or a type that a kernel is made for: what was chosen, and what may be.
struct Parameter {
  std::string name;
  std::int64_t value = 0;  ///< of a type, the number of its Element
  bool isType = false;
  std::vector<std::int64_t> values;  ///< none: any
  std::string textOf(std::int64_t v) const { return isType ? toString(static_cast<Element>(v)) : std::to_string(v); }
  friend bool operator==(const Parameter& x, const Parameter& y) = default;
};

struct Source {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<Tensor> tensors;
  std::vector<Index> indices;
  std::vector<Item> body;
  friend bool operator==(const Source& x, const Source& y) = default;
};

/// Whether an index is that loop's, or goes over numbers of its tile.
inline bool isPartOf(const std::vector<Index>& indices, int index, int loop) {
  while (index >= 0 && index != loop) index = indices[static_cast<std::size_t>(index)].tileOf;
  return index >= 0;
}

template <class T>
bool contains(const std::vector<T>& all, const T& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace cubejit::lang
