// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how copies become vector ops: 16-bit words that stay as they are two at a time, pairs without a second member behind those that
// have one.
#include "codegen/units/element_code.h"
#include "codegen/units/row_code.h"
#include "codegen/units/units.h"

namespace cubejit {
namespace {

Copy simplest(Copy m) {
  if (m.pairsCut > 0) return m;  // rows are not alike
  if (rowsOf(m).dense()) m.cols *= std::exchange(m.rows, 1);
  if (m.from == m.to && elementBytes(m.from) == 2 && m.cols % 2 == 0 && m.padCols % 2 == 0) {
    m.from = m.to = Element::kF32;
    m.cols /= 2;
    m.padCols /= 2;
  }
  return m;
}

}  // namespace

Result<VectorProgram> unitCode(const Copy& copy, const HostIsa& isa) {
  const Copy m = simplest(copy);
  MatrixCode code(m.label, m.lanes, isa);
  ElementCode elements(code.a, m.from, m.to, m.pairPitch);
  RowCode rows(code, [&](MatrixCode::At src, MatrixCode::At dst, auto, LaneRange exist, LaneRange stored) {
    const int r = code.next();
    elements.load(r, code.pairTemporary(), src.base, src.disp, exist);
    if (m.streamingStore && exist.all())
      code.a.storeStream(r, dst.base, dst.disp);
    else
      elements.store(r, MatrixCode::scratch(), dst.base, dst.disp, stored);
  });
  Rows all = rowsOf(m);
  all.padsAtOnce = true;
  return code.run(
      m.list, [&] { rows.reserveMasks(all); },
      [&] {
        code.prefetch(m);
        if (m.pairsCut == 0 || m.pairPitch == 0) return rows.all(all);
        const std::int64_t whole = m.rows - m.pairsCut;
        if (whole > 0) rows.all(all.some(whole));
        code.pointToMatrix();
        code.a.addImm(MatrixCode::kRowSrc, MatrixCode::kRowSrc, whole * m.srcPitch);
        code.a.addImm(MatrixCode::kRowDst, MatrixCode::kRowDst, whole * m.dstPitch);
        elements.dropSecond();
        rows.all(all.some(m.pairsCut));
      });
}

}  // namespace cubejit
