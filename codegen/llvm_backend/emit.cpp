// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order: build, verify, optimise, generate; and turns what LLVM has to say into errors.
#include "codegen/llvm_backend/emit.h"

#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/raw_ostream.h>

#include <memory>

#include "codegen/llvm_backend/build_ir.h"
#include "codegen/llvm_backend/frame.h"
#include "codegen/llvm_backend/generate.h"
#include "codegen/llvm_backend/ir_text.h"
#include "codegen/llvm_backend/optimise.h"
#include "codegen/llvm_backend/target.h"
#include "codegen/vector/legalize.h"

namespace cubejit {
namespace {

// Keeps what LLVM would print.
struct Diagnostics final : llvm::DiagnosticHandler {
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream out(errors);
    llvm::DiagnosticPrinterRawOStream printer(out);
    info.print(printer);
    out << "\n";
    return true;
  }
  std::string errors;
};

struct Module {
  std::unique_ptr<llvm::LLVMContext> context;
  const Diagnostics* diagnostics = nullptr;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
};

Error internal(const VectorProgram& program, const std::string& what) {
  return Error{ErrorCode::kInternal, Stage::kEmit, program.name + ": " + what};
}

Result<Module> moduleOf(const VectorProgram& program) {
  CUBEJIT_RETURN_IF_ERROR(checkLegal(program));
  CUBEJIT_TRY(machine, makeTargetMachine(llvmTargetOf(program.isa)));
  Module m;
  m.machine = std::move(machine);
  m.context = std::make_unique<llvm::LLVMContext>();
  auto diagnostics = std::make_unique<Diagnostics>();
  m.diagnostics = diagnostics.get();
  m.context->setDiagnosticHandler(std::move(diagnostics));
  m.module = buildIr(*m.context, program);
  m.module->setDataLayout(m.machine->createDataLayout());
  std::string broken;
  llvm::raw_string_ostream out(broken);
  if (llvm::verifyModule(*m.module, &out)) return internal(program, "the IR is not well formed\n" + broken);
  return m;
}

// Where instructions are, which instruction of the program each came from, and how callers are found from them.
Result<Code> describe(const VectorProgram& program, llvm::StringRef object) {
  Code code;
  code.format = CodeFormat::kElf;
  code.name = program.name;
  code.isa = program.isa;
  const auto* bytes = reinterpret_cast<const std::byte*>(object.data());
  code.bytes.assign(bytes, bytes + object.size());
  auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(object, program.name));
  if (!file) return internal(program, "the object cannot be read: " + llvm::toString(file.takeError()));
  for (const llvm::object::SectionRef& section : (*file)->sections()) {
    if (section.isText()) code.instructionBytes = static_cast<std::int64_t>(section.getSize());
  }
  const auto context = llvm::DWARFContext::create(**file);
  code.frame = frameOf(*context);
  for (const auto& unit : context->compile_units()) {
    const llvm::DWARFDebugLine::LineTable* table = context->getLineTableForUnit(unit.get());
    if (table == nullptr) continue;
    for (const llvm::DWARFDebugLine::Row& row : table->Rows) {
      if (!row.EndSequence && row.Line > 0)
        code.lines.emplace_back(static_cast<std::int32_t>(row.Address.Address),
                                static_cast<std::int32_t>(row.Line) - 1);
    }
  }
  return code;
}

}  // namespace

Result<Code> emitLlvm(const VectorProgram& program) {
  CUBEJIT_TRY(m, moduleOf(program));
  optimise(*m.module, *m.machine);
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream out(object);
  if (!generate(*m.module, *m.machine, out)) return internal(program, "LLVM cannot write objects for this target");
  if (!m.diagnostics->errors.empty()) return internal(program, m.diagnostics->errors);
  return describe(program, object);
}

Result<std::string> llvmText(const VectorProgram& program, IrStage stage) {
  CUBEJIT_TRY(m, moduleOf(program));
  if (stage == IrStage::kOptimised) optimise(*m.module, *m.machine);
  return irText(*m.module, program);
}

}  // namespace cubejit
