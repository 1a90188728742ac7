// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the chips of one Ascend core generation share. Leaves what differs from chip to chip to ascend.def.
// Sources: buffers and rates: the public platform configuration of the CANN runtime, equal in all files of a family.
// Cube types and their k a cycle: the table of theoretical cube performance in the public Ascend C documentation; f32 and hf32
// come in fractals of 16 x 8 x 16, taken at 4 (2201), 1 (3510) and 8 (hf32) values of k a cycle.
// Fixpipe buffers: the same configuration, the sum of a chip's parts. Limits: the public documentation of aclnnConvolutionBackward
// and of the TBE operators, whose smaller ranges hold for the older cores.
#pragma once

#include "cubejit/machine.h"

namespace cubejit {

enum class AscendFamily : std::uint8_t { kAscend310, k1001, k2002, k2201, k3002, k3002B4, k3510 };

inline Machine ascendFamily(AscendFamily family) {
  constexpr std::int64_t kKib = 1024;
  const MatrixProduct f16{DType::kF16, {16, 16, 16}, 1}, bf16{DType::kBf16, {16, 16, 16}, 1};
  const MatrixProduct hf32{DType::kHf32, {16, 8, 16}, 1}, hf32Low{DType::kHf32Low, {16, 8, 16}, 1};
  Machine m;
  m.buffers.l0aBytes = m.buffers.l0bBytes = 64 * kKib;
  m.npu.vectorBytes = 128;
  m.npu.cube.products = {f16};
  m.npu.limits = {63,  63,  255,
                  255, 255, 255};  // TBE operators: stride 1..63, dilation and dilated kernel 1..255, pad 0..255
  switch (family) {
    case AscendFamily::kAscend310:
      m.npu.product = "Atlas 200/300/500 inference";
      m.npu.vectorBytes = 256;
      m.buffers.l0cBytes = 256 * kKib;
      m.buffers.l1Bytes = 1024 * kKib;
      m.buffers.ubBytes = 256 * kKib;
      m.npu.paths = {0,   0,   128, 64, 512, 256,
                     128, 512, 512, 64, 64};  // UB to L2 and memory not stated: the memory's rate
      break;
    case AscendFamily::k1001:
      m.npu.product = "Atlas training";
      m.npu.architecture = 1001;
      m.buffers.l0cBytes = 256 * kKib;
      m.buffers.l1Bytes = 1024 * kKib;
      m.buffers.ubBytes = 256 * kKib;
      m.npu.paths = {0, 0, 110, 86, 512, 256, 128, 128, 256, 64, 64};
      break;
    case AscendFamily::k2002:
      m.npu.product = "Atlas inference";
      m.npu.architecture = 2002;
      m.buffers.l0cBytes = 256 * kKib;
      m.buffers.l1Bytes = 1024 * kKib;
      m.buffers.ubBytes = 256 * kKib;
      m.npu.paths = {0, 0, 114, 114, 512, 256, 128, 256, 512, 114, 17};
      break;
    case AscendFamily::k2201:
      m.npu.product = "Atlas A2 and A3";
      m.npu.architecture = 2201;
      m.npu.fixpipe = true;
      m.npu.cube.products = {f16, bf16, {DType::kF32, {16, 8, 16}, 2}, hf32};
      m.buffers.l0cBytes = 128 * kKib;
      m.buffers.l1Bytes = 512 * kKib;
      m.buffers.ubBytes = 192 * kKib;
      m.buffers.btBytes = kKib;
      m.buffers.fbBytes = 7 * kKib;  // 2 + 1 + 2 + 2
      m.npu.paths = {0, 0, 110, 86, 512, 256, 128, 128, 256, 64, 64};
      m.npu.limits = {63, 255, 255, 255, 255, 511};
      break;
    case AscendFamily::k3002:
    case AscendFamily::k3002B4:
      m.npu.product = "Atlas 200I/500 A2 inference";
      m.npu.architecture = 3002;
      m.npu.fixpipe = true;
      m.buffers.l0cBytes = 128 * kKib;
      m.buffers.l1Bytes = 1024 * kKib;
      m.buffers.ubBytes = 248 * kKib;
      m.buffers.btBytes = kKib;
      m.npu.paths = {0, 0, 256, 128, 512, 256, 128, 128, 128, 128, 128};
      if (family == AscendFamily::k3002B4) m.npu.paths.ubToDdr = 64;
      break;
    case AscendFamily::k3510:
      m.npu.product = "Ascend 950 and 350";
      m.npu.architecture = 3510;
      m.npu.fixpipe = true;
      m.npu.cube.products = {f16, bf16, {DType::kF32, {16, 8, 16}, 8}, hf32Low};
      m.buffers.l0cBytes = 256 * kKib;
      m.buffers.l1Bytes = 512 * kKib;
      m.buffers.ubBytes = 248 * kKib;
      m.buffers.btBytes = 4 * kKib;
      m.buffers.fbBytes = 6 * kKib;  // 4 + 2
      m.npu.paths = {0, 0, 100, 100, 256, 256, 128, 128, 128, 128, 128};
      m.npu.limits = {LoadLimits::kNone - 1, LoadLimits::kNone - 1, LoadLimits::kNone - 1,
                      LoadLimits::kNone - 1, LoadLimits::kNone - 1, LoadLimits::kNone};
      break;
  }
  return m;
}

}  // namespace cubejit
