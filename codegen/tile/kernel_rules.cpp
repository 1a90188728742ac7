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
    require(lanes == 8 || lanes == 16, "vectors of " + std::to_string(lanes) + " lanes; no ISA has them");
  }
  std::vector<std::string> take() { return std::move(rules_); }

 private:
  std::string label_;
  std::vector<std::string> rules_;
};

class ContractRules {
 public:
  explicit ContractRules(const Contract& contract) : c_(contract), rules_("contract " + contract.label) {}

  std::vector<std::string> run() {
    rules_.vectorOf(c_.lanes);
    rules_.require(!c_.accumulators.empty(), "no accumulators");
    for (std::size_t i = 0; i < c_.accumulators.size(); ++i) {
      lanes(c_.accumulators[i].lanes, "accumulator " + std::to_string(i));
      rules_.require(!c_.streamingStore || c_.accumulators[i].lanes.all(),
                     "streaming store of accumulator " + std::to_string(i) + ", which has only some lanes");
    }
    for (std::size_t t = 0; t < c_.tables.size(); ++t) {
      rules_.require(c_.tables[t].size() == static_cast<std::size_t>(c_.lanes),
                     "table " + std::to_string(t) + " has " + std::to_string(c_.tables[t].size()) + " entries, not " +
                         std::to_string(c_.lanes));
    }
    for (std::size_t s = 0; s < c_.sections.size(); ++s) {
      for (std::size_t n = 0; n < c_.sections[s].steps.size(); ++n)
        step(c_.sections[s].steps[n], "section " + std::to_string(s) + " step " + std::to_string(n));
    }
    return rules_.take();
  }

 private:
  void lanes(const LaneRange& r, const std::string& where) {
    if (r.all() && r.lo == 0) return;
    rules_.require(r.lo >= 0 && r.lo < r.hi && r.hi <= c_.lanes, where + ": lanes [" + std::to_string(r.lo) + ", " +
                                                                     std::to_string(r.hi) + ") are not in [0, " +
                                                                     std::to_string(c_.lanes) + ")");
  }

  void index(std::int64_t value, std::size_t limit, const std::string& what) {
    rules_.require(value >= 0 && static_cast<std::size_t>(value) < limit,
                   what + " " + std::to_string(value) + " is not in [0, " + std::to_string(limit) + ")");
  }

  void step(const Step& step, const std::string& where) {
    for (std::size_t b = 0; b < step.b.size(); ++b) lanes(step.b[b].lanes, where + " b" + std::to_string(b));
    for (std::size_t a = 0; a < step.a.size(); ++a) operand(step.a[a], step.b.size(), where + " a" + std::to_string(a));
  }

  void operand(const AOperand& a, std::size_t vectors, const std::string& where) {
    lanes(a.lanes, where);
    lanes(a.lanes2, where + " second source");
    lanes(a.useLanes, where + " use");
    rules_.require(!a.uses.empty(), where + ": no uses");
    for (const Use& use : a.uses) {
      index(use.acc, c_.accumulators.size(), where + ": accumulator");
      index(use.b, vectors, where + ": b vector");
    }
    if (a.kind != AKind::kPermute && a.kind != AKind::kPermute2) return;
    index(a.table, c_.tables.size(), where + ": table");
    if (a.table < 0 || static_cast<std::size_t>(a.table) >= c_.tables.size()) return;
    const int sources = a.kind == AKind::kPermute2 ? 2 : 1;
    for (const std::int32_t pick : c_.tables[static_cast<std::size_t>(a.table)]) {
      index(pick, static_cast<std::size_t>(sources * c_.lanes), where + ": lane of table " + std::to_string(a.table));
    }
  }

  const Contract& c_;
  Rules rules_;
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
  const bool turned = m.kind == MoveKind::kTranspose;
  const std::int64_t lines = turned ? m.cols : m.rows, bytes = ((turned ? m.rows : m.cols) + m.padCols) * 4;
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
