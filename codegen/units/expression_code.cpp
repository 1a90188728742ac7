// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which register a step's result takes: the element's as soon as nothing reads the element any more, else that of an operand which
// nothing reads later.
#include "codegen/units/expression_code.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

namespace cubejit {

using Kind = ExpressionValue::Kind;

namespace {

// A constant as its bits, if a register can be given to it; zeros need no memory.
std::optional<ExpressionValue> constantOf(const ExpressionValue& value) {
  const bool is = (value.kind == Kind::kConstant || value.kind == Kind::kWord) && value.word != 0;
  return is ? std::optional(ExpressionValue::bits(value.word)) : std::nullopt;
}

}  // namespace

class ExpressionCode::Evaluation {
 public:
  /// Place 0 is the element's register, the others are temporaries; behind them are kept constants.
  Evaluation(VectorAssembler& a, const ExpressionCode& code, std::vector<int> registers, const Loads& loads)
      : a_(a), code_(code), registers_(std::move(registers)), used_(registers_.size()), loads_(loads) {
    used_[0] = code.f_.reads(Kind::kElement);
    for (const auto& [value, reg] : code.kept_) registers_.push_back(reg), used_.push_back(true);
  }

  /// The most temporaries that were in use together.
  std::size_t run() {
    for (number_ = 0; number_ < code_.f_.steps.size(); ++number_) step(code_.f_.steps[number_]);
    return most_;
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct Operand {
    std::size_t place = kNone;  ///< kNone: it has no register
    bool dies = true;           ///< nothing reads it behind this step
  };

  void step(const ExpressionStep& step) {
    std::array<Operand, 3> all;
    const std::span<Operand> operands(all.data(), arity(step.op));
    const bool selects = step.op == ExpressionOp::kSelectGt0 || step.op == ExpressionOp::kSelectLe0;
    // The other choice, where it is zero, is what masking leaves.
    const std::size_t other = step.op == ExpressionOp::kSelectGt0 ? 2 : 1;
    const bool orZero = selects && step.operands[other] == ExpressionValue::constant(0);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (!(orZero && i == other) && !(shifts(step.op) && i == 1)) operands[i] = place(step.operands[i]);
    }
    // Comparing overwrites it.
    Operand condition = operands[0];
    const auto alsoChosen = [&] { return all[1].place == condition.place || all[2].place == condition.place; };
    if (selects && (!condition.dies || alsoChosen())) condition = copied(condition);
    const std::size_t mask = selects ? take() : 0;
    if (selects) {
      const std::size_t constant = take();
      // What is not above zero is at most zero, but for NaN.
      above(reg(mask), reg(condition.place), reg(constant), step.op == ExpressionOp::kSelectLe0);
      free(constant);
    }
    const bool inParts =
        step.op == ExpressionOp::kFma || step.op == ExpressionOp::kDot || step.op == ExpressionOp::kSelect;
    const std::size_t result = inParts ? partly(step.op, all) : placeOfResult(operands, selects ? mask : 0);
    if (!inParts) emit(step, operands, reg(result), orZero, reg(mask), reg(condition.place));
    for (const Operand& o : operands) {
      if (o.place != kNone && o.dies && o.place != result) free(o.place);
    }
    if (selects) {
      if (condition.place != result && condition.place != operands[0].place) free(condition.place);
      if (mask != result) free(mask);
    }
    used_[result] = true;
    places_.push_back(result);
    if (code_.ends_[number_] == number_ && number_ + 1 < code_.f_.steps.size()) free(result);  // nobody reads it
  }

  // What takes several instructions, of which the first writes over an operand that a later one reads, or reads what it writes. The last step's
  // result goes where the element was.
  std::size_t partly(ExpressionOp op, const std::array<Operand, 3>& o) {
    const auto& [x, y, z] = o;
    const bool adds = op != ExpressionOp::kSelect;
    // z is added to where it is; the bits that a selection begins with may take y's place.
    const Operand& over = adds ? z : y;
    const bool inPlace =
        over.dies && (adds ? z.place != x.place && z.place != y.place : y.place != x.place && y.place != z.place);
    const std::size_t at = inPlace ? over.place : take();
    if (adds) {
      if (!inPlace) a_.narrow(VOp::kMove, reg(at), reg(z.place));
      op == ExpressionOp::kFma ? a_.fma(reg(at), reg(x.place), reg(y.place))
                               : a_.dot(reg(at), reg(x.place), reg(y.place));
    } else {
      a_.binary(VOp::kXor, reg(at), reg(y.place), reg(z.place));
      a_.binary(VOp::kAnd, reg(at), reg(at), reg(x.place));
      a_.binary(VOp::kXor, reg(at), reg(at), reg(z.place));
    }
    if (number_ + 1 < code_.f_.steps.size() || at == 0) return at;
    a_.narrow(VOp::kMove, reg(0), reg(at));
    free(at);
    return 0;
  }

