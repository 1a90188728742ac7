// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the entries. Multiply-adds are llvm.fma; no instruction carries a fast-math flag, so no sum is reordered.
#include "codegen/llvm_backend/spell.h"

#include <vector>

#include "codegen/vector/op_table.h"

namespace cubejit {

using llvm::Value;

Speller::Speller(llvm::IRBuilder<>& builder, const VectorProgram& program)
    : b_(builder), program_(program), target_(llvmTargetOf(program.isa)), lanes_(program.isa.lanes()) {
  const auto lanes = static_cast<unsigned>(lanes_);
  floats_ = llvm::FixedVectorType::get(b_.getFloatTy(), lanes);
  words_ = llvm::FixedVectorType::get(b_.getInt32Ty(), lanes);
  bits_ = llvm::FixedVectorType::get(b_.getInt1Ty(), lanes);
}

Value* Speller::spell(const VInstr& i, const Operands& o) {
  switch (i.op) {
    case VOp::kZero: return constant(std::vector<std::int32_t>(static_cast<std::size_t>(lanes_), 0));
    case VOp::kConst: return constant(program_.constants[static_cast<std::size_t>(i.imm)]);
    case VOp::kLoad: return load(o, o.mask);
    case VOp::kStore: return store(o, o.mask), nullptr;
    case VOp::kStoreStream: return storeStream(o), nullptr;
    case VOp::kBroadcast: return broadcast(o);
    case VOp::kPrefetch: return prefetch(o, i.imm), nullptr;
    case VOp::kMaskRange: return maskRange(i.imm);
    case VOp::kMove: return merge(o, o.src1);
    case VOp::kFma: return merge(o, fma(o.src1, o.src2, o.dst));
    case VOp::kFmaLoad: return fma(o.src1, load(o, nullptr), o.dst);
    case VOp::kFmaBroadcast: return merge(o, fma(o.src1, broadcast(o), o.dst));
    case VOp::kAddF: return b_.CreateFAdd(o.src1, o.src2);
    case VOp::kMul: return b_.CreateFMul(o.src1, o.src2);
    case VOp::kPermute: return permute(o);
    case VOp::kPermute2: return permute2(o);
    case VOp::kUnpackLo: return shuffleInBlocks(o, {0, 4, 1, 5});
    case VOp::kUnpackHi: return shuffleInBlocks(o, {2, 6, 3, 7});
    case VOp::kUnpackLo64: return shuffleInBlocks(o, {0, 1, 4, 5});
    case VOp::kUnpackHi64: return shuffleInBlocks(o, {2, 3, 6, 7});
    case VOp::kShuffleBlocks: return shuffleBlocks(o, i.imm);
    case VOp::kLoadMaskVector: return load(o, isSet(o.src1));
    case VOp::kStoreMaskVector: return store(o, isSet(o.src2)), nullptr;
    case VOp::kBlendVector: return b_.CreateSelect(isSet(o.src3), o.src2, o.src1);
    case VOp::kShiftLeft:
      return b_.CreateBitCast(b_.CreateShl(words(o.src1), static_cast<std::uint64_t>(i.imm)), floats_);
    case VOp::kArg:
    case VOp::kSet:
    case VOp::kCopy:
    case VOp::kAddImm:
    case VOp::kAdd:
    case VOp::kLoadScalar:
    case VOp::kAddLoad:
    case VOp::kLoop:
    case VOp::kEndLoop: break;  // build_ir's
  }
  return nullptr;
}

Value* Speller::words(Value* vector) { return b_.CreateBitCast(vector, words_); }

// The lanes whose sign bit is set.
Value* Speller::isSet(Value* vector) { return b_.CreateICmpSLT(words(vector), llvm::Constant::getNullValue(words_)); }

Value* Speller::merge(const Operands& o, Value* value) {
  return o.mask == nullptr ? value : b_.CreateSelect(o.mask, value, o.dst);
}

Value* Speller::load(const Operands& o, Value* mask) {
  const llvm::Align align(4);
  if (mask == nullptr) return b_.CreateAlignedLoad(floats_, o.address, align);
  return b_.CreateMaskedLoad(floats_, o.address, align, mask, llvm::Constant::getNullValue(floats_));
}

Value* Speller::broadcast(const Operands& o) {
  Value* word = b_.CreateAlignedLoad(b_.getFloatTy(), o.address, llvm::Align(4));
  return b_.CreateVectorSplat(static_cast<unsigned>(lanes_), word);
}

Value* Speller::fma(Value* x, Value* y, Value* z) {
  return b_.CreateIntrinsic(llvm::Intrinsic::fma, {floats_}, {x, y, z});
}

void Speller::store(const Operands& o, Value* mask) {
  if (mask == nullptr)
    b_.CreateAlignedStore(o.src1, o.address, llvm::Align(4));
  else
    b_.CreateMaskedStore(o.src1, o.address, llvm::Align(4), mask);
}

void Speller::storeStream(const Operands& o) {
  llvm::StoreInst* store =
      b_.CreateAlignedStore(o.src1, o.address, llvm::Align(static_cast<std::uint64_t>(lanes_) * 4));
  store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                     llvm::MDNode::get(b_.getContext(), llvm::ConstantAsMetadata::get(b_.getInt32(1))));
}

void Speller::prefetch(const Operands& o, std::int64_t level) {
  const bool toWrite = level == 3;
  const std::uint32_t locality = level == 2 ? 2 : 3;  // 3 = into the nearest cache
  b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {o.address->getType()},
                     {o.address, b_.getInt32(toWrite ? 1 : 0), b_.getInt32(locality), b_.getInt32(1)});
}

// An instruction, not a folded constant, so that the text shows the words.
Value* Speller::constant(const std::vector<std::int32_t>& words) {
  std::vector<std::uint32_t> bits(words.begin(), words.end());
  return b_.Insert(llvm::CastInst::Create(llvm::Instruction::BitCast,
                                          llvm::ConstantDataVector::get(b_.getContext(), bits), floats_));
}

Value* Speller::maskRange(std::int64_t range) {
  std::vector<llvm::Constant*> lanes;
  for (int l = 0; l < lanes_; ++l) lanes.push_back(b_.getInt1(l >= maskLo(range) && l < maskHi(range)));
  return llvm::ConstantVector::get(lanes);
}

Value* Speller::shuffleInBlocks(const Operands& o, const int (&pattern)[4]) {
  std::vector<int> mask;
  for (int block = 0; block < lanes_; block += 4) {
    for (const int lane : pattern) mask.push_back(block + (lane < 4 ? lane : lanes_ + lane - 4));
  }
  return b_.CreateShuffleVector(o.src1, o.src2, mask);
}

Value* Speller::shuffleBlocks(const Operands& o, std::int64_t picks) {
  const int blocks = lanes_ / 4, pickBits = blocks == 4 ? 2 : 1;
  std::vector<int> mask;
  for (int block = 0; block < blocks; ++block) {
    const int pick = static_cast<int>(picks >> (block * pickBits)) & ((1 << pickBits) - 1);
    const int source = block < blocks / 2 ? 0 : lanes_;
    for (int lane = 0; lane < 4; ++lane) mask.push_back(source + pick * 4 + lane);
  }
  return b_.CreateShuffleVector(o.src1, o.src2, mask);
}

}  // namespace cubejit
