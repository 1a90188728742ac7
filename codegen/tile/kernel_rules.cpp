// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides when a tile instruction means something by itself.
#include <algorithm>
#include <cstdlib>

#include "codegen/tile/matrix.h"
#include "codegen/tile/rules.h"

namespace cubejit {
namespace {

class Rules {
 public:
  explicit Rules(std::string label) : label_(std::move(label)) {}

  void fail(const std::string& rule) { rules_.push_back(label_ + ": " + rule); }
  void require(bool holds, const std::string& rule) {
    if (!holds) fail(rule);
  }
  /// False for what no other rule can be asked of.
  bool vectorOf(int lanes) {
    const bool known = lanes == 4 || lanes == 8 || lanes == 16;
    if (!known) fail("vectors of " + std::to_string(lanes) + " lanes; no ISA has them");
    return known;
  }
  void sound(const Expression& f) {
    for (std::size_t s = 0; s < f.steps.size(); ++s) {
      for (const ExpressionValue& value : f.steps[s].operands) {
        if (value.kind == ExpressionValue::Kind::kStep && value.word >= s)
          fail("step " + std::to_string(s) + " of its expression reads t" + std::to_string(value.word) +
               ", which is not there yet");
      }
      const ExpressionStep& step = f.steps[s];
      if (const ExpressionValue& by = step.operands[1];
          shifts(step.op) && (by.kind != ExpressionValue::Kind::kWord || by.word > 31))
        fail("step " + std::to_string(s) + " of its expression shifts by something else than a word of 0 to 31");
    }
  }
  std::vector<std::string> take() { return std::move(rules_); }

 private:
  std::string label_;
  std::vector<std::string> rules_;
};

// What expressions compute with.
bool isValue(Element e) { return e == Element::kF32 || e == Element::kF16 || e == Element::kBf16 || isInteger(e); }

// Every kernel passes here on its way to code, so texts are made only for what is broken.
class ContractRules {
 public:
  explicit ContractRules(const Contract& contract) : c_(contract), rules_("contract " + contract.label.text) {}

  std::vector<std::string> run() {
    if (!rules_.vectorOf(c_.lanes)) return rules_.take();
    rules_.require(!c_.accumulators.empty(), "no accumulators");
    rules_.require(c_.sets >= 1, std::to_string(c_.sets) + " sets of accumulators");
    for (std::size_t i = 0; i < c_.accumulators.size(); ++i) {
      const LaneRange& r = c_.accumulators[i].lanes;
      if (!sound(r)) rules_.fail("accumulator " + std::to_string(i) + text(r));
      const LaneRange& sums = c_.accumulators[i].sums;
      if (!sound(sums)) rules_.fail("sums of accumulator " + std::to_string(i) + text(sums));
      if (!sums.all() && !r.all() && (sums.lo < r.lo || sums.hi > r.hi))
        rules_.fail("accumulator " + std::to_string(i) + " has sums in lanes that it does not store");
      if (c_.streamingStore && !r.all()) {
        rules_.fail("streaming store of accumulator " + std::to_string(i) + ", which has only some lanes");
      }
    }
    if (!isValue(c_.result) && c_.result != Element::kBf16Flushed)
      rules_.fail(std::string("results of type ") + toString(c_.result));
    if (c_.result != Element::kF32 && c_.streamingStore)
      rules_.fail("results that are not of f32 with streaming stores");
    rules_.require(c_.combine != Combine::kNone, "products are combined by none; by sum, min or max");
    rules_.require(c_.combine == Combine::kSum || (!c_.readsA() && c_.products == Products::kF32),
                   std::string(toString(c_.combine)) + " of products; only vectors of f32 times one have it");
    rules_.require(c_.products != Products::kQuads || !c_.addsToC, "sums of quads begin with what is in c, or at zero");
    rules_.require(!c_.epilogue.readsD() || !c_.copiesB, "the epilogue reads through d, where b's copies go");
    rules_.require(!c_.epilogue.readsB(), "the epilogue reads b, where the vectors of products lie");
    rules_.sound(c_.epilogue);
    const bool formed = c_.vectorsB == Element::kPair;
    rules_.require(!formed || (c_.products == Products::kPairs && c_.pairPitchB != 0),
                   "b vectors of pairs need dot products and a pitch from first to second members, which is " +
                       std::to_string(c_.pairPitchB));
    for (const Element vectors : {c_.vectorsA, formed ? Element::kF32 : c_.vectorsB}) {
      if (!isValue(vectors)) rules_.fail(std::string("vectors of type ") + toString(vectors));
      if (vectors != Element::kF32 && c_.products != Products::kF32)
        rules_.fail("pairs or quads in vectors of 16-bit elements");
    }
    for (std::size_t t = 0; t < c_.tables.size(); ++t) {
      if (c_.tables[t].size() == static_cast<std::size_t>(c_.lanes)) continue;
      rules_.fail("table " + std::to_string(t) + " has " + std::to_string(c_.tables[t].size()) + " entries, not " +
                  std::to_string(c_.lanes));
    }
    for (section_ = 0; section_ < c_.sections.size(); ++section_) {
      const std::vector<Step>& steps = c_.sections[section_].steps;
      for (step_ = 0; step_ < steps.size(); ++step_) {
        if (steps[step_].firstMembers && c_.products != Products::kPairs) fail("first members of what are no pairs");
        for (const VectorLoad& b : steps[step_].b) lanes(b.lanes, "b vector");
        for (const AOperand& a : steps[step_].a) operand(a, steps[step_].b.size());
      }
    }
    return rules_.take();
  }

