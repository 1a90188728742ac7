// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what LLVM is told about the CPU code is for: one row per ISA level. Nothing is asked of the CPU at hand.
// Leaves to the other files of this folder what is done with it; none of them asks which ISA it is on.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>

#include "cubejit/host_isa.h"
#include "cubejit/result.h"

namespace cubejit {

/// How lanes move by indices that only the run knows, in the target's own instructions; null = element by element. Indices
/// are words (bytes: bytes), vectors are of floats (bytes), and mean what ops.def says.
struct Permutes {
  using One = llvm::Value* (*)(llvm::IRBuilder<>&, llvm::Value* index, llvm::Value* table);
  using Two = llvm::Value* (*)(llvm::IRBuilder<>&, llvm::Value* index, llvm::Value* low, llvm::Value* high);
  One words = nullptr;
  Two twoWords = nullptr;
  One bytes = nullptr;      ///< null only if programs for the level never ask
  Two twoHalves = nullptr;  ///< of 16-bit words; the same
};

/// Rounds f32 to integers as kToInt of ops.def does.
using ToInt = llvm::Value* (*)(llvm::IRBuilder<>&, llvm::Value* floats);
/// x * 2^floor(y), as kScale.
using Scale = llvm::Value* (*)(llvm::IRBuilder<>&, llvm::Value* x, llvm::Value* y);

struct LlvmTarget {
  const char* triple;
  const char* cpu;             ///< the least a CPU of this level has
  const char* features;        ///< what the level adds
  const char* tuneCpu;         ///< whose costs instructions are chosen and ordered by
  const char* moduleFlags[2];  ///< set to 1; null = none
  int scalableUnits;           ///< vectors are this many of SVE's smallest (128 bits); 0 = their length is the type's
  const Permutes* permutes;
  llvm::Intrinsic::ID dot;          ///< of bf16 pairs; not_intrinsic if programs for the level have none
  llvm::Intrinsic::ID narrowBf16;   ///< f32 to bf16, denormals to zero; the same
  llvm::Intrinsic::ID dotBytes;     ///< unsigned bytes times signed ones; the same
  ToInt toInt;                      ///< null: the target has no such instruction
  Scale scale;                      ///< null only if programs for the level never ask
  llvm::Intrinsic::ID streamFence;  ///< orders streaming stores; not_intrinsic where the ordinary rules hold for them
};

const LlvmTarget& llvmTargetOf(const HostIsa& isa);

/// Fails with kUnsupported if the LLVM at hand was built without the target.
Result<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(const LlvmTarget& target);

/// The attributes of every kernel: CPU, features, width of vectors, unwind tables.
void setKernelAttributes(llvm::Function& function, const HostIsa& isa);

}  // namespace cubejit
