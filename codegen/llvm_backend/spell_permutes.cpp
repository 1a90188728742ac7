// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how lanes are permuted by an index vector: a shuffle where the indices are known now, the target's own instruction
// where they are not, and lane by lane where the target has none.
#include <optional>
#include <vector>

#include "codegen/llvm_backend/spell.h"

namespace cubejit {
namespace {

using llvm::Value;

// The indices, of `bits` bits each, of an index vector that is a constant; modulo `modulus`.
std::optional<std::vector<int>> knownIndices(Value* index, unsigned lanes, unsigned bits, std::uint64_t modulus) {
  const auto* cast = llvm::dyn_cast<llvm::BitCastInst>(index);
  const auto* words = cast == nullptr ? nullptr : llvm::dyn_cast<llvm::Constant>(cast->getOperand(0));
  if (words == nullptr) return std::nullopt;
  std::vector<int> indices;
  for (unsigned l = 0; l < lanes; ++l) {
    const auto* word = llvm::dyn_cast<llvm::ConstantInt>(words->getAggregateElement(l));
    if (word == nullptr) return std::nullopt;
    for (unsigned at = 0; at < 32; at += bits) {
      const std::uint64_t picked = word->getZExtValue() >> at & ((std::uint64_t{1} << bits) - 1);
      indices.push_back(static_cast<int>(picked % modulus));
    }
  }
  return indices;
}

}  // namespace

Value* Speller::permute(const SpelledOperands& o) {
  const auto lanes = static_cast<unsigned>(lanes_);
  if (const auto known = knownIndices(o.src1, lanes, 32, lanes))
    return shuffle(o.src2, llvm::PoisonValue::get(floats_), *known);
  if (target_.permutes->words != nullptr) return target_.permutes->words(b_, words(o.src1), o.src2);
  return elementByElement(words(o.src1), o.src2);
}

Value* Speller::permute2(const SpelledOperands& o) {
  const auto lanes = static_cast<unsigned>(lanes_);
  if (const auto known = knownIndices(o.src1, lanes, 32, 2 * lanes)) return shuffle(o.src2, o.src3, *known);
  if (target_.permutes->twoWords != nullptr) return target_.permutes->twoWords(b_, words(o.src1), o.src2, o.src3);
  std::vector<int> both(2 * lanes);
  for (std::size_t l = 0; l < both.size(); ++l) both[l] = static_cast<int>(l);
  return elementByElement(words(o.src1), b_.CreateShuffleVector(o.src2, o.src3, both));
}

Value* Speller::permuteWords2(const SpelledOperands& o) {
  const auto lanes = static_cast<unsigned>(lanes_), count = 2 * lanes;
  auto* halves = llvm::FixedVectorType::get(b_.getInt16Ty(), count);
  Value *index = b_.CreateBitCast(o.src1, halves), *low = b_.CreateBitCast(o.src2, halves),
        *high = b_.CreateBitCast(o.src3, halves);
  const auto known = knownIndices(o.src1, lanes, 16, 2 * count);
  return b_.CreateBitCast(
      known ? b_.CreateShuffleVector(low, high, *known) : target_.permutes->twoHalves(b_, index, low, high), floats_);
}

// Index bytes with the sign set give zero; of the others the lower four bits pick within the block.
Value* Speller::shuffleBytes(const SpelledOperands& o) {
  const unsigned count = 4 * static_cast<unsigned>(lanes_);
  auto* bytes = llvm::FixedVectorType::get(b_.getInt8Ty(), count);
  Value *index = b_.CreateBitCast(o.src1, bytes), *table = b_.CreateBitCast(o.src2, bytes);
  const auto known = knownIndices(o.src1, static_cast<unsigned>(lanes_), 8, 256);
  if (!known) return b_.CreateBitCast(target_.permutes->bytes(b_, index, table), floats_);
  std::vector<int> picks;
  for (unsigned byte = 0; byte < count; ++byte) {
    const auto pick = static_cast<unsigned>((*known)[byte]);
    picks.push_back(static_cast<int>(pick >= 128 ? count : byte / 16 * 16 + pick % 16));
  }
  return b_.CreateBitCast(b_.CreateShuffleVector(table, llvm::Constant::getNullValue(bytes), picks), floats_);
}

// `table` may have more lanes than a vector; a power of two.
Value* Speller::elementByElement(Value* index, Value* table) {
  const auto entries = llvm::cast<llvm::FixedVectorType>(table->getType())->getNumElements();
  Value* result = llvm::PoisonValue::get(floats_);
  for (int l = 0; l < lanes_; ++l) {
    Value* from = b_.CreateAnd(b_.CreateExtractElement(index, static_cast<std::uint64_t>(l)), entries - 1);
    result = b_.CreateInsertElement(result, b_.CreateExtractElement(table, from), static_cast<std::uint64_t>(l));
  }
  return result;
}

}  // namespace cubejit
