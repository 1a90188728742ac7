// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides in which registers a vector's operands meet. Leaves what is made of them to expression_code.
#include <algorithm>
#include <utility>
#include <vector>

#include "codegen/units/element_code.h"
#include "codegen/units/expression_code.h"
#include "codegen/units/row_code.h"
#include "codegen/units/units.h"

namespace cubejit {
namespace {

// Registers of data that long expressions leave, and those that legalize() may take.
constexpr int kFewestTurns = 2, kSpared = 3;

// Those that no data is in, the one whose turn it is first. Of the eight for data those from `turns` to `kept`.
std::vector<int> temporariesOf(const MatrixCode& code, const HostIsa& isa, int turns, int kept) {
  const int first = code.pairTemporary(), base = MatrixCode::kDataRegisters;
  std::vector<int> all{first, base + (first == base ? 1 : 0)};
  for (int r = base + 2; r < MatrixCode::kBehindScratch + 2; ++r) all.push_back(r);
  for (int r = MatrixCode::kBehindScratch + 2; r < isa.vectorRegs - kSpared; ++r) all.push_back(r);
  for (int r = turns; r < kept; ++r) all.push_back(r);
  return all;
}

std::vector<int> firstOf(std::vector<int> registers, std::size_t count) {
  registers.resize(std::min(registers.size(), count));
  return registers;
}

// The accumulators of a row that is combined. A value takes a register for itself where its vector is no whole one.
class RowChains {
 public:
  RowChains(MatrixCode& code, Combine how) : code_(code), how_(how) {}

  void begin() {
    for (int n = 0; n < kMapChains; ++n) code_.a.identity(kFirst + n, how_);
    vectors_ = 0;
  }
  void add(int value, LaneRange lanes) {
    if (!lanes.all()) {
      code_.a.identity(kPart, how_);
      code_.a.move(kPart, value, lanes);
      value = kPart;
    }
    const int acc = kFirst + vectors_++ % kMapChains;
    code_.a.combine(how_, acc, value, acc);
  }
  void end(MatrixCode::At dst) {
    for (const int n : {0, 2}) code_.a.combine(how_, kFirst + n, kFirst + n + 1, kFirst + n);
    code_.a.combine(how_, kFirst, kFirst + 2, kFirst);
    code_.a.store(kFirst, dst.base, dst.disp);
  }

 private:
  static constexpr int kFirst = MatrixCode::kDataRegisters - kMapChains, kPart = kFirst - 1;

  MatrixCode& code_;
  const Combine how_;
  int vectors_ = 0;
};
// Data registers that are left beside them.
constexpr int kTurnsBeside = MatrixCode::kDataRegisters - kMapChains - 1;

}  // namespace

Result<VectorProgram> unitCode(const Map& m, const HostIsa& isa) {
  MatrixCode code(m.label, m.lanes, isa);
  ElementCode values(code.a, m.from, Element::kF32), d(code.a, m.d, Element::kF32), b(code.a, m.b, Element::kF32),
      e(code.a, m.to, Element::kF32), stored(code.a, Element::kF32, m.to);
  ExpressionCode f(code.a, m.f);
  const bool combines = m.combine != Combine::kNone;
  const int turns = combines ? kTurnsBeside : MatrixCode::kDataRegisters;
  code.takeTurns(turns);
  const auto temporaries = [&] { return temporariesOf(code, isa, kFewestTurns, turns); };
  const std::size_t there = temporaries().size(), beside = there - static_cast<std::size_t>(turns - kFewestTurns);
  if (f.temporaries() > beside) code.takeTurns(kFewestTurns);
  if (f.temporaries() > there)
    return Error{ErrorCode::kLimitExceeded, Stage::kVector,
                 m.label.text + ": its expression needs " + std::to_string(f.temporaries()) +
                     " vector registers beside the element's; there are " + std::to_string(there)};
  // Registers that are left hold constants of the expression, which are loaded before the first row, and what is the same all along a row.
  std::vector<int> left;
  const std::vector<int> all = temporaries();
  for (std::size_t t = f.temporaries(); t < all.size(); ++t) {
    if (all[t] >= MatrixCode::kBehindScratch + 2) left.push_back(all[t]);
  }
  f.keep(left, [&](const ExpressionValue& value) {
    const bool ofRow =
        (value == ExpressionValue::d() && m.dColumn == 0) || (value == ExpressionValue::b() && m.bColumn == 0);
    return ofRow && m.cols > m.lanes;
  });
  const bool readsE = m.f.readsE();
  RowChains chains(code, m.combine);
  const auto besideIt = [&code](ElementCode& element, MatrixCode::At at, std::int64_t column, LaneRange lanes) {
    return [&element, &code, at, column, lanes](int reg) {
      if (column == 0)
        code.a.broadcast(reg, at.base, at.disp);
      else
        element.load(reg, -1, at.base, at.disp, lanes);
    };
  };
  const auto vector = [&](MatrixCode::At src, MatrixCode::At dst, const RowCode::Beside& beside, LaneRange,
                          LaneRange lanes) {
    const int r = code.next();
    if (m.zeros)
      code.a.zero(r);
    else
      values.load(r, -1, src.base, src.disp, lanes);
    if (readsE) {
      code.a.arg(MatrixCode::kFlag, ArgSlot::kResidual);
      code.a.add(MatrixCode::kFlag, MatrixCode::kFlag, dst.base);
    }
    f.apply(r, firstOf(temporaries(), f.temporaries()),
            {besideIt(d, beside[0], m.dColumn, lanes), besideIt(b, beside[1], m.bColumn, lanes),
             [&](int reg) { e.load(reg, -1, MatrixCode::kFlag, dst.disp, lanes); }});
    if (combines)
      chains.add(r, lanes);
    else if (m.streamingStore && lanes.all())
      code.a.storeStream(r, dst.base, dst.disp);
    else
      stored.store(r, MatrixCode::scratch(), dst.base, dst.disp, lanes);
  };
  Rows rows = rowsOf(m);
  rows.beside = {Rows::Beside{m.f.readsD(), m.dRow, m.dColumn}, {m.f.readsB(), m.bRow, m.bColumn}};
  const auto begin = [&](MatrixCode::At, const RowCode::Beside& beside) {
    if (combines) chains.begin();
    f.keepRow({besideIt(d, beside[0], 0, {}), besideIt(b, beside[1], 0, {}), {}});
  };
  const auto end = [&](MatrixCode::At dst, const RowCode::Beside&) {
    if (combines) chains.end(dst);
  };
  if (combines) rows.out = rows.padCols = 0;  // a row's result stays where it is
  return RowCode(code, begin, vector, end).run({}, rows);
}

}  // namespace cubejit
