// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides liveness by walking backwards until nothing changes; a loop body may run any number of times, or not at all.
#include "codegen/vector/liveness.h"

namespace cubejit {

std::vector<VectorSet> liveAfter(const VectorProgram& program) {
  struct Open {
    std::size_t end;
    VectorSet liveBehind;  // after the loop is left
  };
  std::vector<VectorSet> after(program.code.size(), 0);
  std::vector<VectorSet> headOf(program.code.size(), 0);  // at a kEndLoop: live at the top of its body, as known so far
  for (bool changed = true; changed;) {
    changed = false;
    VectorSet live = 0;
    std::vector<Open> open;
    for (std::size_t i = program.code.size(); i-- > 0;) {
      const VInstr& instr = program.code[i];
      if (instr.op == VOp::kEndLoop) {
        open.push_back(Open{i, live});
        live |= headOf[i];
      }
      after[i] = live;
      if (instr.op == VOp::kLoop) {
        const Open loop = open.back();
        open.pop_back();
        if (headOf[loop.end] != live) {
          headOf[loop.end] = live;
          changed = true;
        }
        live |= loop.liveBehind;
      } else {
        live = (live & ~vectorsWritten(instr)) | vectorsRead(instr);
      }
    }
  }
  return after;
}

}  // namespace cubejit
