// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides by what each part of L0 holds while the program runs.
#include "emulation/forward_rules.h"

#include <algorithm>
#include <utility>

#include "tiling/rounding.h"

namespace cubejit {
namespace {

// What one move left in L0A or L0B: fractals along m or n, and along k.
struct Held {
  std::int64_t begin = 0, end = 0, across = 0, along = 0;
};

struct MoveToL0 {
  L0Side side = L0Side::kA;
  Held held;
  std::int64_t l1 = 0;
  std::int64_t rows = 0;   ///< of A
  std::int64_t along = 0;  ///< elements along k, before they are filled up
};

const MoveToL0* moveOf(const UnitInstruction& instruction, const UnitContext& c, MoveToL0& move) {
  const std::int64_t c0 = c.work.c0;
  if (const auto* i = std::get_if<Unfold>(&instruction)) {
    const bool a = i->side == L0Side::kA;
    move = {i->side,
            {i->l0, i->l0 + bytesOf(*i, c), a ? ceilDiv(i->pixels.count, 16) : ceilDiv(i->units.count * c0, 16),
             a ? i->units.count : ceilDiv(i->pixels.count, c0)},
            i->piece.l1,
            i->pixels.count,
            a ? i->units.count * c0 : i->pixels.count};
    return &move;
  }
  if (const auto* i = std::get_if<LoadFractals>(&instruction)) {
    move = {i->side,
            {i->l0, i->l0 + bytesOf(*i, c), ceilDiv(i->x.count, 16), ceilDiv(i->y.count, c0)},
            i->l1,
            i->x.count,
            i->y.count};
    return &move;
  }
  return nullptr;
}

class L0Contents {
 public:
  void put(const Held& held) {
    std::erase_if(held_, [&](const Held& h) { return h.begin < held.end && held.begin < h.end; });
    held_.push_back(held);
  }
  bool has(std::int64_t begin, std::int64_t across, std::int64_t along) const {
    return std::any_of(held_.begin(), held_.end(),
                       [&](const Held& h) { return h.begin == begin && h.across == across && h.along == along; });
  }

 private:
  std::vector<Held> held_;
};

// The last three steps, if they are two moves and their Mmad. False if they are not.
bool findOperands(ForwardedProgram& steps, const UnitContext& c) {
  if (steps.size() < 3) return false;
  MoveToL0 a, b;
  if (moveOf(steps[steps.size() - 3].instruction, c, a) == nullptr ||
      moveOf(steps[steps.size() - 2].instruction, c, b) == nullptr || a.side == b.side)
    return false;
  if (a.side == L0Side::kB) std::swap(a, b);
  const Mmad& mmad = *std::get_if<Mmad>(&steps.back().instruction);
  if (a.held.begin != mmad.l0a || b.held.begin != mmad.l0b) return false;
  const auto* first = std::get_if<Unfold>(&steps[steps.size() - 3].instruction);
  for (std::size_t i = steps.size() - 3; i < steps.size(); ++i) {
    steps[i].aL1 = a.l1;
    steps[i].bL1 = b.l1;
    steps[i].rows = a.rows;
    steps[i].along = std::max(a.along, b.along);
    steps[i].apart = true;
    steps[i].onlyReader = first != nullptr && first->side == L0Side::kA;
  }
  return true;
}

}  // namespace

Result<ForwardedProgram> forwardProgram(const UnitProgram& program, const UnitContext& c) {
  ForwardedProgram forwarded;
  forwarded.reserve(program.size());
  L0Contents a, b;
  bool inThrees = true;  // every Mmad has two moves of its own right before it
  for (const UnitInstruction& instruction : program) {
    MoveToL0 room;
    const auto* mmad = std::get_if<Mmad>(&instruction);
    if (const MoveToL0* move = moveOf(instruction, c, room)) {
      (move->side == L0Side::kA ? a : b).put(move->held);
    } else if (mmad != nullptr && !(a.has(mmad->l0a, mmad->m1, mmad->k1) && b.has(mmad->l0b, mmad->n1, mmad->k1))) {
      return Error{ErrorCode::kUnsupported, Stage::kRun,
                   "'" + toString(instruction) + "' reads L0 that no one move filled; it is not forwarded"};
    }
    forwarded.push_back({instruction, mmad != nullptr || room.held.end > 0});
    if (mmad != nullptr) inThrees = findOperands(forwarded, c) && inThrees;
  }
  for (ForwardStep& step : forwarded) {
    step.apart = step.apart && inThrees;
    step.onlyReader = step.onlyReader && inThrees;
  }
  return forwarded;
}

}  // namespace cubejit
