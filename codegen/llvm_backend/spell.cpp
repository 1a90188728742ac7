// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the entries. Multiply-adds are llvm.fma; no instruction carries a fast-math flag, so no sum is reordered.
#include "codegen/llvm_backend/spell.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "codegen/vector/op_table.h"

namespace cubejit {
namespace {

// Elements of bytes may lie anywhere, and so may words made of them.
constexpr llvm::Align kElementAlign = llvm::Align::Constant<1>();

}  // namespace

using llvm::Value;

Speller::Speller(llvm::IRBuilder<>& builder, const VectorProgram& program)
    : b_(builder), program_(program), target_(llvmTargetOf(program.isa)), lanes_(program.isa.lanes()) {
  const auto lanes = static_cast<unsigned>(lanes_);
  floats_ = llvm::FixedVectorType::get(b_.getFloatTy(), lanes);
  words_ = llvm::FixedVectorType::get(b_.getInt32Ty(), lanes);
  halves_ = llvm::FixedVectorType::get(b_.getInt16Ty(), lanes);
  bytes_ = llvm::FixedVectorType::get(b_.getInt8Ty(), lanes);
  bits_ = llvm::FixedVectorType::get(b_.getInt1Ty(), lanes);
}

Value* Speller::spell(const VInstr& i, const SpelledOperands& o) {
  switch (i.op) {
    case VOp::kZero: return constant(std::vector<std::int32_t>(static_cast<std::size_t>(lanes_), 0));
    case VOp::kConst: return constant(program_.constants[static_cast<std::size_t>(i.imm)]);
    case VOp::kLoad: return load(floats_, o, o.mask);
    case VOp::kStore: return store(o.src1, o, o.mask), nullptr;
    case VOp::kStoreStream: return storeStream(o), nullptr;
    case VOp::kStreamFence: return streamFence(), nullptr;
    case VOp::kBroadcast: return broadcast(o);
    case VOp::kPrefetch: return prefetch(o, i.imm), nullptr;
    case VOp::kMaskRange: return maskRange(i.imm);
    case VOp::kMove: return merge(o, o.src1);
    case VOp::kLoadHalf: return fromWords(b_.CreateZExt(load(halves_, o, o.mask), words_));
    case VOp::kStoreHalf: return store(b_.CreateTrunc(words(o.src1), halves_), o, o.mask), nullptr;
    case VOp::kLoadF16: return widenF16(load(halves_, o, o.mask));
    case VOp::kStoreLow: return store(lowerHalves(o.src1), o, o.mask), nullptr;
    case VOp::kNarrowBf16: return fromLowerHalves(narrowBf16(o.src1));
    case VOp::kStoreF16: return store(narrowF16(o.src1), o, o.mask), nullptr;
    case VOp::kLoadI8: return fromWords(b_.CreateSExt(load(bytes_, o, o.mask), words_));
    case VOp::kStoreI8: return store(saturatedBytes(o.src1), o, o.mask), nullptr;
    case VOp::kFma: return merge(o, fma(o.src1, o.src2, o.dst));
    case VOp::kFmaLoad: return fma(o.src1, load(floats_, o, nullptr), o.dst);
    case VOp::kFmaBroadcast: return merge(o, fma(o.src1, broadcast(o), o.dst));
    case VOp::kAddF: return b_.CreateFAdd(o.src1, o.src2);
    case VOp::kMinF: return b_.CreateSelect(b_.CreateFCmpOLT(o.src1, o.src2), o.src1, o.src2);
    case VOp::kMaxF: return b_.CreateSelect(b_.CreateFCmpOGT(o.src1, o.src2), o.src1, o.src2);
    case VOp::kSubF: return b_.CreateFSub(o.src1, o.src2);
    case VOp::kMul: return b_.CreateFMul(o.src1, o.src2);
    case VOp::kDiv: return b_.CreateFDiv(o.src1, o.src2);
    case VOp::kSqrt: return b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, o.src1);
    case VOp::kScale: return target_.scale(b_, o.src1, o.src2);
    case VOp::kRound:
      return b_.CreateUnaryIntrinsic(i.imm == 0 ? llvm::Intrinsic::nearbyint : llvm::Intrinsic::floor, o.src1);
    case VOp::kCompare: return compare(o, i.imm);
    case VOp::kDot: return merge(o, dot(o.src1, o.src2, o.dst));
    case VOp::kDotLoad: return dot(o.src1, load(floats_, o, nullptr), o.dst);
    case VOp::kDotBroadcast: return merge(o, dot(o.src1, broadcast(o), o.dst));
    case VOp::kDotI8: return dotBytes(o.src1, o.src2, o.dst);
    case VOp::kDotI8Load: return dotBytes(o.src1, load(floats_, o, nullptr), o.dst);
    case VOp::kAnd: return fromWords(b_.CreateAnd(words(o.src1), words(o.src2)));
    case VOp::kOr: return fromWords(b_.CreateOr(words(o.src1), words(o.src2)));
    case VOp::kXor: return fromWords(b_.CreateXor(words(o.src1), words(o.src2)));
    case VOp::kAddInt: return fromWords(b_.CreateAdd(words(o.src1), words(o.src2)));
    case VOp::kSubInt: return fromWords(b_.CreateSub(words(o.src1), words(o.src2)));
    case VOp::kToInt: return toInt(o.src1);
    case VOp::kToFloat: return b_.CreateSIToFP(words(o.src1), floats_);
    case VOp::kMinInt: return fromWords(b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, words(o.src1), words(o.src2)));
    case VOp::kMaxInt: return fromWords(b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, words(o.src1), words(o.src2)));
    case VOp::kShiftLeft: return fromWords(b_.CreateShl(words(o.src1), static_cast<std::uint64_t>(i.imm)));
    case VOp::kShiftRight: return fromWords(b_.CreateLShr(words(o.src1), static_cast<std::uint64_t>(i.imm)));
    case VOp::kPermute: return permute(o);
    case VOp::kPermute2: return permute2(o);
    case VOp::kPermuteWords2: return permuteWords2(o);
    case VOp::kUnpackLo: return shuffleInBlocks(o, {0, 4, 1, 5});
    case VOp::kUnpackHi: return shuffleInBlocks(o, {2, 6, 3, 7});
    case VOp::kUnpackLo64: return shuffleInBlocks(o, {0, 1, 4, 5});
    case VOp::kUnpackHi64: return shuffleInBlocks(o, {2, 3, 6, 7});
    case VOp::kShuffleBlocks: return shuffleBlocks(o, i.imm);
    case VOp::kTileConfigure:
    case VOp::kTileRelease:
    case VOp::kTileZero:
    case VOp::kTileLoad:
    case VOp::kTileStore:
    case VOp::kTileDotBf16:
    case VOp::kTileDotF16: return tiles(i, o), nullptr;
    case VOp::kLoadMaskVector: return load(floats_, o, isSet(o.src1));
    case VOp::kStoreLanes: return storeLanes(o, i.imm), nullptr;
    case VOp::kBlendVector: return b_.CreateSelect(isSet(o.src3), o.src2, o.src1);
    case VOp::kLoadWords: return fromLowerHalves(load(halves_, o, maskUnlessAll(i.imm)));
    case VOp::kStoreWords: return store(lowerHalves(o.src1), o, maskUnlessAll(i.imm)), nullptr;
    case VOp::kWidenHalf: return fromWords(b_.CreateZExt(lowerHalves(o.src1), words_));
    case VOp::kWidenF16: return widenF16(lowerHalves(o.src1));
    case VOp::kNarrowF16: return fromLowerHalves(narrowF16(o.src1));
    case VOp::kLoadBytes: return fromLowestBytes(load(bytes_, o, maskUnlessAll(i.imm)));
    case VOp::kStoreBytes: return store(lowestBytes(o.src1), o, maskUnlessAll(i.imm)), nullptr;
    case VOp::kWidenI8: return fromWords(b_.CreateSExt(lowestBytes(o.src1), words_));
    case VOp::kNarrowI8: return fromLowestBytes(saturatedBytes(o.src1));
    case VOp::kShuffleBytes: return shuffleBytes(o);
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
Value* Speller::fromWords(Value* words) { return b_.CreateBitCast(words, floats_); }

