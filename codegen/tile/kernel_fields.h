// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the words that stand for the fields of tile instructions, once for who prints and who parses. A field that has its default is
// left out; a flag is its word alone.
#pragma once

#include <iterator>
#include <tuple>
#include <variant>

#include "codegen/tile/program.h"

namespace cubejit {

/// Which instruction it is, in the order of Kernel's alternatives.
inline constexpr const char* kKernelWords[] = {"contract", "tile_product", "copy",        "transpose",
                                               "fill",     "accumulate",   "lane_reduce", "map"};
static_assert(std::size(kKernelWords) == std::variant_size_v<Kernel>);

/// A word, and the field it stands for in those instructions that have it: Get can be called with no others.
template <class Get>
struct KernelField {
  const char* word;
  Get get;
};
template <class Get>
KernelField(const char*, Get) -> KernelField<Get>;

#define CUBEJIT_FIELD(word, field)                               \
  KernelField {                                                  \
    word, [](auto& k) -> decltype((k.field)) { return k.field; } \
  }
inline constexpr auto kKernelFields = std::make_tuple(
    CUBEJIT_FIELD("lanes", lanes), CUBEJIT_FIELD("rows", rows), CUBEJIT_FIELD("cols", cols),
    CUBEJIT_FIELD("zeros", zeros), CUBEJIT_FIELD("from", from), CUBEJIT_FIELD("to", to),
    CUBEJIT_FIELD("element", element), CUBEJIT_FIELD("src_pitch", srcPitch), CUBEJIT_FIELD("dst_pitch", dstPitch),
    CUBEJIT_FIELD("pad_cols", padCols), CUBEJIT_FIELD("pair_pitch", pairPitch), CUBEJIT_FIELD("pairs_cut", pairsCut),
    CUBEJIT_FIELD("list", list), CUBEJIT_FIELD("prefetch_ahead", prefetchAhead), CUBEJIT_FIELD("sets", sets),
    CUBEJIT_FIELD("dot_products", products), CUBEJIT_FIELD("vectors_a", vectorsA), CUBEJIT_FIELD("vectors_b", vectorsB),
    CUBEJIT_FIELD("pair_pitch_b", pairPitchB), CUBEJIT_FIELD("adds_to_c", addsToC), CUBEJIT_FIELD("copies_b", copiesB),
    CUBEJIT_FIELD("result", result), CUBEJIT_FIELD("streaming_store", streamingStore),
    CUBEJIT_FIELD("prefetch_results", prefetchResults), CUBEJIT_FIELD("pairs", pairs),
    CUBEJIT_FIELD("tile_rows", tileRows), CUBEJIT_FIELD("operand", operand), CUBEJIT_FIELD("a_pitch", aPitch),
    CUBEJIT_FIELD("b_pitch", bPitch), CUBEJIT_FIELD("c_pitch", cPitch), CUBEJIT_FIELD("a_tile", aTile),
    CUBEJIT_FIELD("b_tile", bTile), CUBEJIT_FIELD("c_tile", cTile), CUBEJIT_FIELD("a_step", aStep),
    CUBEJIT_FIELD("b_step", bStep), CUBEJIT_FIELD("d", d), CUBEJIT_FIELD("d_row", dRow),
    CUBEJIT_FIELD("d_column", dColumn), CUBEJIT_FIELD("b", b), CUBEJIT_FIELD("b_row", bRow),
    CUBEJIT_FIELD("b_column", bColumn), CUBEJIT_FIELD("combine", combine), CUBEJIT_FIELD("epilogue", epilogue),
    CUBEJIT_FIELD("f", f));
#undef CUBEJIT_FIELD

/// Elements, every one of which has a word.
inline constexpr int kElements = static_cast<int>(Element::kBf16Flushed) + 1;

}  // namespace cubejit
