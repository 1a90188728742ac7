// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shows the tiling class of Ascend C on a machine without an NPU: the documented calls, and why a request was refused.
#include <cstdio>

#include "cubejit/cubejit.h"
#include "tiling/conv_backprop/conv3d_bp_input_tiling.h"
#include "tiling/platform/platform_ascendc.h"

int main() {
  using ConvCommonApi::ConvDtype;
  using ConvCommonApi::ConvFormat;
  using ConvCommonApi::TPosition;
  const auto* platform = platform_ascendc::PlatformAscendCManager::GetInstance("Ascend910B2");

  ConvBackpropApi::Conv3DBpInputTiling tiling(*platform);
  tiling.SetWeightType(TPosition::GM, ConvFormat::FRACTAL_Z_3D, ConvDtype::BF16);
  tiling.SetInputType(TPosition::CO1, ConvFormat::NCDHW, ConvDtype::BF16);
  tiling.SetGradOutputType(TPosition::GM, ConvFormat::NDC1HWC0, ConvDtype::BF16);
  tiling.SetWeightShape(/*cout*/ 256, /*cin*/ 128, /*d, h, w*/ 3, 3, 3);
  tiling.SetInputShape(/*n*/ 1, /*c*/ 128, 11, 128, 128);
  tiling.SetGradOutputShape(/*n*/ 1, /*c*/ 256, 9, 128, 128);
  tiling.SetPadding(0, 0, 1, 1, 1, 1);

  optiling::Conv3DBackpropInputTilingData data;
  if (tiling.GetTiling(data) != 0) return std::fprintf(stderr, "%s\n", cubejit_last_error()), 1;
  std::printf("baseM %u baseK %u baseN %u, stepKa %u stepKb %u, singleCoreM %llu\n", data.conv3DDxTiling.get_baseM(),
              data.conv3DDxTiling.get_baseK(), data.conv3DDxTiling.get_baseN(), data.conv3DDxTiling.get_stepKa(),
              data.conv3DDxTiling.get_stepKb(), static_cast<unsigned long long>(data.conv3DDxTiling.get_singleCoreM()));

  tiling.SetStride(4, 1, 1);  // more than the kernel's depth: refused, with every rule that is broken
  if (tiling.GetTiling(data) == 0) return 1;
  std::printf("refused as it should be:\n%s\n", cubejit_last_error());
  return 0;
}
