// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the enumerations that the Ascend C convolution API names: positions, formats and types, under every namespace they are
// documented in. Leaves what they mean to the classes that take them. C++17.
#pragma once

#include <cstdint>

namespace AscendC {

/// Where a tensor is. One enumeration serves host and device, so that the documented listings compile with either spelling.
enum class TPosition : std::uint8_t {
  GM,
  A1,
  A2,
  B1,
  B2,
  C1,
  C2,
  CO1,
  CO2,
  VECIN,
  VECOUT,
  VECCALC,
  LCM = VECCALC,
  SPM,
  SHM = SPM,
  TSCM,
  C2PIPE2GM,
  C2PIPE2LOCAL,
  MAX
};

/// What pages of queues call it.
using QuePosition = TPosition;

}  // namespace AscendC

namespace matmul_tiling {
using TPosition = AscendC::TPosition;
}

namespace ConvCommonApi {

using TPosition = AscendC::TPosition;

enum class ConvFormat : std::uint32_t {
  ND,
  NCHW,
  NHWC,
  HWCN,
  DHWNC,
  DHWCN,
  NDHWC,
  NCDHW,
  NC1HWC0,
  NDC1HWC0,
  FRACTAL_Z_3D,
  MAX
};

enum class ConvDtype : std::uint32_t { FLOAT16, FLOAT32, BF16, INT4, INT8, UINT8, INT32, INT64, UINT64, CONVDTYPEMAX };

}  // namespace ConvCommonApi

/// What some pages of the tiling classes put before the same names.
namespace Convolution3DBackprop {
using ConvCommonApi::ConvDtype;
using ConvCommonApi::ConvFormat;
using ConvCommonApi::TPosition;
}  // namespace Convolution3DBackprop
