// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of kernels that store what an expression makes of their elements: do both interpreters and the code leave the same bits, with values that
// are read again and again, in zeros, and where nothing is a number?
#include "codegen/units/expression_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "codegen/tile/element.h"
#include "codegen/tile/functions.h"
#include "codegen/tile/interpret.h"
#include "codegen/tile/print.h"
#include "tests/support/kernel_agreement.h"

namespace cubejit {
namespace {

using Op = ExpressionOp;
using Value = ExpressionValue;

class ExpressionCodes : public testing::TestWithParam<IsaLevel> {
 protected:
  HostIsa isa() const { return isaOf(GetParam()); }
  int below(int n) { return static_cast<int>(rng_() % static_cast<unsigned>(n)); }

  // Not what is no number: of two of those, which one is left is the compiler's choice.
  Value randomNumber(const Expression& f) {
    constexpr float kNumbers[] = {0.0F, -0.0F, 0.5F, -0.5F, 3.0F};
    switch (below(7)) {
      case 0: return Value::d();
      case 1: return Value::e();
      case 2: return Value::constant(kNumbers[below(5)]);
      case 3: return Value::element();
      case 4: return maps_ ? Value::b() : Value::d();
      default: {
        if (!f.any()) return Value::element();
        const auto step = static_cast<std::size_t>(below(static_cast<int>(f.steps.size())));
        return isNumber(f.steps[step]) ? Value::step(step) : Value::element();
      }
    }
  }
  static bool isNumber(const ExpressionStep& step) {
    const bool bits = step.op >= Op::kAnd || compares(step.op) || mayLeaveRange(step.op);
    return !bits || step.operands[1] == Value::bits(kFinite);
  }
  static constexpr std::uint32_t kFinite = 0x3fffffff;
  static bool mayLeaveRange(Op op) { return op == Op::kDiv || op == Op::kSqrt || op == Op::kScale; }
  static bool compares(Op op) { return op == Op::kEqual || op == Op::kLess || op == Op::kAtMost; }
  void addRandomStep(Expression& f) {
    const Op op = static_cast<Op>(below(kExpressionOps));
    if (op == Op::kDot && !isa().bf16Dot) return addRandomStep(f);
    Value x = randomNumber(f), y = randomNumber(f);
    if (shifts(op)) y = Value::bits(static_cast<std::uint32_t>(below(32)));
    if (op == Op::kSelect) x = f.then(static_cast<Op>(static_cast<int>(Op::kEqual) + below(3)), x, y);
    if (op == Op::kScale) y = Value::constant(static_cast<float>(below(100)));
    if (op == Op::kDot) {  // halves of a word that an operation made may be none
      for (Value* pair : {&x, &y}) *pair = f.then(Op::kAnd, *pair, Value::bits(0xbfffbfffU));
    }
    const Value made = f.then(op, x, arity(op) > 1 ? y : Value{}, arity(op) > 2 ? randomNumber(f) : Value{});
    if (mayLeaveRange(op)) f.then(Op::kMin, f.then(Op::kMax, made, Value::constant(0)), Value::constant(4));
    if (op >= Op::kAnd || compares(op)) f.then(Op::kAnd, made, Value::bits(kFinite));
  }
  Expression randomExpression() {
    Expression f;
    for (int i = 1 + below(4); i > 0; --i) addRandomStep(f);
    return f;
  }
  // Words of which either half is a number of 16 bits, and zeros of both signs and bounds among them.
  std::vector<float> numbers(std::size_t count) {
    constexpr float kKnown[] = {0.0F, -0.0F, 0.5F, -0.5F, 1.0F};
    std::uniform_real_distribution<float> real(-1, 1);
    const auto one = [&] { return floatToBf16(below(3) == 0 ? kKnown[below(5)] : real(rng_)); };
    std::vector<float> words(count);
    for (float& word : words) word = floatOf(one() | std::uint32_t{one()} << 16);
    return words;
  }

  // Results begin at word 0 of `memory`, e at word `e` and what is read through d at word `d`.
  void agree(const Kernel& kernel, KernelArgs args, const std::vector<float>& memory, std::size_t e, std::size_t d) {
    SCOPED_TRACE(print(kernel, Detail::kFull));
    args.residual = static_cast<std::int64_t>(e * 4);
    agreeInBits(kernel, GetParam(), args, memory, d);
  }