 private:
  bool sound(const LaneRange& r) const {
    return (r.hi == 0 && r.lo == 0) || (r.lo >= 0 && r.lo < r.hi && r.hi <= c_.lanes);
  }
  std::string text(const LaneRange& r) const {
    return ": lanes [" + std::to_string(r.lo) + ", " + std::to_string(r.hi) + ") are not in [0, " +
           std::to_string(c_.lanes) + ")";
  }

  void fail(const std::string& rule) {
    rules_.fail("section " + std::to_string(section_) + " step " + std::to_string(step_) + ": " + rule);
  }
  void lanes(const LaneRange& r, const char* what) {
    if (!sound(r)) fail(what + text(r));
  }
  void index(std::int64_t value, std::size_t limit, const char* what) {
    if (value >= 0 && static_cast<std::size_t>(value) < limit) return;
    fail(what + (" " + std::to_string(value)) + " is not in [0, " + std::to_string(limit) + ")");
  }

  void operand(const AOperand& a, std::size_t vectors) {
    lanes(a.lanes, "operand");
    lanes(a.lanes2, "second source");
    lanes(a.useLanes, "use");
    if (a.uses.empty()) fail("an operand without uses");
    if (c_.products == Products::kQuads && !(a.kind == AKind::kBroadcast && a.useLanes.all()))
      fail("quads are multiplied by broadcasts, in all lanes");
    if (a.kind == AKind::kBroadcast && c_.vectorsA != Element::kF32) fail("a broadcast 16-bit element");
    if (a.kind == AKind::kOne) one(a);
    for (const Use& use : a.uses) {
      index(use.acc, c_.accumulators.size(), "accumulator");
      index(use.b, vectors, "b vector");
    }
    if (a.kind != AKind::kPermute && a.kind != AKind::kPermute2) return;
    index(a.table, c_.tables.size(), "table");
    if (a.table < 0 || static_cast<std::size_t>(a.table) >= c_.tables.size()) return;
    const int sources = a.kind == AKind::kPermute2 ? 2 : 1;
    for (const std::int32_t pick : c_.tables[static_cast<std::size_t>(a.table)]) {
      index(pick, static_cast<std::size_t>(sources * c_.lanes), "lane of the table");
    }
  }

  void one(const AOperand& a) {
    if (c_.products != Products::kF32) fail("one as a factor of dot products");
    const AOperand plain{.kind = AKind::kOne, .useLanes = a.useLanes, .uses = a.uses};
    if (a != plain) fail("one has an offset, lanes or a table: nothing is read for it");
  }

