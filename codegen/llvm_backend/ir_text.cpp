// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where the program's lines stand between the IR's.
#include "codegen/llvm_backend/ir_text.h"

#include <llvm/IR/AssemblyAnnotationWriter.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Support/FormattedStream.h>
#include <llvm/Support/raw_ostream.h>

#include <map>

#include "codegen/vector/print.h"

namespace cubejit {
namespace {

class Annotations final : public llvm::AssemblyAnnotationWriter {
 public:
  Annotations(const llvm::Module& module, const VectorProgram& program) : program_(program) {
    for (const llvm::Function& function : module) {
      for (const llvm::BasicBlock& block : function) {
        for (const llvm::Instruction& instruction : block) {
          const llvm::DebugLoc& at = instruction.getDebugLoc();
          if (at && at.getLine() > 0 && !llvm::isa<llvm::PHINode>(instruction))
            sources_[&instruction] = at.getLine() - 1;
        }
      }
    }
  }

  void emitInstructionAnnot(const llvm::Instruction* instruction, llvm::formatted_raw_ostream& out) override {
    const auto source = sources_.find(instruction);
    if (source == sources_.end() || source->second == shown_) return;
    shown_ = source->second;
    for (const auto& [index, text] : program_.comments) {
      if (index == static_cast<std::int64_t>(shown_)) out << "  ; " << text << "\n";
    }
    if (shown_ < program_.code.size()) out << "  ;   " << print(program_.code[shown_]) << "\n";
  }

 private:
  const VectorProgram& program_;
  std::map<const llvm::Instruction*, std::size_t> sources_;
  std::size_t shown_ = static_cast<std::size_t>(-1);
};

}  // namespace

std::string irText(llvm::Module& module, const VectorProgram& program) {
  Annotations annotations(module, program);
  llvm::StripDebugInfo(module);
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out, &annotations);
  return text;
}

}  // namespace cubejit
