// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the rows. Models are those LLVM 19 has of server CPUs with the level; Neoverse V1 is the one with SVE of 256 bits.
#include "codegen/binary/mc_target.h"

#include <llvm-c/Target.h>

namespace cubejit {
namespace {

constexpr const char* kX86 = "x86_64-unknown-linux-gnu";
constexpr const char* kArm = "aarch64-unknown-linux-gnu";

void registerTargets() {
  static const bool registered = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86Disassembler();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64Disassembler();
    return true;
  }();
  static_cast<void>(registered);
}

}  // namespace

const McTarget& mcTargetOf(const HostIsa& isa) {
  static const McTarget kAvx2{kX86, "+avx2,+fma", {"znver4", "znver3", "haswell", "skylake", "alderlake"}};
  static const McTarget kAvx512{
      kX86, "+avx512f,+avx512bw,+avx512dq", {"znver4", "skylake-avx512", "icelake-server", "sapphirerapids"}};
  static const McTarget kBf16{kX86, "+avx512f,+avx512bw,+avx512dq,+avx512bf16", {"znver4", "sapphirerapids"}};
  static const McTarget kAmx{kX86,
                             "+avx512f,+avx512bw,+avx512dq,+avx512bf16,+amx-tile,+amx-bf16,+amx-fp16",
                             {"sapphirerapids", "graniterapids"}};
  static const McTarget kNeon{kArm, "+neon", {"tsv110", "neoverse-n1", "neoverse-n2", "neoverse-v1", "ampere1"}};
  static const McTarget kSve256{kArm, "+neon,+sve", {"neoverse-v1"}};
  registerTargets();
  switch (isa.level) {
    case IsaLevel::kAvx2: return kAvx2;
    case IsaLevel::kAvx512: return kAvx512;
    case IsaLevel::kAvx512Bf16: return kBf16;
    case IsaLevel::kAvx512Amx:
    case IsaLevel::kAvx512AmxFp16: return kAmx;
    case IsaLevel::kNeon: return kNeon;
    case IsaLevel::kSve256: break;
  }
  return kSve256;
}

}  // namespace cubejit
