// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the one arithmetic tile instruction means: `contract` keeps a tile of accumulators in vector registers
// while it walks a run-time list of segments (kernel taps, or runs of pixels). Dense, strided, dilated, grouped and
// depthwise gradients are all contracts with different offsets; so are sums, minima and maxima of vectors that nothing is
// multiplied by.
// Leaves to tile/program.h where a contract is called from and to units/contract how it becomes vector instructions.
//
// Meaning (every acc is one vector of `lanes` f32; all offsets are bytes):
//
//   for rep in 0 .. args.repeat:
//     acc[0][i] = args.accumulate and not addsToC ? load(C + cOffset[i]) : identityOf(combine)   for every accumulator i
//     acc[t][i] = identityOf(combine)                                           for every other set t in 1 .. sets
//     for section s, for each of the list's counts[s] segments {aOffset, bOffset, outer}:
//       a = A + aOffset;  b = B + bOffset
//       repeat `outer` times:
//         for step k in sections[s].steps, in order, with t = k mod sets:
//           bv[j] = load(b + step.b[j].offset)                                  for every j  (B operands are vectors)
//           if copiesB: store(d, bv[j]), of the lanes that exist; d += lanes * 4            for every j, with d = D at first
//           for each av in step.a, in order:
//             value = av.kind: broadcast the f32 at a+offset | load the vector at a+offset |
//                     permute(tables[av.table], vector at a+offset) | permute2(table, vectors at a+offset, a+offset2) |
//                     1, and nothing is read
//             for each use {acc, b} of av, in order:  acc[t][use.acc] = fma(value, bv[use.b], acc[t][use.acc])
//                   (minima and maxima, whose values are all 1: combined(combine, bv[use.b], acc[t][use.acc]);
//                    dot products of pairs: lanes and values are pairs of bf16, acc = dotPairs(acc, value, bv); a step
//                    that takes only first members sees the second ones as zero on both sides, and does not read them
//                    if vectorsB = kPair; of quads: they are four bytes, acc an integer, acc = dotQuads(acc, value, bv))
//         a += section.aOuterStep;  b += section.bOuterStep
//     acc[0][i] = combined(combine, acc[t][i], acc[0][i])                       for every t in 1 .. sets, in order
//     if the products are of quads, unless keepsInts(): acc[0][i] = float(acc[0][i])
//     if addsToC and args.accumulate: acc[0][i] = combined(combine, load(C + cOffset[i]), acc[0][i])   for every accumulator i
//     acc[0][i] = epilogue(acc[0][i], d, e), where it reads them: d = load(D + dOffset[i]), a whole vector of f32; e = load(C + args.residual +
//                 cOffset[i]), of type `result`, 0 in lanes that hold no sums     for every accumulator i
//     store(C + cOffset[i], acc[0][i] rounded to `result`, or as it is if keepsInts())         for every accumulator i
//     A += args.aRepeat;  B += args.bRepeat;  C += args.cRepeat;  if the epilogue reads d: D += args.dRepeat
//
// The list in memory (int64s): counts[0 .. sections), then the segments of section 0, of section 1, ...; 3 int64 each.
// The order of sums is fixed by this text, so every backend gives the same bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "codegen/tile/combine.h"
#include "codegen/tile/element.h"
#include "codegen/tile/expression.h"
#include "codegen/tile/label.h"

