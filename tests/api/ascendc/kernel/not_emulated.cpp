// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what must not compile: one use, chosen by the macro USE, each of something that is not emulated. The compiler must say so.
#include "kernel_operator.h"
#include "register/tilingdata_base.h"

struct Tiling {
  int blocks;
};

#if USE == 9
// As most vector kernels are written.
class Vectors {
 public:
  void init(GM_ADDR memory) {
    global_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(memory));
    pipe_.InitBuffer(out_, 2, 128 * sizeof(half));
  }
  void compute() {
    AscendC::LocalTensor<half> sums = out_.AllocTensor<half>();
    AscendC::Add(sums, sums, sums, 128);
    out_.EnQue(sums);
  }

 private:
  AscendC::TPipe pipe_;
  AscendC::TQue<AscendC::QuePosition::VECOUT, 2> out_;
  AscendC::TQueBind<AscendC::QuePosition::VECIN, AscendC::QuePosition::VECOUT, 1> through_;
  AscendC::GlobalTensor<half> global_;
};
#elif USE == 12
void copyOut(AscendC::GlobalTensor<half>& to, AscendC::LocalTensor<half>& from) { AscendC::DataCopy(to, from, 8); }
#endif

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
#elif USE == 9
  Vectors vectors;
  vectors.init(memory);
  vectors.compute();
#elif USE == 10
  AscendC::TBuf<AscendC::QuePosition::VECCALC> buffer;
  auto local = buffer.Get<half>();
#elif USE == 11
  AscendC::TQue<AscendC::QuePosition::VECOUT, 2> queue;
  queue.EnQue<half>(memory);
#endif
}