// The lanes whose sign bit is set.
Value* Speller::isSet(Value* vector) { return b_.CreateICmpSLT(words(vector), llvm::Constant::getNullValue(words_)); }

// The lower half of a register, as words of 16 bits; the upper half of a register made of them is zero.
Value* Speller::lowerHalves(Value* vector) {
  auto* all = llvm::FixedVectorType::get(b_.getInt16Ty(), 2 * static_cast<unsigned>(lanes_));
  return b_.CreateShuffleVector(b_.CreateBitCast(vector, all),
                                llvm::createSequentialMask(0, static_cast<unsigned>(lanes_), 0));
}
Value* Speller::fromLowerHalves(Value* halves) {
  const auto all = llvm::createSequentialMask(0, 2 * static_cast<unsigned>(lanes_), 0);
  return b_.CreateBitCast(b_.CreateShuffleVector(halves, llvm::Constant::getNullValue(halves_), all), floats_);
}

// The same of its lowest quarter and bytes.
Value* Speller::lowestBytes(Value* vector) {
  auto* all = llvm::FixedVectorType::get(b_.getInt8Ty(), 4 * static_cast<unsigned>(lanes_));
  return b_.CreateShuffleVector(b_.CreateBitCast(vector, all),
                                llvm::createSequentialMask(0, static_cast<unsigned>(lanes_), 0));
}
Value* Speller::fromLowestBytes(Value* bytes) {
  std::vector<int> picks(4 * static_cast<std::size_t>(lanes_), lanes_);  // of the zeros
  for (int l = 0; l < lanes_; ++l) picks[static_cast<std::size_t>(l)] = l;
  return b_.CreateBitCast(b_.CreateShuffleVector(bytes, llvm::Constant::getNullValue(bytes_), picks), floats_);
}

