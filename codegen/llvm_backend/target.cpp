// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the rows, and the options every TargetMachine is made with.
#include "codegen/llvm_backend/target.h"

#include <llvm/IR/Function.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>

#include <string>

#include "codegen/llvm_backend/permutes.h"

namespace cubejit {
namespace {

constexpr const char* kLinuxX86 = "x86_64-unknown-linux-gnu";

constexpr const char* kLinuxArm = "aarch64-unknown-linux-gnu";

llvm::Value* avxToInt(llvm::IRBuilder<>& b, llvm::Value* floats) {
  return b.CreateIntrinsic(llvm::Intrinsic::x86_avx_cvt_ps2dq_256, {}, {floats});
}
constexpr int kCurrentRounding = 4;
llvm::Value* avx512ToInt(llvm::IRBuilder<>& b, llvm::Value* floats) {
  llvm::Value* const words = llvm::Constant::getNullValue(llvm::FixedVectorType::get(b.getInt32Ty(), 16));
  return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_cvtps2dq_512, {},
                           {floats, words, b.getInt16(0xffff), b.getInt32(kCurrentRounding)});
}
llvm::Value* avx512Scale(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y) {
  return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                           {x, y, x, b.getInt16(0xffff), b.getInt32(kCurrentRounding)});
}

// Tuning is for the machine the planner's rates were measured on.
constexpr LlvmTarget kAvx2{.triple = kLinuxX86,
                           .cpu = "x86-64",
                           .features = "+avx,+avx2,+f16c,+fma,+prfchw,+sse3,+sse4.1,+sse4.2,+ssse3",
                           .tuneCpu = "znver4",
                           .moduleFlags = {"cf-protection-branch"},
                           .scalableUnits = 0,
                           .permutes = &kAvx2Permutes,
                           .dot = llvm::Intrinsic::not_intrinsic,
                           .narrowBf16 = llvm::Intrinsic::not_intrinsic,
                           .dotBytes = llvm::Intrinsic::not_intrinsic,
                           .toInt = &avxToInt,
                           .scale = nullptr,
                           .streamFence = llvm::Intrinsic::x86_sse_sfence};
constexpr LlvmTarget kAvx512{
    .triple = kLinuxX86,
    .cpu = "x86-64",
    .features = "+avx,+avx2,+avx512bw,+avx512dq,+avx512f,+avx512vl,+f16c,+fma,+prfchw,+sse3,+sse4.1,+sse4.2,+ssse3",
    .tuneCpu = "znver4",
    .moduleFlags = {"cf-protection-branch"},
    .scalableUnits = 0,
    .permutes = &kAvx512Permutes,
    .dot = llvm::Intrinsic::not_intrinsic,
    .narrowBf16 = llvm::Intrinsic::not_intrinsic,
    .dotBytes = llvm::Intrinsic::not_intrinsic,
    .toInt = &avx512ToInt,
    .scale = &avx512Scale,
    .streamFence = llvm::Intrinsic::x86_sse_sfence};
constexpr LlvmTarget kAvx512Bf16 = [] {
  LlvmTarget t = kAvx512;
  t.features =
      "+avx,+avx2,+avx512bf16,+avx512bw,+avx512dq,+avx512f,+avx512vl,+avx512vnni,+f16c,+fma,+prfchw,+sse3,+sse4.1,+"
      "sse4.2,+ssse3";
  t.dot = llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512;
  t.narrowBf16 = llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_512;
  t.dotBytes = llvm::Intrinsic::x86_avx512_vpdpbusd_512;
  return t;
}();
constexpr LlvmTarget kAmx = [] {
  LlvmTarget t = kAvx512Bf16;
  t.features =
      "+amx-bf16,+amx-fp16,+amx-tile,+avx,+avx2,+avx512bf16,+avx512bw,+avx512dq,+avx512f,+avx512vl,+avx512vnni,+f16c,+"
      "fma,+prfchw,"
      "+sse3,+sse4.1,+sse4.2,+ssse3";
  t.tuneCpu = "sapphirerapids";
  return t;
}();
constexpr LlvmTarget kNeon{.triple = kLinuxArm,
                           .cpu = "generic",
                           .features = "+neon",
                           .tuneCpu = "tsv110",  // Kunpeng 920
                           .moduleFlags = {},
                           .scalableUnits = 0,
                           .permutes = &kNeonPermutes,
                           .dot = llvm::Intrinsic::not_intrinsic,
                           .narrowBf16 = llvm::Intrinsic::not_intrinsic,
                           .dotBytes = llvm::Intrinsic::not_intrinsic,
                           .toInt = nullptr,
                           .scale = nullptr,
                           .streamFence = llvm::Intrinsic::not_intrinsic};
