// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing beyond row_code: a vector is added to what the destination holds.
#include "codegen/units/row_code.h"
#include "codegen/units/units.h"

namespace cubejit {

Result<VectorProgram> unitCode(const Accumulate& m, const HostIsa& isa) {
  MatrixCode code(m.label, m.lanes, isa);
  RowCode rows(code, [&](MatrixCode::At src, MatrixCode::At dst, auto, LaneRange, LaneRange lanes) {
    const int r = code.next(), old = code.next();
    code.a.load(r, src.base, src.disp, lanes);
    code.a.load(old, dst.base, dst.disp, lanes);
    code.a.addF(r, old, r);
    code.a.store(r, dst.base, dst.disp, lanes);
  });
  return rows.run(m.list, rowsOf(m).some(m.rows));
}

}  // namespace cubejit
