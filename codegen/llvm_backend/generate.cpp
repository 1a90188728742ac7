// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that instructions keep the program's order: it was made for exactly as many registers as there are, and LLVM's
// schedulers would spill accumulators to hide latencies that the order hides already. Of LLVM's passes over IR only those run
// that change something for the better: the rest take a sixth of the time, most of it for rewriting induction variables.
#include "codegen/llvm_backend/generate.h"

#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Transforms/Scalar.h>

namespace cubejit {

namespace {

// Lets a pipeline be put together from the steps that LLVM offers to its targets.
struct Steps : llvm::TargetPassConfig {
  static bool addSelection(llvm::TargetPassConfig& config) { return (config.*&Steps::addCoreISelPasses)(); }
};

}  // namespace

// What TargetMachine::addPassesToEmitFile does, which leaves no passes out.
bool generate(llvm::Module& module, llvm::TargetMachine& machine, llvm::raw_pwrite_stream& out) {
  auto& generator = static_cast<llvm::LLVMTargetMachine&>(machine);
  llvm::legacy::PassManager passes;
  auto* functions = new llvm::MachineModuleInfoWrapperPass(&generator);  // the pass manager's from here on
  llvm::TargetPassConfig* config = generator.createPassConfig(passes);
  config->setDisableVerify(true);
  config->disablePass(&llvm::MachineSchedulerID);
  config->disablePass(&llvm::PostRASchedulerID);
  config->disablePass(&llvm::LiveDebugValuesID);  // kernels have lines, but no variables
  passes.add(config);
  passes.add(functions);
  passes.add(llvm::createTargetTransformInfoWrapperPass(generator.getTargetIRAnalysis()));
  passes.add(llvm::createScalarizeMaskedMemIntrinLegacyPass());  // masked words of 16 bits, where the ISA has none
  config->addCodeGenPrepare();                                   // addresses go to the blocks that use them
  config->addISelPrepare();
  if (Steps::addSelection(*config)) return false;
  config->addMachinePasses();
  config->setInitialized();
  if (generator.addAsmPrinter(passes, out, nullptr, llvm::CodeGenFileType::ObjectFile,
                              functions->getMMI().getContext()))
    return false;
  passes.add(llvm::createFreeMachineFunctionPass());
  passes.run(module);
  return true;
}

}  // namespace cubejit
