// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides blocks and phis. A loop's head has a phi for each register its body writes, its end another for the case that the
// body never runs; those nobody reads are dropped again. Values are called after their register: v4.7 is the 7th value of v4.
#include "codegen/llvm_backend/build_ir.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/llvm_backend/spell.h"
#include "codegen/llvm_backend/target.h"
#include "codegen/vector/op_table.h"
#include "cubejit/kernel_args.h"

namespace cubejit {
namespace {

using llvm::BasicBlock;
using llvm::Value;

// All registers of a program in one row: scalars, vectors, masks.
constexpr int kFirstVector = kScalarRegs, kFirstMask = kFirstVector + 32, kRegisters = kFirstMask + 8;

int placeOf(OperandKind kind, int reg) {
  return reg + (isVector(kind) ? kFirstVector : kind == OperandKind::K ? kFirstMask : 0);
}

// Tiles are registers that intrinsics name by their numbers.
bool hasValue(OperandKind kind) { return kind != OperandKind::N && !isTile(kind); }

std::string nameOf(int place) {
  if (place >= kFirstMask) return "k" + std::to_string(place - kFirstMask);
  if (place >= kFirstVector) return "v" + std::to_string(place - kFirstVector);
  return "s" + std::to_string(place);
}

class Function {
 public:
  Function(llvm::LLVMContext& context, const VectorProgram& program)
      : program_(program),
        module_(std::make_unique<llvm::Module>(program.name, context)),
        b_(context),
        speller_(b_, program) {}

  std::unique_ptr<llvm::Module> build() {
    declare();
    for (at_ = 0; at_ < program_.code.size(); ++at_) {
      b_.SetCurrentDebugLocation(
          llvm::DILocation::get(b_.getContext(), static_cast<unsigned>(at_) + 1, 0, function_->getSubprogram()));
      instruction(program_.code[at_]);
    }
    b_.CreateRetVoid();
    dropDeadPhis();
    return std::move(module_);
  }

 private:
  struct Loop {
    BasicBlock *before, *head, *end;
    int counter;
    std::vector<int> written;          ///< places of the registers its body writes
    std::vector<Value*> valuesBefore;  ///< their values when the loop is reached
    std::vector<llvm::PHINode*> phis;  ///< and at its head
  };

  void declare() {
    llvm::LLVMContext& context = b_.getContext();
    const LlvmTarget& target = llvmTargetOf(program_.isa);
    module_->setTargetTriple(target.triple);
    module_->setModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
    for (const char* flag : target.moduleFlags) {
      if (flag != nullptr) module_->addModuleFlag(llvm::Module::Min, flag, 1);
    }
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false),
                                       llvm::Function::ExternalLinkage, program_.name, *module_);
    setKernelAttributes(*function_, program_.isa);
    function_->getArg(0)->setName("args");
    llvm::DIBuilder debug(*module_);
    llvm::DIFile* file = debug.createFile(program_.name + ".vector", "");
    debug.createCompileUnit(llvm::dwarf::DW_LANG_C, file, "cubejit", true, "", 0, "",
                            llvm::DICompileUnit::LineTablesOnly);
    function_->setSubprogram(debug.createFunction(
        file, program_.name, program_.name, file, 1, debug.createSubroutineType(debug.getOrCreateTypeArray({})), 1,
        llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized));
    debug.finalize();
    b_.SetInsertPoint(BasicBlock::Create(context, "entry", function_));
  }

  // Phis that only other dead phis read.
  void dropDeadPhis() {
    std::set<llvm::PHINode*> dead;
    std::vector<llvm::PHINode*> live;
    for (BasicBlock& block : *function_) {
      for (llvm::PHINode& phi : block.phis()) {
        if (llvm::all_of(phi.users(), [](const llvm::User* user) { return llvm::isa<llvm::PHINode>(user); }))
          dead.insert(&phi);
        else
          live.push_back(&phi);
      }
    }
    while (!live.empty()) {
      const llvm::PHINode* phi = live.back();
      live.pop_back();
      for (Value* incoming : phi->incoming_values()) {
        auto* other = llvm::dyn_cast<llvm::PHINode>(incoming);
        if (other != nullptr && dead.erase(other) > 0) live.push_back(other);
      }
    }
    for (llvm::PHINode* phi : dead) phi->replaceAllUsesWith(llvm::PoisonValue::get(phi->getType()));
    for (llvm::PHINode* phi : dead) phi->eraseFromParent();
  }