  const Contract& c_;
  Rules rules_;
  std::size_t section_ = 0, step_ = 0;
};

std::vector<std::string> rulesOf(const TileProduct& p) {
  Rules rules("tile product " + p.label.text);
  const auto number = [](std::int64_t v) { return std::to_string(v); };
  rules.require(p.lanes == TileProduct::kTileColumns,
                "vectors of " + number(p.lanes) + " lanes; rows of tiles have 16 words");
  rules.require(p.rows > 0 && p.cols > 0, "a block of " + number(p.rows) + " x " + number(p.cols));
  constexpr std::int64_t kMostRows = kAmxBf16.rows;  // of the only unit that code is made for
  rules.require(p.tileRows >= 1 && p.tileRows <= kMostRows,
                "tiles of " + number(p.tileRows) + " rows; they have 1 to 16");
  rules.require(p.pairs >= 1 && p.pairs <= kMostRows, number(p.pairs) + " pairs in a product; it sums 1 to 16");
  rules.require(p.operand == Element::kBf16 || p.operand == Element::kF16,
                std::string("pairs of ") + toString(p.operand) + "; they are of bf16 or f16");
  rules.require(p.bPitch % 4 == 0, "rows of B " + number(p.bPitch) + " bytes apart; pairs lie at whole words");
  rules.require(
      p.rows <= 1 || (std::abs(p.cPitch) >= 4 * p.cols &&
                      (p.rows <= p.tileRows || std::abs(p.cTile) >= p.tileRows * std::abs(p.cPitch))),
      "rows of C overlap: " + number(4 * p.cols) + " bytes, " + number(p.cPitch) + " apart, tiles " + number(p.cTile));
  if (p.rows <= 0 || p.cols <= 0 || p.tileRows < 1 || kAmxBf16.holds(p.rowTiles(), p.columnTiles()))
    return rules.take();
  rules.fail("a block of " + number(p.rows) + " x " + number(p.cols) + " in tiles of " + number(p.tileRows) +
             " x 16 takes more than the 8 tiles there are, with a step's operands");
  return rules.take();
}

class MoveRules {
 public:
  MoveRules(const Label& label, int lanes) : lanes_(lanes), rules_("move " + label.text) {}
  bool vectorOf() { return rules_.vectorOf(lanes_); }

  void check(const Copy& m) {
    converting(m, m.rows);
    streaming(m);
  }
  void check(const Transpose& m) { converting(m, m.cols); }
  void check(const Fill& m) {
    matrices(m.rows, m.cols, targetOf(m));
    rules_.require(m.element == Element::kF32 || m.element == Element::kHalf,
                   std::string("zeros of type ") + toString(m.element));
  }
  void check(const Accumulate& m) { matrices(m.rows, m.cols, targetOf(m)); }
  void check(const LaneReduce& m) {
    matrices(m.rows, m.lanes, targetOf(m));
    rules_.require(m.combine != Combine::kNone, "lanes are combined by none; by sum, min or max");
  }
  void check(const Map& m) {
    matrices(m.rows, m.cols, targetOf(m));
    padding(m.padCols, m.rows, m.cols);
    streaming(m);
    rules_.require(isValue(m.to) || m.to == Element::kBf16Flushed,
                   std::string("what is computed becomes ") + toString(m.to));
    rules_.require(isValue(m.from) && isValue(m.d) && isValue(m.b),
                   std::string("values of type ") + toString(m.from) + ", d of type " + toString(m.d) + ", b of type " +
                       toString(m.b) + "; all are f32, f16, bf16, i8 or i32");
    const auto columns = [&](const std::string& name, Element type, std::int64_t apart, bool read) {
      rules_.require(apart == elementBytes(type) || (apart == 0 && (type == Element::kF32 || !read)),
                     "a column's " + name + " is " + std::to_string(apart) +
                         " bytes behind the last one's, elements are " + toString(type));
    };
    columns("d", m.d, m.dColumn, m.f.readsD());
    columns("b", m.b, m.bColumn, m.f.readsB());
    rules_.sound(m.f);
    rules_.require(
        m.combine == Combine::kNone || (m.to == Element::kF32 && m.padCols == 0 && !m.streamingStore && !m.f.readsE()),
        "rows that are combined become vectors of f32: without padding, streaming stores or e");
  }

