// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing beyond row_code: a vector is zeros.
#include "codegen/units/row_code.h"
#include "codegen/units/units.h"

namespace cubejit {

Result<VectorProgram> unitCode(const Fill& m, const HostIsa& isa) {
  // Nothing is read, but a cursor over the source moves, as that over the destination does from a single row.
  Rows all = rowsOf(m);
  all.in = all.out;
  all.srcPitch = all.dstPitch;
  all = all.some(m.rows);
  if (m.rows > 1) all.srcPitch = 0;
  MatrixCode code(m.label, m.lanes, isa);
  RowCode rows(code, [&](auto, MatrixCode::At dst, auto, LaneRange, LaneRange stored) {
    const int r = code.next();
    code.a.zero(r);
    code.storeZeros(r, all.out, dst, stored);
  });
  return rows.run(m.list, all);
}

}  // namespace cubejit
