// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what LLVM is told about the CPU code is for: one row per ISA level. Nothing is asked of the CPU at hand.
// Leaves to the other files of this folder what is done with it; none of them asks which ISA it is on.
#pragma once

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>

#include "cubejit/host_isa.h"
#include "cubejit/result.h"

namespace cubejit {

struct LlvmTarget {
  const char* triple;
  const char* cpu;       ///< the least a CPU of this level has
  const char* features;  ///< what the level adds
  const char* tuneCpu;   ///< whose costs instructions are chosen and ordered by
  const char* moduleFlags[2];  ///< set to 1; null = none
  /// Permutations by run-time indices, operands in the order of the intrinsic; not_intrinsic = lane by lane.
  llvm::Intrinsic::ID permute, permute2;
  llvm::Intrinsic::ID shuffleBytes;
  llvm::Intrinsic::ID dot;  ///< of bf16 pairs; not_intrinsic if programs for the level have none
};

const LlvmTarget& llvmTargetOf(const HostIsa& isa);

/// Fails with kUnsupported if the LLVM at hand was built without the target.
Result<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(const LlvmTarget& target);

/// The attributes of every kernel: CPU, features, width of vectors, unwind tables.
void setKernelAttributes(llvm::Function& function, const HostIsa& isa);

}  // namespace cubejit