  void emit(const ExpressionStep& step, std::span<const Operand> operands, int to, bool orZero, int mask,
            int opposite) {
    const auto of = [&](std::size_t i) { return reg(operands[i].place); };
    const ExpressionOp op = step.op;
    switch (op) {
      case ExpressionOp::kSub: a_.binary(VOp::kSubF, to, of(0), of(1)); return;
      case ExpressionOp::kDiv: a_.binary(VOp::kDiv, to, of(0), of(1)); return;
      case ExpressionOp::kSqrt: a_.narrow(VOp::kSqrt, to, of(0)); return;
      case ExpressionOp::kScale: a_.binary(VOp::kScale, to, of(0), of(1)); return;
      case ExpressionOp::kRound: a_.shift(VOp::kRound, to, of(0), 0); return;
      case ExpressionOp::kFloor: a_.shift(VOp::kRound, to, of(0), 1); return;
      case ExpressionOp::kEqual: a_.compare(to, of(0), of(1), 0); return;
      case ExpressionOp::kLess: a_.compare(to, of(0), of(1), 1); return;
      case ExpressionOp::kAtMost: a_.compare(to, of(0), of(1), 2); return;
      case ExpressionOp::kAnd: a_.binary(VOp::kAnd, to, of(0), of(1)); return;
      case ExpressionOp::kOr: a_.binary(VOp::kOr, to, of(0), of(1)); return;
      case ExpressionOp::kXor: a_.binary(VOp::kXor, to, of(0), of(1)); return;
      case ExpressionOp::kAddInt: a_.binary(VOp::kAddInt, to, of(0), of(1)); return;
      case ExpressionOp::kShiftLeft: a_.shift(VOp::kShiftLeft, to, of(0), step.operands[1].word); return;
      case ExpressionOp::kShiftRight: a_.shift(VOp::kShiftRight, to, of(0), step.operands[1].word); return;
      case ExpressionOp::kFma:
      case ExpressionOp::kDot:
      case ExpressionOp::kSelect: return;  // partly()'s
      case ExpressionOp::kAdd: a_.addF(to, of(0), of(1)); return;
      case ExpressionOp::kMul: a_.binary(VOp::kMul, to, of(0), of(1)); return;
      case ExpressionOp::kMin: a_.binary(VOp::kMinF, to, of(0), of(1)); return;
      case ExpressionOp::kMax: a_.binary(VOp::kMaxF, to, of(0), of(1)); return;
      case ExpressionOp::kAbs:
        a_.shift(VOp::kShiftLeft, to, of(0), 1);
        a_.shift(VOp::kShiftRight, to, to, 1);
        return;
      case ExpressionOp::kSelectGt0:
      case ExpressionOp::kSelectLe0: {
        const bool gt0 = op == ExpressionOp::kSelectGt0;
        const int where = of(gt0 ? 1 : 2);
        if (orZero) {
          a_.binary(VOp::kAnd, to, where, mask);
          return;
        }
        a_.binary(VOp::kAnd, mask, where, mask);
        a_.binary(VOp::kAnd, opposite, of(gt0 ? 2 : 1), opposite);
        a_.binary(VOp::kOr, to, mask, opposite);
        return;
      }
    }
  }

  // `mask`: all bits where `value` is above zero, and where it is NaN if that counts, else none; `value` becomes the opposite. What is not
  // above becomes zero; words: without the sign, which zeros and NaNs may have; 1 if anything is left; less 1.
  void above(int mask, int value, int constant, bool orNan) {
    const auto word = [&](VOp op, int to, int from, std::uint32_t bits) {
      a_.constant(constant, a_.addUniform(bits));
      a_.binary(op, to, from, constant);
    };
    a_.zero(mask);
    if (orNan) {  // a maximum of NaN and another is the second operand
      a_.binary(VOp::kMaxF, value, mask, value);
      word(VOp::kAnd, value, value, 0x7fffffffU);
    } else {
      a_.binary(VOp::kMaxF, value, value, mask);
    }
    word(VOp::kMinInt, value, value, 1);
    word(VOp::kAddInt, value, value, ~0U);
    word(VOp::kAnd, mask, value, 1);
    word(VOp::kAddInt, mask, mask, ~0U);
  }

