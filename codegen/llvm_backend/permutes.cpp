// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the intrinsics. x86 takes indices modulo the table's lanes, as the ops do; ARM's give zero beyond the table, so that
// they are cut first.
#include "codegen/llvm_backend/permutes.h"

#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsX86.h>

namespace cubejit {
namespace {

using Builder = llvm::IRBuilder<>;
using llvm::Value;

unsigned lanesOf(const Value* vector) { return llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements(); }
Value* splat(const Value* like, std::uint64_t element) { return llvm::ConstantInt::get(like->getType(), element); }
llvm::FixedVectorType* bytesLike(Builder& b, const Value* vector) {
  return llvm::FixedVectorType::get(b.getInt8Ty(), lanesOf(vector) * 4);
}

template <llvm::Intrinsic::ID id>
Value* tableFirst(Builder& b, Value* index, Value* table) {
  return b.CreateIntrinsic(id, {}, {table, index});
}

template <llvm::Intrinsic::ID id>
Value* indexBetween(Builder& b, Value* index, Value* low, Value* high) {
  return b.CreateIntrinsic(id, {}, {low, index, high});
}

Value* neonBytes(Builder& b, Value* index, Value* table) {
  return b.CreateIntrinsic(llvm::Intrinsic::aarch64_neon_tbl1, {table->getType()},
                           {table, b.CreateAnd(index, splat(index, 0x8f))});
}

// A word's four bytes: 4 i, 4 i + 1, 4 i + 2, 4 i + 3.
Value* neonWords(Builder& b, Value* index, Value* table) {
  Value* lane = b.CreateAnd(index, splat(index, 3));
  Value* bytes = b.CreateAdd(b.CreateMul(lane, splat(index, 0x04040404)), splat(index, 0x03020100));
  auto* type = bytesLike(b, table);
  return b.CreateBitCast(neonBytes(b, b.CreateBitCast(bytes, type), b.CreateBitCast(table, type)), table->getType());
}

Value* asScalable(Builder& b, Value* vector) {
  auto* fixed = llvm::cast<llvm::FixedVectorType>(vector->getType());
  auto* type = llvm::ScalableVectorType::get(fixed->getElementType(), 128 / fixed->getScalarSizeInBits());
  return b.CreateInsertVector(type, llvm::PoisonValue::get(type), vector, b.getInt64(0));
}

Value* sveWords(Builder& b, Value* index, Value* table) {
  Value *cut = b.CreateAnd(index, splat(index, lanesOf(table) - 1)), *scalable = asScalable(b, table);
  Value* picked =
      b.CreateIntrinsic(llvm::Intrinsic::aarch64_sve_tbl, {scalable->getType()}, {scalable, asScalable(b, cut)});
  return b.CreateExtractVector(table->getType(), picked, b.getInt64(0));
}

// SVE alone has no instruction with two tables: both are asked, and the bit above a lane number chooses.
Value* sveTwoWords(Builder& b, Value* index, Value* low, Value* high) {
  Value* fromHigh = b.CreateICmpNE(b.CreateAnd(index, splat(index, lanesOf(low))), splat(index, 0));
  return b.CreateSelect(fromHigh, sveWords(b, index, high), sveWords(b, index, low));
}

}  // namespace

const Permutes kAvx2Permutes{tableFirst<llvm::Intrinsic::x86_avx2_permps>, nullptr,
                             tableFirst<llvm::Intrinsic::x86_avx2_pshuf_b>, nullptr};
const Permutes kAvx512Permutes{
    tableFirst<llvm::Intrinsic::x86_avx512_permvar_sf_512>, indexBetween<llvm::Intrinsic::x86_avx512_vpermi2var_ps_512>,
    tableFirst<llvm::Intrinsic::x86_avx512_pshuf_b_512>, indexBetween<llvm::Intrinsic::x86_avx512_vpermi2var_hi_512>};
const Permutes kNeonPermutes{neonWords, nullptr, neonBytes, nullptr};
const Permutes kSvePermutes{sveWords, sveTwoWords, nullptr, nullptr};

}  // namespace cubejit