Value* Speller::widenF16(Value* halves) {
  auto* f16 = llvm::FixedVectorType::get(b_.getHalfTy(), static_cast<unsigned>(lanes_));
  // Fenced: LLVM takes an extension that is truncated again for nothing at all, but it makes NaNs quiet.
  return b_.CreateArithmeticFence(b_.CreateFPExt(b_.CreateBitCast(halves, f16), floats_), floats_);
}
Value* Speller::narrowF16(Value* vector) {
  auto* f16 = llvm::FixedVectorType::get(b_.getHalfTy(), static_cast<unsigned>(lanes_));
  return b_.CreateBitCast(b_.CreateFPTrunc(vector, f16), halves_);
}

Value* Speller::narrowBf16(Value* vector) {
  return b_.CreateBitCast(b_.CreateIntrinsic(target_.narrowBf16, {}, {vector}), halves_);
}

Value* Speller::merge(const SpelledOperands& o, Value* value) {
  return o.mask == nullptr ? value : b_.CreateSelect(o.mask, value, o.dst);
}

Value* Speller::compare(const SpelledOperands& o, std::int64_t relation) {
  const auto predicate = relation == 0   ? llvm::CmpInst::FCMP_OEQ
                         : relation == 1 ? llvm::CmpInst::FCMP_OLT
                                         : llvm::CmpInst::FCMP_OLE;
  return fromWords(b_.CreateSExt(b_.CreateFCmp(predicate, o.src1, o.src2), words_));
}

Value* Speller::load(llvm::FixedVectorType* type, const SpelledOperands& o, Value* mask) {
  if (mask == nullptr) return b_.CreateAlignedLoad(type, o.address, kElementAlign);
  return b_.CreateMaskedLoad(type, o.address, kElementAlign, mask, llvm::Constant::getNullValue(type));
}

Value* Speller::broadcast(const SpelledOperands& o) {
  Value* word = b_.CreateAlignedLoad(b_.getFloatTy(), o.address, kElementAlign);
  return b_.CreateVectorSplat(static_cast<unsigned>(lanes_), word);
}

Value* Speller::fma(Value* x, Value* y, Value* z) {
  return b_.CreateIntrinsic(llvm::Intrinsic::fma, {floats_}, {x, y, z});
}

// Pairs of bf16 in every lane. The result counts denormals as zero, as kDot says.
Value* Speller::dot(Value* x, Value* y, Value* z) {
  auto* pairs = llvm::FixedVectorType::get(b_.getBFloatTy(), 2 * static_cast<unsigned>(lanes_));
  return b_.CreateIntrinsic(target_.dot, {}, {z, b_.CreateBitCast(x, pairs), b_.CreateBitCast(y, pairs)});
}

// Unsigned bytes of x, signed ones of y.
Value* Speller::dotBytes(Value* x, Value* y, Value* z) {
  return fromWords(b_.CreateIntrinsic(target_.dotBytes, {}, {words(z), words(x), words(y)}));
}

// In the target's own instruction, or: what a conversion makes of numbers in the range, -2^31 of others.
Value* Speller::toInt(Value* vector) {
  if (target_.toInt != nullptr) return fromWords(target_.toInt(b_, vector));
  Value* const rounded = b_.CreateUnaryIntrinsic(llvm::Intrinsic::nearbyint, vector);
  Value* const made = b_.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {words_, floats_}, {rounded});
  Value* const within = b_.CreateFCmpOLT(rounded, llvm::ConstantFP::get(floats_, 0x1p31));  // below, it saturates
  return fromWords(b_.CreateSelect(within, made, llvm::ConstantInt::get(words_, 0x80000000U)));
}

Value* Speller::saturatedBytes(Value* vector) {
  const auto limit = [&](std::int64_t to) { return llvm::ConstantInt::getSigned(words_, to); };
  Value* const below = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, words(vector), limit(127));
  return b_.CreateTrunc(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, below, limit(-128)), bytes_);
}

