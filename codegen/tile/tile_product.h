// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a product on a matrix unit means: a block of sums stays in tiles while a run-time list of segments is walked, as a contract
// keeps it in vectors (contract.h).
//
// Meaning (words are of 32 bits; all offsets and pitches are bytes). Rows of the block are cut into tiles of `tileRows`, its columns into
// tiles of 16; the last ones have what is left. Row i of C lies at C + i / tileRows * cTile + i % tileRows * cPitch; row i of A, of pairs, at
// a + i / tileRows * aTile + i % tileRows * aPitch; row k of B, of column j's tile, at b + j / 16 * bTile + k * bPitch.
//
//   for rep in 0 .. args.repeat:
//     sum[i][j] = args.accumulate ? C[i][j] : 0                       for every row i and column j
//     for each of the list's segments {aOffset, bOffset, outer} (one section):
//       a = A + aOffset;  b = B + bOffset
//       repeat `outer` times:
//         sum[i][j] = twoChains(sum[i][j], row i of A, column j of B)  of `pairs` pairs (matrix_sums.h)
//         a += aStep;  b += bStep
//     C[i][j] = sum[i][j]
//     A += args.aRepeat;  B += args.bRepeat;  C += args.cRepeat
//
// What is made of the sums beyond that is another instruction's (map.h).
#pragma once

#include <cstdint>

#include "codegen/tile/element.h"
#include "codegen/tile/label.h"
#include "cubejit/matrix_unit.h"

namespace cubejit {

struct TileProduct {
  int lanes = 16;                                   ///< words of a row of a tile, at most
  std::int64_t rows = 0, cols = 0;                  ///< of C, in words
  std::int64_t pairs = 16;                          ///< that one product sums up: words of a row of A, rows of B
  std::int64_t tileRows = 16;                       ///< of a whole tile of A and of C
  Element operand = Element::kBf16;                 ///< of which pairs are: bf16 or f16
  std::int64_t aPitch = 0, bPitch = 0, cPitch = 0;  ///< from row to row of a tile
  std::int64_t aTile = 0, bTile = 0, cTile = 0;     ///< from tile to tile: of A and C along rows, of B along columns
  std::int64_t aStep = 0, bStep = 0;                ///< from one of a segment's products to the next
  Label label{};                                    ///< spells what it is, for names and dumps

  static constexpr std::int64_t kTileColumns = kAmxBf16.rowBytes / 4;
  std::int64_t rowTiles() const { return (rows + tileRows - 1) / tileRows; }
  std::int64_t columnTiles() const { return (cols + kTileColumns - 1) / kTileColumns; }
  std::int64_t rowsOf(std::int64_t tile) const { return tile + 1 < rowTiles() ? tileRows : rows - tile * tileRows; }
  std::int64_t colsOf(std::int64_t tile) const {
    return tile + 1 < columnTiles() ? kTileColumns : cols - tile * kTileColumns;
  }
  bool f16() const { return operand == Element::kF16; }
  friend bool operator==(const TileProduct& x, const TileProduct& y) = default;
};

}  // namespace cubejit