  Value*& valueOf(OperandKind kind, int reg) { return values_[static_cast<std::size_t>(placeOf(kind, reg))]; }
  Value* scalar(int reg) { return valueOf(OperandKind::S, reg); }

  llvm::Type* typeOf(int place) {
    if (place >= kFirstMask) return speller_.maskType();
    return place >= kFirstVector ? static_cast<llvm::Type*>(speller_.vectorType()) : b_.getInt64Ty();
  }

  void set(int place, Value* value) {
    if (llvm::isa<llvm::Instruction>(value) && !value->hasName())
      value->setName(nameOf(place) + "." + std::to_string(++versions_[static_cast<std::size_t>(place)]));
    values_[static_cast<std::size_t>(place)] = value;
  }

  // A scalar as a pointer; converted once, where the scalar is made.
  Value* pointer(Value* scalar) {
    Value*& known = pointers_[scalar];
    if (known != nullptr) return known;
    const llvm::IRBuilder<>::InsertPointGuard guard(b_);
    if (auto* made = llvm::dyn_cast<llvm::Instruction>(scalar)) {
      const auto behind = made->getInsertionPointAfterDef();  // none if it is the last so far
      b_.SetInsertPoint(made->getParent(), behind ? *behind : made->getParent()->end());
    }
    return known = b_.CreateIntToPtr(scalar, b_.getPtrTy(), scalar->getName() + ".p");
  }

  Value* address(const Mem& mem) {
    Value* base = pointer(scalar(mem.base));
    return mem.disp == 0 ? base : b_.CreatePtrAdd(base, b_.getInt64(mem.disp));
  }

