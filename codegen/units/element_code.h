// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how elements of memory become 32-bit lanes and back, in vector ops; the meaning is that of tile/element.h.
#pragma once

#include "codegen/tile/element.h"
#include "codegen/units/assembler.h"

namespace cubejit {

/// Registers that a store may overwrite: two temporaries and one for constants.
struct NarrowScratch {
  int x = 0, y = 0, constant = 0;
};

class ElementCode {
 public:
  ElementCode(VectorAssembler& a, Element from, Element to, std::int64_t pairPitch = 0)
      : a_(a), from_(from == to ? bits(to) : from), to_(from == to ? bits(to) : to), pairPitch_(pairPitch) {}

  std::int64_t sourceBytes() const { return elementBytes(from_); }
  std::int64_t targetBytes() const { return elementBytes(to_); }
  bool plain() const { return from_ == Element::kF32 && to_ == Element::kF32; }
  /// Whether a load needs its temporary, a store its scratch registers.
  bool loadNeedsTemporary() const { return from_ == Element::kQuad || (from_ == Element::kPair && pairPitch_ != 0); }
  bool storeNeedsScratch() const {
    return to_ == Element::kBf16 || to_ == Element::kHf32 || to_ == Element::kHf32Low ||
           (to_ == Element::kI8 && !keepsBytes());
  }

  /// From here on words lack so many of their last members: pairs the second one.
  void dropMembers(std::int64_t count) {
    if (from_ == Element::kPair) pairPitch_ = 0;
    missing_ = count;
  }

  void load(int reg, int temporary, int base, std::int64_t disp, LaneRange lanes = {});
  /// Overwrites `reg`.
  void store(int reg, NarrowScratch scratch, int base, std::int64_t disp, LaneRange lanes = {});

 private:
  // Equal types keep every bit.
  static Element bits(Element e) {
    const std::int64_t bytes = elementBytes(e);
    return bytes == 1 ? Element::kI8 : bytes == 2 ? Element::kHalf : Element::kF32;
  }
  bool keepsBytes() const { return from_ == Element::kI8 && to_ == Element::kI8; }
  void loadQuads(int reg, int temporary, int base, std::int64_t disp, LaneRange lanes);
  void round(int reg, NarrowScratch scratch);
  int word(std::uint32_t value, int reg);

  VectorAssembler& a_;
  const Element from_, to_;
  std::int64_t pairPitch_, missing_ = 0;
};

}  // namespace cubejit
