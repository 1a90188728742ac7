// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the analyser is fed: the bytes are decoded for the CPU, and a block is repeated until its rate is steady.
#include "codegen/binary/throughput.h"

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrAnalysis.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/MCA/Context.h>
#include <llvm/MCA/HWEventListener.h>
#include <llvm/MCA/InstrBuilder.h>
#include <llvm/MCA/Instruction.h>
#include <llvm/MCA/Pipeline.h>
#include <llvm/MCA/SourceMgr.h>
#include <llvm/MCA/Support.h>

#include <algorithm>
#include <map>
#include <memory>

#include "codegen/binary/mc_target.h"

namespace cubejit {
namespace {

// Instructions that are simulated before and while the steady rate is measured, in whole iterations.
constexpr std::size_t kSimulated = 2000;
constexpr unsigned kFewest = 4, kMost = 50;

// Adds up for how many cycles instructions hold each resource.
class Pressure final : public llvm::mca::HWEventListener {
 public:
  void onEvent(const llvm::mca::HWInstructionEvent& event) override {
    if (event.Type != llvm::mca::HWInstructionEvent::Issued) return;
    const auto& issued = static_cast<const llvm::mca::HWInstructionIssuedEvent&>(event);
    for (const llvm::mca::ResourceUse& use : issued.UsedResources)
      cycles_[use.first] += static_cast<double>(use.second.getNumerator()) / use.second.getDenominator();
  }
  const std::map<llvm::mca::ResourceRef, double>& cycles() const { return cycles_; }

 private:
  std::map<llvm::mca::ResourceRef, double> cycles_;
};

class Analyser {
 public:
  Status open(const McTarget& mc, const std::string& cpu) {
    std::string error;
    const char* const triple = mc.triple;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
    if (target == nullptr) return Error{ErrorCode::kUnsupported, Stage::kEmit, error};
    registers_.reset(target->createMCRegInfo(triple));
    asm_.reset(target->createMCAsmInfo(*registers_, triple, options_));
    instructions_.reset(target->createMCInstrInfo());
    // The generic CPU is asked first: creating an unknown one would print to stderr.
    subtarget_.reset(target->createMCSubtargetInfo(triple, "", ""));
    if (!subtarget_ || !subtarget_->isCPUStringValid(cpu))
      return Error{ErrorCode::kUnsupported, Stage::kEmit, "LLVM has no CPU called '" + cpu + "'"};
    subtarget_.reset(target->createMCSubtargetInfo(triple, cpu, ""));
    if (!subtarget_->getSchedModel().hasInstrSchedModel())
      return Error{ErrorCode::kUnsupported, Stage::kEmit, "LLVM has no model of the speed of " + cpu};
    analysis_.reset(target->createMCInstrAnalysis(instructions_.get()));
    context_ = std::make_unique<llvm::MCContext>(llvm::Triple(triple), asm_.get(), registers_.get(), subtarget_.get());
    decoder_.reset(target->createMCDisassembler(*subtarget_, *context_));
    if (!decoder_)
      return Error{ErrorCode::kUnsupported, Stage::kEmit, std::string("LLVM has no disassembler for ") + triple};
    return Unit{};
  }

  bool has(const McTarget& mc) const { return subtarget_->checkFeatures(mc.features); }

  Result<BlockThroughput> measure(const Code& code, const CodeBlock& block, const std::string& cpu) {
    llvm::mca::InstrumentManager instruments(*subtarget_, *instructions_);
    llvm::mca::InstrBuilder builder(*subtarget_, *instructions_, *registers_, analysis_.get(), instruments, 100);
    std::vector<std::unique_ptr<llvm::mca::Instruction>> lowered;
    BlockThroughput out;
    out.block = block;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(code.bytes.data());
    for (std::int32_t at = block.begin; at < block.end;) {
      llvm::MCInst instr;
      std::uint64_t size = 0;
      const llvm::ArrayRef<std::uint8_t> rest(bytes + at, static_cast<std::size_t>(code.instructionBytes - at));
      if (decoder_->getInstruction(instr, size, rest, static_cast<std::uint64_t>(at), llvm::nulls()) !=
          llvm::MCDisassembler::Success)
        return Error{ErrorCode::kUnsupported, Stage::kEmit,
                     cpu + " has no instruction like the one at offset " + std::to_string(at) + " of " + code.name};
      at += static_cast<std::int32_t>(size);
      auto made = builder.createInstruction(instr, {});
      if (!made)
        return Error{ErrorCode::kUnsupported, Stage::kEmit,
                     "no model of the instruction at offset " + std::to_string(at) + " of " + code.name + " on " + cpu +
                         ": " + llvm::toString(made.takeError())};
      out.microOps += static_cast<int>((*made)->getDesc().NumMicroOps);
      lowered.push_back(std::move(*made));
    }
    out.instructions = static_cast<int>(lowered.size());
    if (lowered.empty()) return out;
    // The rate is that of iterations N to 2N: filling the pipeline does not count.
    const auto iterations = static_cast<unsigned>(std::clamp<std::size_t>(kSimulated / lowered.size(), kFewest, kMost));
    Pressure pressure;
    CUBEJIT_TRY(filling, simulate(lowered, iterations, nullptr));
    CUBEJIT_TRY(all, simulate(lowered, 2 * iterations, &pressure));
    out.cycles = static_cast<double>(all - filling) / iterations;
    busiest(pressure, 2 * iterations, out);
    out.bound = boundOf(lowered, out.microOps);
    return out;
  }

