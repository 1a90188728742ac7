// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what must not compile: one use, chosen by the macro USE, each of something that is not emulated. The compiler must say so.
#include "kernel_operator.h"
#include "register/tilingdata_base.h"

struct Tiling {
  int blocks;
};

void kernel(GM_ADDR memory) {
  static_cast<void>(memory);
#if USE == 1
  AscendC::TPipe pipe;
  AscendC::TQue<AscendC::TPosition::VECIN, 2> queue;
  pipe.InitBuffer(queue, 2, 128);
#elif USE == 2
  AscendC::TQue<AscendC::TPosition::VECIN, 2> queue;
  queue.AllocTensor<half>();
#elif USE == 3
  AscendC::LocalTensor<int32_t> local;
#elif USE == 4
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
#elif USE == 5
  GET_TILING_DATA(tiling, memory);
#elif USE == 6
  REGISTER_TILING_FOR_TILINGKEY("TILING_KEY_VAR == 1", Tiling);
#elif USE == 7
  AscendC::GlobalTensor<int32_t> workspace;
  AscendC::SyncAll(workspace, workspace);
#elif USE == 8
  BEGIN_TILING_DATA_DEF(Mine);
#endif
}
