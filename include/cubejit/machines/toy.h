// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the smallest NPU there can be, for tests and lessons: every number is made up so that small problems fill its buffers.
#pragma once

#include "cubejit/machine.h"

namespace cubejit {

inline Machine toyMachine() {
  Machine m;
  m.name = "toy";
  m.cores = 2;
  m.buffers.l0aBytes = m.buffers.l0bBytes = 4096;  // 4 fractals of 512 bytes, twice
  m.buffers.l0cBytes = 8192;                       // 8 results of 16 x 16
  m.buffers.l1Bytes = 65536;
  m.buffers.l2Bytes = 1 << 20;
  m.buffers.ubBytes = 32768;
  m.buffers.btBytes = m.buffers.fbBytes = 1024;
  m.npu.product = "none: for tests and lessons";
  m.npu.vectorCores = 2;
  m.npu.mhz = 1000;
  m.npu.vectorBytes = 128;
  m.npu.fixpipe = true;
  m.npu.cube.products = {{DType::kF16, {16, 16, 16}, 1},
                         {DType::kBf16, {16, 16, 16}, 1},
                         {DType::kF32, {16, 8, 16}, 2},
                         {DType::kHf32, {16, 8, 16}, 1}};
  m.npu.paths = {16, 16, 64, 64, 256, 128, 64, 64, 128, 64, 16};
  m.npu.limits = {63, 255, 255, 255, 255, 511};
  return m;
}

}  // namespace cubejit
