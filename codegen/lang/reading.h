// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how words within a line become names, numbers, subscripts and expressions. Leaves lines, declarations and loops to lang/parse.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/lang/source.h"
#include "codegen/text/reader.h"

namespace cubejit::lang {

/// Sizes and factors go up to here: products of two are in range.
inline constexpr std::int64_t kMostNumber = std::int64_t{1} << 31;

/// The type that a kernel's tensors may have, if the word is one: f32, f16, bf16, i8 or i32.
std::optional<Element> elementNamed(std::string_view word);

class Reading {
 protected:
  explicit Reading(std::string_view text) : in_(text, Stage::kTile, TextReader::Semicolon::kComment) {}

  struct Name {
    enum class Kind : std::uint8_t { kParameter, kTensor, kIndex };
    std::string text;
    Kind kind;
    int number;
  };
  const Name* find(std::string_view text) const;
  void add(std::string text, Name::Kind kind, std::size_t number) {
    names_.push_back({std::move(text), kind, static_cast<int>(number)});
  }
  /// A name that nothing has yet.
  std::string fresh(std::string_view what);
  int indexHere();

  /// "; M is 8, N is 40": what extents and tiles are made of.
  std::string valuesOfParameters() const;
  /// A number without an index.
  std::int64_t size(std::string_view what, std::int64_t least);
  Subscript affine(std::string_view what, int depth = 0);
  Access access(int tensor);
  Expr expression(int depth = 0);
  const Parameter& parameterAt(const Name& name) const { return k_.parameters[static_cast<std::size_t>(name.number)]; }
  /// Takes the word of such a type; nothing where another word stands.
  std::optional<Element> elementWord();

  TextReader in_;
  Source k_;
  std::vector<Name> names_;
  std::string pending_;  ///< what `let` makes in this line
  int operations_ = 0;   ///< of this line

 private:
  std::string known(Name::Kind kind) const;
  std::int64_t numberOf(const Name& parameter);
  /// An index's number, an element of the constant that all of them read.
  Expr numberOf(int index);
  void inRange(const Subscript& s);
  Subscript product(std::string_view what, int depth);
  Subscript atom(std::string_view what, int depth);

  using Infix = std::pair<const char*, const char*>;  ///< symbol, the operation's word
  template <class Next>
  Expr leftToRight(const std::array<Infix, 2>& operations, Next next);
  void count();
  Expr term(int depth);
  Expr primary(int depth);
  struct ReductionWord {
    const char* word;
    Combine combine;
    bool first;  ///< where the extremum is reached first is meant, not the extremum
  };
  static const ReductionWord* reductionNamed(std::string_view word);
  Expr reduce(const ReductionWord& how, int depth);
  /// Which combination of the indices is the first one at which `inner` is the extremum: they are counted from 0, the last index fastest. Where none
  /// is, how many there are.
  Expr firstAt(const ReductionWord& how, const std::vector<int>& over, const Expr& inner);
  Expr operation(const std::string& name, int depth);
};

}  // namespace cubejit::lang