  std::vector<std::string> take() { return rules_.take(); }

 private:
  static std::string size(std::int64_t rows, std::int64_t cols) {
    return std::to_string(rows) + " x " + std::to_string(cols);
  }

  void matrices(std::int64_t rows, std::int64_t cols, const MatrixLines& target) {
    rules_.require(rows >= 0 && cols >= 0, "a matrix of " + size(rows, cols));
    rules_.require(target.lines <= 1 || std::abs(target.pitch) >= target.lineBytes(),
                   "rows of the destination overlap: " + std::to_string(target.lineBytes()) + " bytes, " +
                       std::to_string(target.pitch) + " apart");
  }
  void padding(std::int64_t padCols, std::int64_t rows, std::int64_t cols) {
    rules_.require(padCols >= 0 && (padCols == 0 || (rows != 0 && cols != 0)),
                   "padCols is " + std::to_string(padCols) + " behind a matrix of " + size(rows, cols));
  }
  void streaming(const OneOf<Copy, Map> auto& m) {
    rules_.require(!m.streamingStore || (elementBytes(m.to) == 4 && m.to != Element::kI32),
                   "elements of 8 or 16 bits, and rounded integers, are not stored past the caches");
    rules_.require(
        !m.streamingStore || m.rows == 1 || m.dstPitch % (lanes_ * 4) == 0,
        "streaming store to rows that are not vector aligned: " + std::to_string(m.dstPitch) + " bytes apart");
  }

  // `cuttable`: so many lines of pairs there are.
  void converting(const OneOf<Copy, Transpose> auto& m, std::int64_t cuttable) {
    matrices(m.rows, m.cols, targetOf(m));
    padding(m.padCols, m.rows, m.cols);
    const bool quads = m.from == Element::kQuad, parts = quads || m.from == Element::kPair,
               words = parts || m.from == Element::kHalf;
    rules_.require(m.to != Element::kPair && m.to != Element::kQuad &&
                       (m.to != Element::kHalf || m.from == Element::kHalf) &&
                       (!words || m.to == Element::kHalf || m.to == Element::kF32),
                   std::string("no conversion of ") + toString(m.from) + " to " + toString(m.to));
    if constexpr (std::is_same_v<std::decay_t<decltype(m)>, Transpose>)
      rules_.require(!quads, "quads are formed by copies alone");
    rules_.require(!quads || (m.pairPitch != 0 && m.to == Element::kF32),
                   "quads are four members with a pitch between them, and become words of f32");
    if (quads) cuttable = m.rows > 0 ? 3 : 0;
    rules_.require(m.pairsCut >= 0 && m.pairsCut <= cuttable && (m.pairsCut == 0 || parts),
                   std::to_string(m.pairsCut) + " pairs cut of " + std::to_string(cuttable));
    rules_.require(m.pairPitch == 0 || parts,
                   "a pair pitch of " + std::to_string(m.pairPitch) + ", but elements are " + toString(m.from));
    rules_.require(!m.list || m.prefetchAhead == 0, "a move with a list does not know its next repetition");
  }

  const int lanes_;
  Rules rules_;
};

}  // namespace

std::vector<std::string> kernelRules(const Kernel& kernel) {
  return std::visit(overloaded{[](const Contract& k) { return ContractRules(k).run(); },
                               [](const TileProduct& k) { return rulesOf(k); },
                               [](const MatrixKernel auto& k) {
                                 MoveRules rules(k.label, k.lanes);
                                 if (rules.vectorOf()) rules.check(k);
                                 return rules.take();
                               }},
                    kernel);
}

}  // namespace cubejit
