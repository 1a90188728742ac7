// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The TBE DSL in C++: the weight gradient of a 3D convolution with groups, from placeholders to numbers in FRACTAL_Z_3D.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "cubejit_tbe/conv_backprop.h"
#include "cubejit_tbe/operator.h"

namespace tbe = cubejit::tbe;

int main() {
  // 32 channels in, 64 out, two groups; kernel 2 x 3 x 3, stride 2, padding as SAME gives it for 8 x 20 x 20.
  const tbe::Tensor fmap = tbe::placeholder({2, 8, 2, 20, 20, 16}, "fmap");
  const tbe::Tensor dedy = tbe::placeholder({2, 4, 4, 10, 10, 16}, "dedy");
  const auto groups = tbe::groupDict(/*fmap_c=*/32, /*cout=*/64, /*groups=*/2);
  if (!groups.ok()) return std::fprintf(stderr, "%s\n", groups.error().message.c_str()), 1;

  tbe::ParaDict para;
  para.strides = {2, 2, 2};
  para.pads = {0, 0, 0, 1, 0, 1};
  para.kernel_name = "dedw";
  para.group_dict = *groups;
  const auto dedw = tbe::conv3d_backprop_filter(fmap, dedy, /*filter_size=*/{64, 2, 16, 3, 3}, para);
  if (!dedw.ok()) return std::fprintf(stderr, "%s\n", dedw.error().message.c_str()), 1;

  cubejit::Session session;
  const auto op = tbe::build(session, *dedw);
  if (!op.ok()) return std::fprintf(stderr, "%s\n", op.error().message.c_str()), 1;

  constexpr std::uint16_t kOne = 0x3c00;  // 1.0 in float16
  const std::vector<std::uint16_t> x(op->firstBytes() / 2, kOne), dy(op->outBackpropBytes() / 2, kOne);
  std::vector<float> dw(op->resultBytes() / 4);
  const std::unique_ptr<void, void (*)(void*)> workspace(std::aligned_alloc(64, (op->workspaceBytes() + 127) / 64 * 64),
                                                         std::free);
  const auto done = op->run(x.data(), dy.data(), dw.data(), workspace.get(), op->workspaceBytes());
  if (!done.ok()) return std::fprintf(stderr, "%s\n", done.error().message.c_str()), 1;

  // All ones: the first tap sees every position of dy, the last one misses a row and a column.
  const auto& shape = dedw->tensor.shape;
  std::printf("%s: float32 (%lld, %lld, %lld, %lld), first tap %g (800), last tap %g (648)\n",
              dedw->tensor.name.c_str(), static_cast<long long>(shape[0]), static_cast<long long>(shape[1]),
              static_cast<long long>(shape[2]), static_cast<long long>(shape[3]), dw.front(), dw.back());
  return dw.front() == 800 && dw.back() == 648 ? 0 : 1;
}
