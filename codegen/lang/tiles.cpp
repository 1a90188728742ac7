// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which sums of pairs are products of a matrix unit, and how many pairs each of those takes.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "codegen/lang/statements.h"
#include "codegen/tile/tile_product.h"

namespace cubejit::lang {
namespace {

constexpr std::int64_t kFewestRows = 8;  // a vector's dot product takes as long as two rows of a tile's
constexpr std::int64_t kPairs = kAmxBf16.rowBytes / 4, kColumns = TileProduct::kTileColumns;

std::int64_t parts(std::int64_t all, std::int64_t each) { return (all + each - 1) / each; }

}  // namespace

bool Statements::suitsTiles(const Product& p) const {
  if (isa_.matrixProduct(DType::kBf16) == nullptr || p.products != Products::kPairs || p.pairPitch != 0 || p.rows < 0 ||
      nest_.tensor(p.other->tensor).packed >= 0)
    return false;
  const bool tails = std::any_of(p.over.begin(), p.over.end(), [&](int i) {
    return nest_.index(i).extent % std::max<std::int64_t>(1, nest_.index(i).seen()) != 0;
  });
  if (tails) return false;
  const std::int64_t rows = nest_.index(p.rows).seen(), columns = nest_.index(p.vector).seen();
  return rows >= kFewestRows && columns >= kColumns && p.vectors.sameAlong(p.rows) &&
         isa_.matrixUnit()->holds(parts(rows, isa_.matrixUnit()->rows), parts(columns, kColumns));
}

bool Statements::liesForTiles(const Product& p, const Place& to) const {
  return to.element == Element::kF32 && std::abs(to.apartAt(p.rows)) >= 4 * nest_.index(p.vector).seen();
}

void Statements::tileProducts(const Product& p, const Access& target) {
  const Place to = nest_.placeOf(target);
  const int last = p.over.back();
  const std::int64_t pairs = parts(nest_.index(last).seen(), 2), whole = pairs / kPairs * kPairs;
  std::vector<int> around = indicesOf(target);
  around.erase(std::remove_if(around.begin(), around.end(), [&](int i) { return i == p.vector || i == p.rows; }),
               around.end());
  // `each` pairs at once, from one on; what is there already is added to.
  const auto products = [&](std::int64_t from, std::int64_t each, std::int64_t times) {
    nest_.call(
        {nameOf(target, "tiles"), p.other, p.vectors, to, {}, {p.vector, p.rows}, around}, [&](const Sizes& sizes) {
          TileProduct m{.lanes = lanes_, .rows = sizes(p.rows), .cols = sizes(p.vector), .pairs = each};
          m.tileRows = parts(m.rows, parts(m.rows, isa_.matrixUnit()->rows));
          m.aPitch = p.otherApart(p.rows), m.bPitch = 2 * p.vectors.apartAt(last);
          m.cPitch = to.apartAt(p.rows);
          m.aTile = m.tileRows * m.aPitch, m.bTile = 4 * kColumns, m.cTile = m.tileRows * m.cPitch;
          m.aStep = 4 * each, m.bStep = each * m.bPitch;
          m.label = "tiles";
          const Segment first{4 * from, from * m.bPitch, times};
          Made made{m, SegmentList{segmentsOf(p, sizes, first)}, 0, from > 0};
          made.cycles = static_cast<double>(m.rowTiles() * m.columnTiles() * times) *
                        static_cast<double>(made.list->front().size()) * isa_.matrixProduct(DType::kBf16)->cycles;
          return made;
        });
  };
  if (whole > 0) products(0, kPairs, whole / kPairs);
  if (pairs > whole) products(whole, pairs - whole, 1);
}

}  // namespace cubejit::lang
