// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that instructions keep the program's order: it was made for exactly as many registers as there are, and LLVM's
// schedulers would spill accumulators to hide latencies that the order hides already.
#include "codegen/llvm_backend/generate.h"

#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>

namespace cubejit {

// What TargetMachine::addPassesToEmitFile does, which leaves no passes out.
bool generate(llvm::Module& module, llvm::TargetMachine& machine, llvm::raw_pwrite_stream& out) {
  auto& generator = static_cast<llvm::LLVMTargetMachine&>(machine);
  llvm::legacy::PassManager passes;
  auto* functions = new llvm::MachineModuleInfoWrapperPass(&generator);  // the pass manager's from here on
  llvm::TargetPassConfig* config = generator.createPassConfig(passes);
  config->setDisableVerify(true);
  config->disablePass(&llvm::MachineSchedulerID);
  config->disablePass(&llvm::PostRASchedulerID);
  passes.add(config);
  passes.add(functions);
  if (config->addISelPasses()) return false;
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
