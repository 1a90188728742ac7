// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides when a contract or a move means something by itself.
#include <algorithm>
#include <cstdlib>

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
  void vectorOf(int lanes) {
    if (lanes != 4 && lanes != 8 && lanes != 16)
      fail("vectors of " + std::to_string(lanes) + " lanes; no ISA has them");
  }
  std::vector<std::string> take() { return std::move(rules_); }

 private:
  std::string label_;
  std::vector<std::string> rules_;
};

// Every kernel passes here on its way to code, so texts are made only for what is broken.
class ContractRules {
 public:
  explicit ContractRules(const Contract& contract) : c_(contract), rules_("contract " + contract.label) {}

  std::vector<std::string> run() {
    rules_.vectorOf(c_.lanes);
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
    if (c_.result != Element::kF32 && c_.result != Element::kF16 && c_.result != Element::kBf16 &&
        c_.result != Element::kBf16Flushed)
      rules_.fail(std::string("results of type ") + toString(c_.result));
    if (c_.result != Element::kF32 && c_.streamingStore) rules_.fail("16-bit results with streaming stores");
    rules_.require(!c_.post.bias || !c_.copiesB, "biases are read through d, where b's copies go");
    const bool formed = c_.vectorsB == Element::kPair;
    rules_.require(!formed || (c_.dotProducts && c_.pairPitchB != 0),
                   "b vectors of pairs need dot products and a pitch from first to second members, which is " +
                       std::to_string(c_.pairPitchB));
    for (const Element vectors : {c_.vectorsA, formed ? Element::kF32 : c_.vectorsB}) {
      if (vectors != Element::kF32 && vectors != Element::kF16 && vectors != Element::kBf16)
        rules_.fail(std::string("vectors of type ") + toString(vectors));
      if (vectors != Element::kF32 && c_.dotProducts) rules_.fail("pairs in vectors of 16-bit elements");
    }
    for (std::size_t t = 0; t < c_.tables.size(); ++t) {
      if (c_.tables[t].size() == static_cast<std::size_t>(c_.lanes)) continue;
      rules_.fail("table " + std::to_string(t) + " has " + std::to_string(c_.tables[t].size()) + " entries, not " +
                  std::to_string(c_.lanes));
    }
    for (section_ = 0; section_ < c_.sections.size(); ++section_) {
      const std::vector<Step>& steps = c_.sections[section_].steps;
      for (step_ = 0; step_ < steps.size(); ++step_) {
        if (steps[step_].firstMembers && !c_.dotProducts) fail("first members of what are no pairs");
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
    if (a.kind == AKind::kBroadcast && c_.vectorsA != Element::kF32) fail("a broadcast 16-bit element");
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

  const Contract& c_;
  Rules rules_;
  std::size_t section_ = 0, step_ = 0;
};

std::vector<std::string> moveRules(const Move& m) {
  Rules rules("move " + m.label);
  rules.vectorOf(m.lanes);
  const bool empty = m.rows == 0 || m.cols == 0;
  rules.require(m.rows >= 0 && m.cols >= 0, "a matrix of " + std::to_string(m.rows) + " x " + std::to_string(m.cols));
  rules.require(m.padCols >= 0 && (m.padCols == 0 || !empty), "padCols is " + std::to_string(m.padCols) +
                                                                  " behind a matrix of " + std::to_string(m.rows) +
                                                                  " x " + std::to_string(m.cols));
  rules.require(m.padCols == 0 || m.kind == MoveKind::kCopy || m.kind == MoveKind::kTranspose,
                "padCols is " + std::to_string(m.padCols) + ", but only copies and transposes write padding");
  const bool converts = m.kind == MoveKind::kCopy || m.kind == MoveKind::kTranspose || m.post.any();
  if (m.backward) {
    const auto sixteen = [](Element e) { return e == Element::kF16 || e == Element::kBf16; };
    const auto value = [&](Element e) { return e == Element::kF32 || sixteen(e); };
    rules.require(m.kind == MoveKind::kCopy && m.rows <= 1 && m.padCols == 0 && !m.listed && value(m.from) &&
                      value(m.to) && value(m.result) && !m.post.bias && !m.post.add,
                  "an activation's slope behind what is no copy of a row, or beside other post-ops");
  } else if (m.post.any()) {
    rules.require((m.kind == MoveKind::kCopy || m.kind == MoveKind::kZero) && m.from == Element::kF32 && !m.listed,
                  "post-ops of what is no copy of f32, nor zeros");
    rules.require(m.biasColumn == 0 || m.biasColumn == 4,
                  "a column's bias is " + std::to_string(m.biasColumn) + " bytes behind the last one's");
  }
  rules.require(converts || (m.from == m.to &&
                             (m.from == Element::kF32 || (m.from == Element::kHalf && m.kind == MoveKind::kZero))),
                std::string("only copies and transposes convert ") + toString(m.from) + " to " + toString(m.to));
  const bool words = m.from == Element::kHalf || m.from == Element::kPair;
  rules.require(m.to != Element::kPair && (m.to != Element::kHalf || m.from == Element::kHalf) &&
                    (!words || m.to == Element::kHalf || m.to == Element::kF32),
                std::string("no conversion of ") + toString(m.from) + " to " + toString(m.to));
  const std::int64_t cuttable = m.kind == MoveKind::kTranspose ? m.cols : m.rows;
  rules.require(m.pairsCut >= 0 && m.pairsCut <= cuttable && (m.pairsCut == 0 || m.from == Element::kPair),
                std::to_string(m.pairsCut) + " pairs cut of " + std::to_string(cuttable));
  rules.require(m.pairPitch == 0 || m.from == Element::kPair,
                "a pair pitch of " + std::to_string(m.pairPitch) + ", but elements are " + toString(m.from));
  rules.require(!m.streamingStore || elementBytes(m.to) == 4, "16-bit elements are not stored past the caches");
  rules.require(m.listed || (m.aOuterStep == 0 && m.cOuterStep == 0), "outer steps without a list");
  rules.require(!m.listed || m.prefetchAhead == 0, "a move with a list does not know its next repetition");
  if (m.kind == MoveKind::kLaneSums) {
    rules.require(m.cols == m.lanes,
                  "sums of " + std::to_string(m.cols) + " lanes; a vector has " + std::to_string(m.lanes));
    rules.require(!m.streamingStore, "sums of lanes are not stored past the caches");
    return rules.take();
  }
  const bool turned = m.kind == MoveKind::kTranspose;
  const std::int64_t lines = turned ? m.cols : m.rows,
                     bytes = ((turned ? m.rows : m.cols) + m.padCols) * elementBytes(m.to);
  rules.require(
      lines <= 1 || std::abs(m.dstPitch) >= bytes,
      "rows of the destination overlap: " + std::to_string(bytes) + " bytes, " + std::to_string(m.dstPitch) + " apart");
  rules.require(!m.streamingStore || (!turned && (m.rows == 1 || m.dstPitch % (m.lanes * 4) == 0)),
                "streaming store to rows that are not vector aligned: " + std::to_string(m.dstPitch) + " bytes apart");
  return rules.take();
}

}  // namespace

std::vector<std::string> kernelRules(const Kernel& kernel) {
  if (const auto* contract = std::get_if<Contract>(&kernel)) return ContractRules(*contract).run();
  return moveRules(std::get<Move>(kernel));
}

}  // namespace cubejit
