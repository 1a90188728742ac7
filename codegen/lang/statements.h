// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides into which calls a statement is taken apart; leaves sums of products to lang/products and how calls stand in loops to lang/nest.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codegen/lang/nest.h"
#include "cubejit/host_isa.h"

namespace cubejit::lang {

class Statements {
 public:
  Statements(Nest& nest, const HostIsa& isa) : nest_(nest), isa_(isa), lanes_(isa.lanes()) {}

  void lower(const Statement& statement);

 private:
  /// A sum of products, of whose factors one lies along the vectors of sums; or a sum, minimum or maximum of elements that do.
  struct Product {
    Combine combine = Combine::kSum;
    Place vectors;
    std::optional<Place> other{};  ///< what they are multiplied by, if anything
    bool otherToo = false;         ///< the other factor lies along the vectors, too
    int vector = -1, rows = -1;
    std::vector<int> over;  ///< the last one innermost
    /// A step of pairs takes two numbers of the innermost index, one of quads four: a word of each factor.
    Products products = Products::kF32;
    std::int64_t pairPitch = 0;  ///< bytes from first to second members of `vectors`; 0: they are words
    /// Bytes from one of the index's numbers to the next.
    std::int64_t otherApart(int index) const { return other ? other->apartAt(index) : 0; }
  };
  static constexpr std::size_t kMostSegments = 1 << 16;

  /// Into the target, for all combinations of its indices.
  void store(const Access& target, Expr value);
  void elementwise(const Access& target, Expr value);
  /// One element alone, as it is.
  void copy(const Access& target, const Access& source);
  /// Into words that hold pairs or quads.
  void copyIntoWords(const Access& target, const Access& source);
  static constexpr std::size_t kMostElements = 3;
  /// What a Map makes of so many elements at most.
  struct Operands {
    std::optional<Place> v{}, d{}, b{};
    Expression f{};
    /// For a product that isAlongPairs() accepts: from now on two neighbouring bf16 are read as one word of 32 bits, and the two words of a step are
    /// multiplied with one dot product of pairs. There are half as many steps, which the caller must count.
    void takePairs();
    /// Sets what a Map says of them, whose rows go along an index (-1: there is one), and whose columns along another.
    void describe(Map& m, int rows, int columns) const;
  };
  /// Precondition: storeUnlessAlong() was called for the expression.
  Operands operandsOf(const Expr& value, int vector) const;
  /// Stores elements that are neither contiguous along `vector`, if there is one, nor an f32 that is the same all along it, so that they are.
  void storeUnlessAlong(Expr& value, int vector);
  /// For all numbers of the target's indices.
  void map(const Place& to, const std::vector<int>& indices, const Operands& operands, int vector);
  void reduce(const Access& target, const Expr& reduction);
  void acrossLanes(const Access& target, const Expr& inner, Combine how, int over);
  /// False if it has no reduction that a Contract makes.
  bool contract(const Access& target, Expr value);
  /// The value with the sum's factors, if that is one of quads, where a dot product takes them; nothing if they lie there.
  std::optional<Expr> withQuads(const Expr& value, const Expr& sum, int vector);
  /// Whether an integer sum of i8 is exact as one of f32; fails if it is not, and true of other sums.
  bool exactInF32(const Expr& sum);
  /// Nothing if the sum is none of dot products.
  std::optional<Product> dotProductOf(const Expr& sum, int vector);
  /// Nothing if no factor lies along the vectors. One that has to be computed before is an element of the sum then.
  std::optional<Product> productOf(Expr& sum, int vector, const std::vector<int>& indices);
  void chooseRows(Product& p, const std::vector<int>& indices) const;
  /// Why there is no code of a product into that place, empty if there is.
  std::string refusalOfTile(const Product& p, const Place& to);
  std::int64_t vectorsOf(const Product& p) const;
  struct Tile {
    int index;
    std::int64_t numbers;
  };
  /// How many numbers of an index, over which the kernel has no loop, go into registers at once; nothing if loops say how large all tiles are.
  std::optional<Tile> fittingTile(const Product& p) const;
  /// The last word of an odd number of elements reaches behind them: they are read from rows that are filled up, with zeros if they are to be.
  void fillUpOther(Product& p, const Expr& sum, bool zeros);
  /// Combinations of the numbers of all indices but the innermost, the last of them fastest.
  std::vector<Segment> segmentsOf(const Product& p, const Sizes& sizes, const Segment& first);
  /// What is made of sums, of those in memory of their own.
  bool finishLater(const Access& target, Expr value);
  /// Whether the matrix unit's tiles take the sums.
  bool suitsTiles(const Product& p) const;
  /// Whether they can be stored there as they are.
  bool liesForTiles(const Product& p, const Place& to) const;
  void tileProducts(const Product& p, const Access& target);
  /// Why there is no code of a product that ends with `f`; empty if there is.
  std::string refusalOf(const Product& p, const Place& to, const Expression& f);
  Made product(const Product& p, const Place& to, const std::optional<Place>& d, const Expression& f,
               const Sizes& sizes);

  /// Those of its reductions in memory of their own, equal ones once.
  void storeReductions(Expr& value, int last, const std::function<bool(const Reduction&)>& which);
  /// The value in memory of its own, `last` contiguous if it names that.
  Access stored(Expr value, int last, Element element = Element::kF32);
  /// Leaves at most kMostElements different elements in the expression.
  void limitElements(Expr& value, int last);
  /// Whether the values of a Map of the expression fit into the ISA's registers.
  bool fits(const Expression& f, Combine how) const;
  int contiguousIndex(const Access& access) const { return lang::contiguousIndex(nest_.source(), access); }
  std::string nameOf(const Access& target, const char* what) const;
  void fail(const std::string& what, ErrorCode code = ErrorCode::kUnsupported);

  Nest& nest_;
  const HostIsa& isa_;
  const int lanes_;
  int line_ = 0;
  std::vector<std::pair<Expr, Access>> reductions_;  ///< of this statement, that are in memory of their own
};

/// Along which an expression has values.
std::vector<int> indicesOf(const Expr& value);
/// The different elements that an expression reads, in the order of their appearance; without those of `except`, a part of it.
std::vector<Access> elementsOf(const Expr& value, const Expr* except = nullptr);
/// Puts one element in the place of another, wherever it is read.
void replace(Expr& value, const Access& old, const Access& made);
/// An expression as steps, in which some parts are operands: all elements are. Its value is what the last step gives, or v alone.
Expression expressionOf(const Expr& value, const std::function<std::optional<ExpressionValue>(const Expr&)>& operand);

}  // namespace cubejit::lang