  void readB(Map& m) {
    m.bRow = 4 * below(8);
    if (below(2) == 0) return;  // one for the whole row
    m.b = static_cast<Element>(below(3));
    m.bColumn = elementBytes(m.b);
  }

  bool maps_ = false;  ///< expressions may read b
  std::mt19937 rng_{3};
};

TEST_P(ExpressionCodes, ContractsEndWithThem) {
  const int lanes = isa().lanes();
  const std::vector<float> ones(64, 1.0F), b = numbers(256);
  for (int n = 0; n < 300 && !HasFailure(); ++n) {
    Contract c;
    c.lanes = lanes;
    c.label = "sum";
    c.epilogue = randomExpression();
    c.result = static_cast<Element>(below(3));
    Step step;
    AOperand one;
    const int sums = 1 + below(4);
    for (std::int16_t i = 0; i < sums; ++i) {
      step.b.push_back({4 * lanes * i, {}});
      one.uses.push_back({i, i});
      const auto live = static_cast<std::int16_t>(below(2) == 0 ? 0 : 1 + below(lanes));
      c.accumulators.push_back(
          {static_cast<std::int32_t>(i * lanes * elementBytes(c.result)), {0, live}, 4 * lanes * i});
    }
    step.a.push_back(one);
    c.sections = {{{step}, 0, 0}};
    const std::vector<std::int64_t> list = {1, 0, 0, 1};
    KernelArgs args;
    args.a = ones.data();
    args.b = b.data();
    args.list = list.data();
    args.repeat = 1 + below(3);  // each where the one before was
    args.dRepeat = 4 * below(8);
    agree(c, args, numbers(256), 64, 128);
  }
}

TEST_P(ExpressionCodes, MapsAreThem) {
  const std::vector<float> source = numbers(256), beside = numbers(256);
  int refused = 0;
  maps_ = true;
  for (int n = 0; n < 300 && !HasFailure(); ++n) {
    Map m{.lanes = isa().lanes(), .rows = 1 + below(3), .cols = 1 + below(20), .zeros = below(4) == 0};
    m.label = "map";
    m.f = randomExpression();
    m.from = static_cast<Element>(below(3));
    m.to = static_cast<Element>(below(3));
    m.srcPitch = elementBytes(m.from) * m.cols;
    m.dstPitch = elementBytes(m.to) * m.cols;
    if (below(2) == 0) {
      m.d = static_cast<Element>(below(3));
      m.dColumn = elementBytes(m.d);
    }
    m.dRow = 4 * below(8);
    readB(m);
    if (const auto made = vectorize(m, isa()); !made.ok()) {
      EXPECT_EQ(made.error().code, ErrorCode::kLimitExceeded);
      ++refused;
      continue;
    }
    KernelArgs args;
    args.a = source.data();
    args.b = beside.data();
    args.repeat = 1;
    agree(m, args, numbers(256), 64, 128);
  }
  EXPECT_LT(refused, 30);
}

TEST_P(ExpressionCodes, RowsOfMapsAreCombined) {
  const int lanes = isa().lanes();
  for (int n = 0; n < 300 && !HasFailure(); ++n) {
    const std::int64_t cols = 1 + (below(4) == 0 ? below(30 * lanes) : below(6 * lanes));
    Map m{.lanes = lanes, .rows = 1 + below(5), .cols = cols, .zeros = below(8) == 0};
    m.label = "row";
    m.combine = static_cast<Combine>(1 + below(kCombines - 1));
    do m.f = randomExpression();
    while (m.f.readsE());
    m.from = static_cast<Element>(below(3));
    m.srcPitch = elementBytes(m.from) * (m.cols + below(3));
    m.dstPitch = 4 * (lanes + below(3));
    m.d = static_cast<Element>(below(3));
    m.dColumn = elementBytes(m.d);
    m.dRow = 4 * below(8);
    if (below(2) == 0) {
      m.d = Element::kF32;
      m.dColumn = 0;
    }
    std::vector<float> source = numbers(3000);
    if (n % 10 == 0) {
      m.f = {};
      m.combine = below(2) == 0 ? Combine::kMin : Combine::kMax;
      for (int i = 0; i < 20; ++i)
        source[static_cast<std::size_t>(below(100))] = std::numeric_limits<float>::quiet_NaN();
    }
    if (const auto made = vectorize(m, isa()); !made.ok()) {
      EXPECT_EQ(made.error().code, ErrorCode::kLimitExceeded);
      continue;
    }
    KernelArgs args;
    args.a = source.data();
    args.repeat = 1 + below(2);
    args.aRepeat = 4 * below(30);
    args.cRepeat = m.rows * m.dstPitch;
    agree(m, args, numbers(1024), 0, 256);
  }
}

// The interpreter against sums, minima and maxima that know no chains: of numbers whose sums are exact, and of rows that are NaN here and there.
TEST_P(ExpressionCodes, CombinedRowsAreWhatTheySay) {
  const int lanes = isa().lanes();
  for (const std::int64_t cols : {1, 3, lanes - 1, lanes, lanes + 1, 4 * lanes, 8 * lanes + 5, 20 * lanes + 1}) {
    for (const Combine how : {Combine::kSum, Combine::kMin, Combine::kMax}) {
      std::vector<float> row(static_cast<std::size_t>(cols)), partial(static_cast<std::size_t>(lanes), -7.0F);
      double sum = 0, least = 1e9, most = -1e9;
      for (float& x : row) {
        x = static_cast<float>(below(2001) - 1000);
        sum += double{x} * 2, least = std::min(least, double{x} * 2), most = std::max(most, double{x} * 2);
        if (how != Combine::kSum && cols > 3 && below(5) == 0) x = std::numeric_limits<float>::quiet_NaN();
      }
      if (how != Combine::kSum) {
        least = 1e9, most = -1e9;
        for (const float x : row) {
          if (std::isnan(x)) continue;
          least = std::min(least, double{x} * 2), most = std::max(most, double{x} * 2);
        }
      }
      Map m{.lanes = lanes, .rows = 1, .cols = cols, .srcPitch = 4 * cols, .dstPitch = 4 * lanes};
      m.f.then(Op::kAdd, Value::element(), Value::element());
      m.combine = how;
      KernelArgs args;
      args.a = row.data();
      args.c = partial.data();
      args.repeat = 1;
      interpret(Kernel(m), args);
      float result = 0;
      LaneReduce across{.lanes = lanes, .rows = 1, .srcPitch = 4 * lanes, .combine = how};
      args.a = partial.data();
      args.c = &result;
      interpret(Kernel(across), args);
      EXPECT_EQ(result, how == Combine::kSum   ? sum
                        : how == Combine::kMin ? least
                                               : most)
          << toString(how) << " of " << cols;
    }
  }
}

TEST_P(ExpressionCodes, ChoicesAreMadeWhereNothingIsANumber) {
  const std::vector<float> source = numbers(128);
  Expression kept, passed, cut;
  kept.then(Op::kSelectLe0, Value::d(), Value::constant(0), Value::element());
  passed.then(Op::kSelectGt0, Value::d(), Value::element(),
              passed.then(Op::kMul, Value::constant(0.25F), Value::element()));
  cut.then(Op::kSelectGt0, Value::d(), Value::element(), Value::constant(0));
  for (int n = 0; n < 200 && !HasFailure(); ++n) {
    Map m{.lanes = isa().lanes(), .rows = 1, .cols = 1 + below(60)};
    m.label = "choice";
    m.f = n % 3 == 0 ? kept : n % 3 == 1 ? passed : cut;
    m.from = static_cast<Element>(below(3));
    m.to = static_cast<Element>(below(3));
    m.d = static_cast<Element>(below(3));
    m.dColumn = elementBytes(m.d);
    m.srcPitch = elementBytes(m.from) * m.cols;
    m.dstPitch = elementBytes(m.to) * m.cols;
    KernelArgs args;
    args.a = source.data();
    args.repeat = 1;
    std::vector<float> memory = numbers(256);
    for (std::size_t i = 128; i < memory.size(); ++i) {  // in every type, of both signs
      if (below(8) == 0) memory[i] = floatOf(below(2) == 0 ? 0x7fc07fc0U : 0xffc0ffc0U);
    }
    agree(m, args, memory, 0, 128);
  }
}

TEST_P(ExpressionCodes, MapsOfFunctionsAreThem) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> source;
  for (const float x : {0.0F, 0x1p-149F, 0x1p-126F, 0.3F, 0.7F, 1.0F, 2.5F, 88.0F, 89.5F, 104.0F, 1e30F, kInfinity})
    source.insert(source.end(), {x, -x, x * 1.25F});
  source.push_back(std::numeric_limits<float>::quiet_NaN());
  std::uniform_real_distribution<float> real(-10, 10);
  while (source.size() < 128) source.push_back(real(rng_));
  for (const auto function : {expOf, logOf, sigmoidOf, tanhOf, erfOf, negativeOf}) {
    Map m{.lanes = isa().lanes(), .rows = 1, .cols = 128, .srcPitch = 512, .dstPitch = 512};
    m.label = "function";
    function(m.f, Value::element());
    KernelArgs args;
    args.a = source.data();
    args.repeat = 1;
    agree(m, args, numbers(128), 0, 0);
  }
}

// Results between the largest number and half of the least denormal one; where there is an instruction for it, of any two operands.
TEST_P(ExpressionCodes, ScaleByPowersOfTwo) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<std::pair<float, float>> pairs;
  for (const float x : {0.0F, -0.0F, 1.0F, -1.5F, 0x1.fffffep0F, -0x1.555556p-1F, 0x1.800002p0F})
    for (float y = -160; y <= 130; ++y) pairs.emplace_back(x, y);
  pairs.insert(pairs.end(), {{0x1p127F, -252.0F}, {-0x1p127F, -252.0F}, {0x1p-126F, 254.0F}, {0x1.4p-126F, 253.0F}});
  if (isa().scales()) {
    const float nan = floatOf(0x7fc00001U), negative = floatOf(0xffc00002U);
    for (const float x : {0.0F, -0.0F, 1.25F, -3.0F, 0x1p-149F, -0x1.8p-130F, kInfinity, -kInfinity, nan, negative})
      for (const float y :
           {0.5F, -0.5F, -2.0F, 30.0F, -300.0F, 300.0F, 1e30F, -1e30F, kInfinity, -kInfinity, nan, negative})
        pairs.emplace_back(x, y);
  }
  const auto count = static_cast<std::int64_t>(pairs.size());
  std::vector<float> source(pairs.size()), memory(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) source[i] = pairs[i].first, memory.push_back(pairs[i].second);
  Map m{.lanes = isa().lanes(), .rows = 1, .cols = count, .srcPitch = 4 * count, .dstPitch = 4 * count};
  m.label = "scale";
  m.dColumn = 4;
  m.f.then(Op::kScale, Value::element(), Value::d());
  KernelArgs args;
  args.a = source.data();
  args.repeat = 1;
  agree(m, args, memory, 0, pairs.size());
}

TEST_P(ExpressionCodes, NameWhatTheyLack) {
  constexpr std::size_t kSums = 40;
  Map m{.lanes = isa().lanes(), .rows = 1, .cols = 8, .srcPitch = 32, .dstPitch = 32, .label = "wide"};
  for (std::size_t i = 0; i < kSums; ++i)
    m.f.then(Op::kAdd, Value::element(), Value::constant(static_cast<float>(i + 1)));
  for (std::size_t i = 1; i < kSums; ++i)  // all of them are needed until the last
    m.f.then(Op::kAdd, Value::step(i), Value::step(i == 1 ? 0 : kSums + i - 2));
  const auto made = vectorize(m, isa());
  ASSERT_FALSE(made.ok());
  const std::string there = isa().vectorRegs == 16 ? "11" : "27";
  EXPECT_EQ(made.error().message.find(
                "wide: its expression needs 40 vector registers beside the element's; there are " + there),
            0U)
      << made.error().message;
}

INSTANTIATE_TEST_SUITE_P(Isa, ExpressionCodes,
                         testing::Values(IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kAvx512Bf16),
                         [](const auto& level) { return std::string(toString(level.param)); });

}  // namespace
}  // namespace cubejit