 private:
  Result<unsigned> simulate(llvm::ArrayRef<std::unique_ptr<llvm::mca::Instruction>> block, unsigned iterations,
                            Pressure* pressure) const {
    llvm::mca::CircularSourceMgr source(block, iterations);
    llvm::mca::Context hardware(*registers_, *subtarget_);
    llvm::mca::CustomBehaviour behaviour(*subtarget_, source, *instructions_);
    const llvm::mca::PipelineOptions sizes(0, 0, 0, 0, 0, 0, true);
    auto pipeline = hardware.createDefaultPipeline(sizes, source, behaviour);
    if (pressure != nullptr) pipeline->addEventListener(pressure);
    auto cycles = pipeline->run();
    if (!cycles) return Error{ErrorCode::kInternal, Stage::kEmit, llvm::toString(cycles.takeError())};
    return *cycles;
  }

  double boundOf(const std::vector<std::unique_ptr<llvm::mca::Instruction>>& block, int microOps) const {
    const llvm::MCSchedModel& model = subtarget_->getSchedModel();
    llvm::SmallVector<std::uint64_t, 8> masks(model.getNumProcResourceKinds());
    llvm::mca::computeProcResourceMasks(model, masks);
    std::vector<unsigned> usage(model.getNumProcResourceKinds(), 0);
    for (const auto& instr : block) {
      for (const auto& [mask, held] : instr->getDesc().Resources) {
        const auto kind = std::find(masks.begin(), masks.end(), mask) - masks.begin();
        if (held.size() != 0) usage[static_cast<std::size_t>(kind)] += held.size();
      }
    }
    return llvm::mca::computeBlockRThroughput(model, model.IssueWidth, static_cast<unsigned>(microOps), usage);
  }

  void busiest(const Pressure& pressure, unsigned iterations, BlockThroughput& out) const {
    const llvm::MCSchedModel& model = subtarget_->getSchedModel();
    for (unsigned kind = 1; kind < model.getNumProcResourceKinds(); ++kind) {
      const llvm::MCProcResourceDesc& resource = *model.getProcResource(kind);
      if (resource.SubUnitsIdxBegin != nullptr) continue;  // a group: its members are listed
      double cycles = 0;
      for (const auto& [unit, held] : pressure.cycles()) {
        if (unit.first == kind) cycles += held;
      }
      const double share = cycles / iterations / resource.NumUnits / out.cycles;
      if (share >= 0.01) out.busy.emplace_back(resource.Name, std::min(share, 1.0));
    }
    std::stable_sort(out.busy.begin(), out.busy.end(), [](auto& x, auto& y) { return x.second > y.second; });
  }

  llvm::MCTargetOptions options_;
  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> asm_;
  std::unique_ptr<llvm::MCInstrInfo> instructions_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCInstrAnalysis> analysis_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> decoder_;
};

}  // namespace

const std::vector<std::string>& throughputCpus(const HostIsa& isa) { return mcTargetOf(isa).cpus; }

Result<std::vector<BlockThroughput>> throughput(const Code& code, const std::vector<CodeBlock>& blocks,
                                                const std::string& cpu) {
  Analyser analyser;
  const McTarget& mc = mcTargetOf(code.isa);
  CUBEJIT_RETURN_IF_ERROR(analyser.open(mc, cpu));
  if (!analyser.has(mc))
    return Error{ErrorCode::kUnsupported, Stage::kEmit, cpu + " has no " + toString(code.isa.level)};
  std::vector<BlockThroughput> out;
  for (const CodeBlock& block : blocks) {
    CUBEJIT_TRY(measured, analyser.measure(code, block, cpu));
    out.push_back(std::move(measured));
  }
  return out;
}

}  // namespace cubejit