// Left to its tuning LLVM spells a broadcast from memory as a load and a move, and the move takes a unit of the multiply-adds:
// a half more cycles in its own model of Neoverse V1.
constexpr LlvmTarget kSve256{.triple = kLinuxArm,
                             .cpu = "generic",
                             .features = "+neon,+sve,-no-sve-fp-ld1r",
                             .tuneCpu = "neoverse-v1",
                             .moduleFlags = {},
                             .scalableUnits = 2,
                             .permutes = &kSvePermutes,
                             .dot = llvm::Intrinsic::not_intrinsic,
                             .narrowBf16 = llvm::Intrinsic::not_intrinsic,
                             .dotBytes = llvm::Intrinsic::not_intrinsic,
                             .toInt = nullptr,
                             .scale = nullptr,
                             .streamFence = llvm::Intrinsic::not_intrinsic};

void registerTargets() {
  static const bool registered = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    return true;
  }();
  static_cast<void>(registered);
}

}  // namespace

const LlvmTarget& llvmTargetOf(const HostIsa& isa) {
  switch (isa.level) {
    case IsaLevel::kAvx2: return kAvx2;
    case IsaLevel::kAvx512: return kAvx512;
    case IsaLevel::kAvx512Bf16: return kAvx512Bf16;
    case IsaLevel::kAvx512Amx:
    case IsaLevel::kAvx512AmxFp16: return kAmx;
    case IsaLevel::kNeon: return kNeon;
    case IsaLevel::kSve256: break;
  }
  return kSve256;
}

Result<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(const LlvmTarget& target) {
  registerTargets();
  std::string reason;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(target.triple, reason);
  if (found == nullptr) return Error{ErrorCode::kUnsupported, Stage::kEmit, reason};
  llvm::TargetOptions options;
  options.AllowFPOpFusion =
      llvm::FPOpFusion::Strict;  // a multiply-add is fused where the program says so, nowhere else
  std::unique_ptr<llvm::TargetMachine> machine(found->createTargetMachine(
      target.triple, target.cpu, target.features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small));
  if (machine == nullptr)
    return Error{ErrorCode::kUnsupported, Stage::kEmit, std::string("LLVM has no code generator for ") + target.triple};
  return machine;
}

void setKernelAttributes(llvm::Function& function, const HostIsa& isa) {
  const LlvmTarget& target = llvmTargetOf(isa);
  function.addFnAttr("target-cpu", target.cpu);
  function.addFnAttr("target-features", target.features);
  function.addFnAttr("tune-cpu", target.tuneCpu);
  const std::string bits = std::to_string(isa.vectorBits);
  if (target.scalableUnits > 0) {
    const auto units = static_cast<unsigned>(target.scalableUnits);
    function.addFnAttr(llvm::Attribute::getWithVScaleRangeArgs(function.getContext(), units, units));
  }
  function.addFnAttr("prefer-vector-width", bits);
  function.addFnAttr("min-legal-vector-width", bits);
  function.addFnAttr("frame-pointer", "all");  // as the other backend: profilers walk the stack
  function.addFnAttr(llvm::Attribute::NoUnwind);
  function.setUWTableKind(llvm::UWTableKind::Async);
}

}  // namespace cubejit