namespace cubejit {

/// Half-open range of lanes [lo, hi). Lanes outside are neither read nor written, and do not take part in the FMA.
struct LaneRange {
  std::int16_t lo = 0, hi = 0;  ///< hi == 0 means all lanes
  bool all() const { return hi == 0; }
  friend bool operator==(const LaneRange& x, const LaneRange& y) = default;
};

/// The first `count` lanes of a vector; all if that is a whole vector or more.
inline LaneRange lanesUpTo(std::int64_t count, int lanes) {
  return count >= lanes ? LaneRange{} : LaneRange{0, static_cast<std::int16_t>(count)};
}

/// What is multiplied and added in a lane.
enum class Products : std::uint8_t {
  kF32,
  kPairs,  ///< dot products of two bf16
  kQuads   ///< dot products of four signed bytes; sums are integers modulo 2^32
};

/// Numbers of each factor that a lane's product takes.
constexpr int membersOf(Products p) { return p == Products::kF32 ? 1 : p == Products::kPairs ? 2 : 4; }

struct VectorLoad {
  std::int32_t offset = 0;  ///< from b
  LaneRange lanes;          ///< lanes that exist in memory; the others read as zero and are not touched
  friend bool operator==(const VectorLoad& x, const VectorLoad& y) = default;
};

enum class AKind : std::uint8_t {
  kBroadcast,
  kVector,
  kPermute,
  kPermute2,
  kOne  ///< the number 1 in every lane: B's vectors are combined as they are. Of f32 products only; it has no offsets, lanes and table
};
inline constexpr int kAKinds = 5;

struct Use {
  std::int16_t acc = 0;  ///< accumulator index
  std::int16_t b = 0;    ///< index into the step's b list
  friend bool operator==(const Use& x, const Use& y) = default;
};

struct AOperand {
  AKind kind = AKind::kBroadcast;
  std::int32_t offset = 0;   ///< from a
  std::int32_t offset2 = 0;  ///< kPermute2: the second source vector
  LaneRange lanes{};         ///< kVector/kPermute: lanes that exist in memory at `offset` (others read as zero)
  LaneRange lanes2{};        ///< kPermute2: the same for `offset2`
  std::int16_t table = -1;   ///< kPermute, kPermute2: index into Contract::tables
  LaneRange useLanes{};      ///< lanes of the accumulators that take part in this operand's FMAs (others unchanged)
  std::vector<Use> uses{};   ///< at least one
  friend bool operator==(const AOperand& x, const AOperand& y) = default;
};

struct Step {
  std::vector<VectorLoad> b;
  std::vector<AOperand> a;
  bool firstMembers = false;       ///< dot products of pairs only: the second members of all pairs count as zero
  std::int32_t prefetchAhead = 0;  ///< ask for the lines this many bytes behind the A operands (0: do not); no meaning
  std::int32_t prefetchB = 0;      ///< the same behind the vectors of B
  friend bool operator==(const Step& x, const Step& y) = default;
};

struct Section {
  std::vector<Step> steps;
  std::int64_t aOuterStep = 0, bOuterStep = 0;
  friend bool operator==(const Section& x, const Section& y) = default;
};

struct Accumulator {
  std::int32_t cOffset = 0;  ///< from C
  LaneRange lanes;           ///< lanes that exist at cOffset
  std::int32_t dOffset = 0;  ///< from D, if the epilogue reads it
  LaneRange sums{};          ///< those of `lanes` that hold sums, if not all: the others fill a block up with zeros
  /// Lanes for which there is an e.
  const LaneRange& live() const { return sums.all() ? lanes : sums; }
  friend bool operator==(const Accumulator& x, const Accumulator& y) = default;
};

/// One distinct contract: everything the generated code is specialised on.
struct Contract {
  int lanes = 16;  ///< f32 lanes of a vector
  std::vector<Accumulator> accumulators;
  int sets = 1;  ///< of accumulators: few sums would wait for each other's latency, so steps take turns
  std::vector<Section> sections;
  std::vector<std::vector<std::int32_t>>
      tables;                   ///< permutations: `lanes` entries each; entry in [0, lanes) picks from the
                                ///< first source, [lanes, 2*lanes) from the second (kPermute2 only)
  bool streamingStore = false;  ///< store past the caches; needs full lanes and vector-aligned addresses
  bool prefetchResults =
      false;  ///< ask for the lines of C before the sum starts (worth it for long sums of new results)
  Products products = Products::kF32;
  Element vectorsA = Element::kF32,
          vectorsB = Element::kF32;  ///< type in memory of A's vectors, B's: f32, f16, bf16; B's: kPair
  std::int64_t pairPitchB = 0;       ///< vectorsB = kPair: bytes from a word's first member to its second
  Combine combine =
      Combine::kSum;  ///< what accumulators hold of the products; minimum and maximum take AKind::kOne alone
  bool addsToC =
      false;  ///< a part of a long reduction: it begins at the identity, and is combined with what is in C at
              ///< its end, so that no sum has more additions in a row than a call
  bool copiesB = false;  ///< B's vectors are also stored through D, one behind another, as registers hold them
  Element result =
      Element::kF32;  ///< type of C: f32, f16, bf16, i8 or i32; only f32 may be accumulated into, and what keepsInts()
  Expression epilogue{};  ///< what is made of the sums before they are stored
  Label label{};          ///< spells what it is, for names and dumps
  /// Whether anything is multiplied: nothing is read through A otherwise.
  bool readsA() const {
    const auto reads = [](const AOperand& a) { return a.kind != AKind::kOne; };
    const auto step = [&](const Step& s) { return std::any_of(s.a.begin(), s.a.end(), reads); };
    return std::any_of(sections.begin(), sections.end(),
                       [&](const Section& s) { return std::any_of(s.steps.begin(), s.steps.end(), step); });
  }
  /// Whether sums of quads become elements of i32 as they are.
  bool keepsInts() const { return products == Products::kQuads && result == Element::kI32 && !epilogue.any(); }
  friend bool operator==(const Contract& x, const Contract& y) = default;
};

/// One segment of a run-time list.
struct Segment {
  std::int64_t aOffset = 0, bOffset = 0, outer = 0;
  friend bool operator==(const Segment& x, const Segment& y) = default;
};

}  // namespace cubejit
