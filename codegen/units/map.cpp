// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides in which registers a vector's operands meet. Leaves what is made of them to expression_code.
#include "codegen/units/element_code.h"
#include "codegen/units/expression_code.h"
#include "codegen/units/row_code.h"
#include "codegen/units/units.h"

namespace cubejit {
namespace {

// Registers of data that long expressions leave, and those that legalize() may take.
constexpr int kFewestTurns = 2, kSpared = 3;

// Those that no data is in, the one whose turn it is first.
std::vector<int> temporariesOf(const MatrixCode& code, const HostIsa& isa) {
  const int first = code.pairTemporary(), base = MatrixCode::kDataRegisters;
  std::vector<int> all{first, base + (first == base ? 1 : 0)};
  for (int r = base + 2; r < MatrixCode::kBehindScratch + 2; ++r) all.push_back(r);
  for (int r = MatrixCode::kBehindScratch + 2; r < isa.vectorRegs - kSpared; ++r) all.push_back(r);
  for (int r = kFewestTurns; r < base; ++r) all.push_back(r);
  return all;
}

}  // namespace

Result<VectorProgram> unitCode(const Map& m, const HostIsa& isa) {
  MatrixCode code(m.label, m.lanes, isa);
  ElementCode values(code.a, m.from, Element::kF32), d(code.a, m.d, Element::kF32), e(code.a, m.to, Element::kF32),
      stored(code.a, Element::kF32, m.to);
  ExpressionCode f(code.a, m.f);
  const std::size_t there = temporariesOf(code, isa).size(),
                    beside = there - (MatrixCode::kDataRegisters - kFewestTurns);
  if (f.temporaries() > beside) code.takeTurns(kFewestTurns);
  if (f.temporaries() > there)
    return Error{ErrorCode::kLimitExceeded, Stage::kVector,
                 m.label.text + ": its expression needs " + std::to_string(f.temporaries()) +
                     " vector registers beside the element's; there are " + std::to_string(there)};
  const bool readsE = m.f.readsE();
  RowCode rows(code, [&](MatrixCode::At src, MatrixCode::At dst, MatrixCode::At at, LaneRange, LaneRange lanes) {
    const int r = code.next();
    if (m.zeros)
      code.a.zero(r);
    else
      values.load(r, -1, src.base, src.disp, lanes);
    if (readsE) {
      code.a.arg(MatrixCode::kFlag, ArgSlot::kResidual);
      code.a.add(MatrixCode::kFlag, MatrixCode::kFlag, dst.base);
    }
    f.apply(
        r, temporariesOf(code, isa),
        [&](int reg) {
          if (m.dColumn == 0)
            code.a.broadcast(reg, at.base, at.disp);
          else
            d.load(reg, -1, at.base, at.disp, lanes);
        },
        [&](int reg) { e.load(reg, -1, MatrixCode::kFlag, dst.disp, lanes); });
    if (m.streamingStore && lanes.all())
      code.a.storeStream(r, dst.base, dst.disp);
    else
      stored.store(r, MatrixCode::scratch(), dst.base, dst.disp, lanes);
  });
  Rows all = rowsOf(m);
  all.readsD = m.f.readsD();
  all.dRow = m.dRow;
  all.dColumn = m.dColumn;
  return rows.run({}, all);
}

}  // namespace cubejit