  Operand place(const ExpressionValue& value) {
    if (value.kind == Kind::kElement) return {0, number_ == code_.elementEnds_};
    if (value.kind == Kind::kStep) return {places_[value.word], number_ == code_.ends_[value.word]};
    const ExpressionValue wanted = constantOf(value).value_or(value);
    for (std::size_t c = 0; c < code_.kept_.size(); ++c) {
      if (code_.kept_[c].first == wanted) return {registers_.size() - code_.kept_.size() + c, false};
    }
    const std::size_t at = take();
    if (value.kind == Kind::kD)
      loads_.d(reg(at));
    else if (value.kind == Kind::kB)
      loads_.b(reg(at));
    else if (value.kind == Kind::kE)
      loads_.e(reg(at));
    else if (value.word == 0)
      a_.zero(reg(at));
    else
      a_.constant(reg(at), a_.addUniform(value.word));
    return {at, true};
  }
  Operand copied(const Operand& from) {
    const std::size_t at = take();
    a_.narrow(VOp::kMove, reg(at), reg(from.place));
    return {at, true};
  }

  std::size_t placeOfResult(std::span<const Operand> operands, std::size_t mask) {
    std::size_t found = 0;
    bool dying = !used_[0];
    for (const Operand& o : operands) {
      if (!o.dies || o.place == kNone) continue;
      if (o.place == 0) dying = true;
      if (found == 0) found = o.place;
    }
    if (dying) return 0;
    return found != 0 ? found : mask != 0 ? mask : take();
  }

  int reg(std::size_t place) const { return registers_[place]; }
  void free(std::size_t place) { used_[place] = false; }
  // The lowest temporary that is free.
  std::size_t take() {
    const auto at = static_cast<std::size_t>(std::find(used_.begin() + 1, used_.end(), false) - used_.begin());
    used_[at] = true;
    most_ = std::max(most_, at);
    return at;
  }

  VectorAssembler& a_;
  const ExpressionCode& code_;
  std::vector<int> registers_;
  std::vector<bool> used_;
  const Loads& loads_;
  std::vector<std::size_t> places_;  // of what steps gave
  std::size_t number_ = 0, most_ = 0;
};

ExpressionCode::ExpressionCode(VectorAssembler& a, const Expression& f) : a_(a), f_(f), ends_(f.steps.size()) {
  for (std::size_t s = 0; s < f.steps.size(); ++s) {
    ends_[s] = s;
    for (std::size_t i = 0; i < arity(f.steps[s].op); ++i) {
      const ExpressionValue& value = f.steps[s].operands[i];
      if (value.kind == Kind::kElement) elementEnds_ = s;
      if (value.kind == Kind::kStep) ends_[value.word] = s;
    }
  }
  // A step holds its operands, a copy, a mask, a constant and its result.
  constexpr std::size_t kMostOfStep = 7;
  VectorAssembler nowhere("", {});
  const auto nothing = [](int) {};
  temporaries_ =
      Evaluation(nowhere, *this, std::vector<int>(kMostOfStep * f.steps.size() + 1), {nothing, nothing, nothing}).run();
}

void ExpressionCode::keep(const std::vector<int>& registers, const std::function<bool(const ExpressionValue&)>& ofRow) {
  std::vector<std::pair<ExpressionValue, int>> reads;  // of each value
  for (const ExpressionStep& step : f_.steps) {
    for (std::size_t i = 0; i < arity(step.op); ++i) {
      const auto value = ofRow(step.operands[i]) ? std::optional(step.operands[i]) : constantOf(step.operands[i]);
      if (!value || (shifts(step.op) && i == 1)) continue;
      const auto known = std::ranges::find(reads, *value, &std::pair<ExpressionValue, int>::first);
      if (known == reads.end())
        reads.emplace_back(*value, 1);
      else
        ++known->second;
    }
  }
  std::stable_sort(reads.begin(), reads.end(), [](const auto& x, const auto& y) { return x.second > y.second; });
  for (std::size_t c = 0; c < std::min(reads.size(), registers.size()); ++c) {
    const ExpressionValue& value = reads[c].first;
    kept_.emplace_back(value, registers[c]);
    if (value.kind == Kind::kWord) a_.constant(registers[c], a_.addUniform(value.word));
  }
}

void ExpressionCode::keepRow(const Loads& loads) {
  for (const auto& [value, reg] : kept_) {
    if (value.kind == Kind::kD) loads.d(reg);
    if (value.kind == Kind::kB) loads.b(reg);
  }
}

void ExpressionCode::apply(int reg, const std::vector<int>& free, const Loads& loads) {
  std::vector<int> registers{reg};
  registers.insert(registers.end(), free.begin(), free.end());
  Evaluation(a_, *this, std::move(registers), loads).run();
}

}  // namespace cubejit
