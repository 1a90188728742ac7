// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a vector op is spelled in LLVM IR: one short entry an op, the counterpart of an emitter's encodings.
// Leaves registers, loops and scalars to build_ir. A vector is <lanes x float> whatever it holds; a mask is <lanes x i1>.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "codegen/llvm_backend/target.h"
#include "codegen/vector/program.h"

namespace cubejit {

/// The values an instruction reads; null where it reads none. `mask` is null without one.
struct SpelledOperands {
  llvm::Value *dst = nullptr, *src1 = nullptr, *src2 = nullptr, *src3 = nullptr, *mask = nullptr, *address = nullptr;
};

class Speller {
 public:
  Speller(llvm::IRBuilder<>& builder, const VectorProgram& program);

  /// The new value of dst, or null if the op has none. Precondition: a vector op of a verified program.
  llvm::Value* spell(const VInstr& i, const SpelledOperands& o);

  llvm::FixedVectorType* vectorType() const { return floats_; }
  llvm::FixedVectorType* maskType() const { return bits_; }

 private:
  llvm::Value* words(llvm::Value* vector);
  llvm::Value* isSet(llvm::Value* vector);
  llvm::Value* merge(const SpelledOperands& o, llvm::Value* value);
  llvm::Value* compare(const SpelledOperands& o, std::int64_t relation);
  llvm::Value* load(llvm::FixedVectorType* type, const SpelledOperands& o, llvm::Value* mask);
  llvm::Value* broadcast(const SpelledOperands& o);
  llvm::Value* fma(llvm::Value* x, llvm::Value* y, llvm::Value* z);
  llvm::Value* dot(llvm::Value* x, llvm::Value* y, llvm::Value* z);
  llvm::Value* dotBytes(llvm::Value* x, llvm::Value* y, llvm::Value* z);
  llvm::Value* toInt(llvm::Value* vector);
  llvm::Value* saturatedBytes(llvm::Value* vector);
  llvm::Value* fromWords(llvm::Value* words);
  llvm::Value* lowerHalves(llvm::Value* vector);
  llvm::Value* fromLowerHalves(llvm::Value* halves);
  llvm::Value* lowestBytes(llvm::Value* vector);
  llvm::Value* fromLowestBytes(llvm::Value* bytes);
  llvm::Value* widenF16(llvm::Value* halves);
  llvm::Value* narrowF16(llvm::Value* vector);
  llvm::Value* narrowBf16(llvm::Value* vector);
  void store(llvm::Value* value, const SpelledOperands& o, llvm::Value* mask);
  void storeLanes(const SpelledOperands& o, std::int64_t range);
  void storeStream(const SpelledOperands& o);
  void streamFence();
  void tiles(const VInstr& i, const SpelledOperands& o);
  void prefetch(const SpelledOperands& o, std::int64_t level);
  llvm::Value* constant(const std::vector<std::int32_t>& words);
  llvm::Value* maskRange(std::int64_t range);
  llvm::Value* maskUnlessAll(std::int64_t range);
  llvm::Value* permute(const SpelledOperands& o);
  llvm::Value* permute2(const SpelledOperands& o);
  llvm::Value* permuteWords2(const SpelledOperands& o);
  llvm::Value* shuffleBytes(const SpelledOperands& o);
  llvm::Value* elementByElement(llvm::Value* index, llvm::Value* table);
  llvm::Value* shuffle(llvm::Value* x, llvm::Value* y, llvm::ArrayRef<int> picks);
  llvm::Value* shuffleInBlocks(const SpelledOperands& o, const int (&pattern)[4]);
  llvm::Value* shuffleBlocks(const SpelledOperands& o, std::int64_t picks);

  llvm::IRBuilder<>& b_;
  const VectorProgram& program_;
  const LlvmTarget& target_;
  const int lanes_;
  llvm::FixedVectorType *floats_, *words_, *halves_, *bytes_, *bits_;
};

}  // namespace cubejit