  // A program has no register to spare for what it reads from memory a second time, so LLVM must not keep the first one. A
  // fence that holds back the compiler only, and becomes no instruction, stands between the two.
  void keepReadsApart(const Mem& mem) {
    if (b_.GetInsertBlock() != readsIn_) reads_.clear();
    readsIn_ = b_.GetInsertBlock();
    if (reads_.insert({scalar(mem.base), mem.disp}).second) return;
    b_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent, llvm::SyncScope::SingleThread);
    reads_ = {{scalar(mem.base), mem.disp}};
  }

  Value* loadScalar(Value* from) { return b_.CreateAlignedLoad(b_.getInt64Ty(), from, llvm::Align(8)); }

  void instruction(const VInstr& i) {
    const OpRow& row = rowOf(i.op);
    if (i.op == VOp::kLoop) return openLoop(i.dst);
    if (i.op == VOp::kEndLoop) return closeLoop();
    if (row.dst == OperandKind::S) return set(placeOf(row.dst, i.dst), scalarOp(i));
    SpelledOperands o;
    if (isVector(row.dst) && readsDst(i)) o.dst = valueOf(row.dst, i.dst);
    if (hasValue(row.src1)) o.src1 = valueOf(row.src1, i.src1);
    if (hasValue(row.src2)) o.src2 = valueOf(row.src2, i.src2);
    if (hasValue(row.src3)) o.src3 = valueOf(row.src3, i.src3);
    if (i.mask > 0) o.mask = valueOf(OperandKind::K, i.mask);
    if (row.mem == MemUse::R) keepReadsApart(i.mem);
    if (row.mem != MemUse::N) o.address = address(i.mem);
    Value* result = speller_.spell(i, o);
    if (result != nullptr) set(placeOf(row.dst, i.dst), result);
  }

  Value* scalarOp(const VInstr& i) {
    static_assert(kScalarOps == 8, "seven cases, and kLoop, which is openLoop()'s");
    switch (i.op) {
      case VOp::kArg: return loadScalar(b_.CreatePtrAdd(function_->getArg(0), b_.getInt64(i.imm * 8)));
      case VOp::kSet: return b_.getInt64(static_cast<std::uint64_t>(i.imm));
      case VOp::kCopy: return scalar(i.src1);
      case VOp::kAddImm: return b_.CreateAdd(scalar(i.src1), b_.getInt64(static_cast<std::uint64_t>(i.imm)));
      case VOp::kAdd: return b_.CreateAdd(scalar(i.src1), scalar(i.src2));
      case VOp::kLoadScalar: return loadScalar(address(i.mem));
      default: return b_.CreateAdd(scalar(i.src1), loadScalar(address(i.mem)));  // kAddLoad
    }
  }

  std::vector<int> placesWritten(std::size_t loop) const {
    std::array<bool, kRegisters> written{};
    int depth = 0;
    for (std::size_t i = loop; i < program_.code.size(); ++i) {
      const VInstr& instr = program_.code[i];
      if (instr.op == VOp::kEndLoop && --depth == 0) break;
      if (instr.op == VOp::kLoop) ++depth;
      if (hasValue(rowOf(instr.op).dst))
        written[static_cast<std::size_t>(placeOf(rowOf(instr.op).dst, instr.dst))] = true;
    }
    std::vector<int> places;
    for (int place = 0; place < kRegisters; ++place) {
      if (written[static_cast<std::size_t>(place)]) places.push_back(place);
    }
    return places;
  }

  Value* valueOrPoison(int place) {
    Value* value = values_[static_cast<std::size_t>(place)];
    return value != nullptr ? value : llvm::PoisonValue::get(typeOf(place));
  }

  void openLoop(int counter) {
    const std::string name = "loop" + std::to_string(at_);
    Loop loop;
    loop.before = b_.GetInsertBlock();
    loop.head = BasicBlock::Create(b_.getContext(), name, function_);
    loop.end = BasicBlock::Create(b_.getContext(), name + ".end");
    loop.counter = counter;
    loop.written = placesWritten(at_);
    b_.CreateCondBr(b_.CreateICmpSGT(scalar(counter), b_.getInt64(0)), loop.head, loop.end);
    b_.SetInsertPoint(loop.head);
    for (const int place : loop.written) {
      loop.valuesBefore.push_back(valueOrPoison(place));
      loop.phis.push_back(b_.CreatePHI(typeOf(place), 2));
      loop.phis.back()->addIncoming(loop.valuesBefore.back(), loop.before);
      set(place, loop.phis.back());
    }
    loops_.push_back(std::move(loop));
  }

  void closeLoop() {
    const Loop loop = std::move(loops_.back());
    loops_.pop_back();
    const int counter = placeOf(OperandKind::S, loop.counter);
    set(counter, b_.CreateSub(scalar(loop.counter), b_.getInt64(1)));
    BasicBlock* last = b_.GetInsertBlock();
    b_.CreateCondBr(b_.CreateICmpNE(scalar(loop.counter), b_.getInt64(0)), loop.head, loop.end);
    loop.end->insertInto(function_);
    b_.SetInsertPoint(loop.end);
    for (std::size_t i = 0; i < loop.written.size(); ++i) {
      Value* after = valueOrPoison(loop.written[i]);
      loop.phis[i]->addIncoming(after, last);
      llvm::PHINode* phi = b_.CreatePHI(typeOf(loop.written[i]), 2);
      phi->addIncoming(loop.valuesBefore[i], loop.before);
      phi->addIncoming(after, last);
      set(loop.written[i], phi);
    }
  }

  const VectorProgram& program_;
  std::unique_ptr<llvm::Module> module_;
  llvm::IRBuilder<> b_;
  Speller speller_;
  llvm::Function* function_ = nullptr;
  std::size_t at_ = 0;
  std::vector<Loop> loops_;
  std::array<Value*, kRegisters> values_{};
  std::array<int, kRegisters> versions_{};
  std::map<Value*, Value*> pointers_;
  std::set<std::pair<Value*, std::int32_t>> reads_;  ///< by vector ops of the block, since the last fence
  BasicBlock* readsIn_ = nullptr;
};

}  // namespace

std::unique_ptr<llvm::Module> buildIr(llvm::LLVMContext& context, const VectorProgram& program) {
  return Function(context, program).build();
}

}  // namespace cubejit