void Speller::store(Value* value, const SpelledOperands& o, Value* mask) {
  if (mask == nullptr)
    b_.CreateAlignedStore(value, o.address, kElementAlign);
  else
    b_.CreateMaskedStore(value, o.address, kElementAlign, mask);
}

void Speller::storeLanes(const SpelledOperands& o, std::int64_t range) {
  const auto first = static_cast<unsigned>(maskLo(range)), count = static_cast<unsigned>(maskHi(range)) - first;
  Value* place = b_.CreateConstInBoundsGEP1_32(b_.getFloatTy(), o.address, first);
  b_.CreateAlignedStore(b_.CreateShuffleVector(o.src1, llvm::createSequentialMask(first, count, 0)), place,
                        kElementAlign);
}

void Speller::storeStream(const SpelledOperands& o) {
  llvm::StoreInst* store =
      b_.CreateAlignedStore(o.src1, o.address, llvm::Align(static_cast<std::uint64_t>(lanes_) * 4));
  store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                     llvm::MDNode::get(b_.getContext(), llvm::ConstantAsMetadata::get(b_.getInt32(1))));
}

void Speller::streamFence() {
  if (target_.streamFence != llvm::Intrinsic::not_intrinsic) b_.CreateIntrinsic(target_.streamFence, {}, {});
}

// The intrinsics that name physical registers: registers are the program's, and LLVM neither configures nor spills.
void Speller::tiles(const VInstr& i, const SpelledOperands& o) {
  const auto tile = [&](int reg) { return b_.getInt8(static_cast<std::uint8_t>(reg)); };
  switch (i.op) {
    case VOp::kTileConfigure: {
      const std::vector<std::int32_t>& words = program_.constants[static_cast<std::size_t>(i.imm)];
      llvm::Constant* shapes =
          llvm::ConstantDataVector::get(b_.getContext(), std::vector<std::uint32_t>(words.begin(), words.end()));
      auto* place = new llvm::GlobalVariable(*b_.GetInsertBlock()->getModule(), shapes->getType(), true,
                                             llvm::GlobalValue::PrivateLinkage, shapes, "tiles");
      place->setAlignment(llvm::Align(64));
      b_.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {place});
      return;
    }
    case VOp::kTileRelease: b_.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, {}); return;
    case VOp::kTileZero: b_.CreateIntrinsic(llvm::Intrinsic::x86_tilezero, {}, {tile(i.dst)}); return;
    case VOp::kTileLoad:
      b_.CreateIntrinsic(llvm::Intrinsic::x86_tileloadd64, {}, {tile(i.dst), o.address, o.src1});
      return;
    case VOp::kTileStore:
      b_.CreateIntrinsic(llvm::Intrinsic::x86_tilestored64, {}, {tile(i.src1), o.address, o.src2});
      return;
    default: {
      const auto product = i.op == VOp::kTileDotBf16 ? llvm::Intrinsic::x86_tdpbf16ps : llvm::Intrinsic::x86_tdpfp16ps;
      b_.CreateIntrinsic(product, {}, {tile(i.dst), tile(i.src1), tile(i.src2)});
    }
  }
}

void Speller::prefetch(const SpelledOperands& o, std::int64_t level) {
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

Value* Speller::maskUnlessAll(std::int64_t range) {
  return maskLo(range) == 0 && maskHi(range) == lanes_ ? nullptr : maskRange(range);
}

// Fenced: LLVM would ask of every tree of shuffles whether fewer could do, which takes most of the time that a transpose takes to
// generate, and finds nothing: the trees are final.
Value* Speller::shuffle(Value* x, Value* y, llvm::ArrayRef<int> picks) {
  return b_.CreateArithmeticFence(b_.CreateShuffleVector(x, y, picks), floats_);
}

Value* Speller::shuffleInBlocks(const SpelledOperands& o, const int (&pattern)[4]) {
  std::vector<int> mask;
  for (int block = 0; block < lanes_; block += 4) {
    for (const int lane : pattern) mask.push_back(block + (lane < 4 ? lane : lanes_ + lane - 4));
  }
  return shuffle(o.src1, o.src2, mask);
}

Value* Speller::shuffleBlocks(const SpelledOperands& o, std::int64_t picks) {
  const int blocks = lanes_ / 4, pickBits = blocks == 4 ? 2 : 1;
  std::vector<int> mask;
  for (int block = 0; block < blocks; ++block) {
    const int pick = static_cast<int>(picks >> (block * pickBits)) & ((1 << pickBits) - 1);
    const int source = block < blocks / 2 ? 0 : lanes_;
    for (int lane = 0; lane < 4; ++lane) mask.push_back(source + pick * 4 + lane);
  }
  return shuffle(o.src1, o.src2, mask);
}

}  // namespace cubejit
