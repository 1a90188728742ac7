// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides in which registers a vector's operands meet. Leaves what is made of them to post_code.
#include "codegen/units/element_code.h"
#include "codegen/units/post_code.h"
#include "codegen/units/row_code.h"
#include "codegen/units/units.h"

namespace cubejit {

Result<VectorProgram> unitCode(const Map& m, const HostIsa& isa) {
  constexpr int kResults = MatrixCode::kBehindScratch;
  MatrixCode code(m.label, m.lanes, isa);
  ElementCode values(code.a, m.from, Element::kF32), results(code.a, m.result, Element::kF32),
      stored(code.a, Element::kF32, m.to);
  PostCode post(code.a, m.post, m.to, m.biasColumn == 0);
  RowCode rows(code, [&](MatrixCode::At src, MatrixCode::At dst, MatrixCode::At d, LaneRange, LaneRange lanes) {
    const int r = code.next();
    if (m.zeros)
      code.a.zero(r);
    else
      values.load(r, -1, src.base, src.disp, lanes);
    if (m.backward) {
      results.load(kResults, -1, d.base, d.disp, lanes);
      post.backward(r, kResults, MatrixCode::scratch(), kResults + 1);
    } else {
      if (post.adds()) {
        code.a.arg(MatrixCode::kFlag, ArgSlot::kResidual);
        code.a.add(MatrixCode::kFlag, MatrixCode::kFlag, dst.base);
      }
      post.apply(r, code.pairTemporary(), d.base, d.disp, MatrixCode::kFlag, dst.disp, lanes);
    }
    if (m.streamingStore && lanes.all())
      code.a.storeStream(r, dst.base, dst.disp);
    else
      stored.store(r, MatrixCode::scratch(), dst.base, dst.disp, lanes);
  });
  Rows all = rowsOf(m);
  all.readsD = m.post.bias || m.backward;
  all.dRow = m.biasRow;
  all.dColumn = m.backward ? elementBytes(m.result) : m.biasColumn;
  return rows.run({}, all);
}

}  // namespace cubejit
