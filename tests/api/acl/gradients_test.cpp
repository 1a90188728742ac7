// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whether gradients that come through the C interface are right: thousands of random problems of every geometry, type, mask
// and memory order against the documented formulas; whole numbers, so that results must be equal, and reals with error bounds.
#include <gtest/gtest.h>

#include "random_cases.h"

namespace acl_test {
namespace {

void expectGradients(Call& call, const Gradients& expected) {
  const std::vector<double>* const values[] = {&expected.dx, &expected.dw, &expected.db};
  OwnTensor* const tensors[] = {call.dx.get(), call.dw.get(), call.db.get()};
  for (std::size_t g = 0; g < 3; ++g) {
    if (!call.given.mask[g]) {
      EXPECT_TRUE(tensors[g]->untouched()) << "output " << g << " was not asked for";
      continue;
    }
    const std::vector<double> got = tensors[g]->read();
    ASSERT_EQ(got.size(), values[g]->size());
    int wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) wrong += got[i] != tensors[g]->rounded((*values[g])[i]) ? 1 : 0;
    EXPECT_EQ(wrong, 0) << "of " << got.size() << " elements of output " << g;
    EXPECT_EQ(tensors[g]->strayBytes(), 0) << "output " << g;
  }
}

// Whole numbers are exact in every type, and so are their sums in f32: whatever the mode, results are the rounded exact ones.
void check(Dice& dice, const Random& r, bool strided, bool mixed) {
  Call call(r.call);
  TensorPtr* const tensors[] = {&call.dy, &call.x, &call.w, &call.dx, &call.dw, &call.db};
  for (std::size_t i = 0; i < 6; ++i) {
    const aclDataType type = mixed ? kFloatTypes[dice.in(0, 2)] : r.call.type;
    const Ints dims = (*tensors[i])->dims();
    *tensors[i] = randomTensor(dice, dims, type, formatOfRank(dims.size()), strided);
    call.tensors[i] = (*tensors[i])->handle();
    ASSERT_NE(call.tensors[i], nullptr) << message();
  }
  const std::vector<double> dy = wholeNumbers(dice, call.dy->elements()), x = wholeNumbers(dice, call.x->elements()),
                            w = wholeNumbers(dice, call.w->elements());
  call.dy->write(dy), call.x->write(x), call.w->write(w);
  ASSERT_EQ(call.phaseOne(), ACLNN_SUCCESS) << message();
  ASSERT_EQ(call.phaseTwo(), ACLNN_SUCCESS) << message();
  expectGradients(call, formula(r.geometry, dy, x, w));
}

void many(std::uint64_t seed, int count, bool strided, bool mixed) {
  Dice dice(seed);
  for (int i = 0; i < count && !::testing::Test::HasFailure(); ++i) {
    const Random r = randomCase(dice);
    SCOPED_TRACE(std::to_string(i) + ": " + describe(r));
    check(dice, r, strided, mixed);
  }
}

TEST(AclGradients, RandomDense) { many(1, 1000, false, false); }
TEST(AclGradients, RandomStrided) { many(2, 600, true, false); }
TEST(AclGradients, RandomMixedTypes) { many(3, 600, true, true); }

// One element is all of an operand, which all strides of 0 say, of four axes as well as of five.
TEST(AclGradients, OneElementIsAllOfAnOperand) {
  Dice dice(4);
  for (int i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) {
    const Random r = randomCase(dice);
    SCOPED_TRACE(std::to_string(i) + ": " + describe(r));
    Call call(r.call);
    TensorPtr* const tensors[] = {&call.dy, &call.x, &call.w};
    std::vector<double> values[3];
    for (std::size_t t = 0; t < 3; ++t) {
      const Ints dims = (*tensors[t])->dims();
      if (static_cast<int>(t) == i % 3) {
        *tensors[t] = std::make_unique<OwnTensor>(dims, r.call.type, formatOfRank(dims.size()), Ints(dims.size(), 0));
        call.tensors[t] = (*tensors[t])->handle();
        values[t].assign(static_cast<std::size_t>((*tensors[t])->elements()), 2.0);
      } else {
        values[t] = wholeNumbers(dice, (*tensors[t])->elements());
      }
      (*tensors[t])->write(values[t]);
    }
    ASSERT_EQ(call.phaseOne(), ACLNN_SUCCESS) << message();
    ASSERT_EQ(call.phaseTwo(), ACLNN_SUCCESS) << message();
    expectGradients(call, formula(r.geometry, values[0], values[1], values[2]));
  }
}

// Reals: operands are rounded as the mode says, then sums err by f32's rounding only.
TEST(AclGradients, OperandsAreRoundedAsTheModeSays) {
  struct Row {
    const char* part;
    int mode;
    double (*round)(double);
    bool emulated = false;
  };
  double (*const f16)(double) = [](double v) -> double {
    return cubejit::f16ToFloat(cubejit::floatToF16(static_cast<float>(v)));
  };
  double (*const hf32)(double) = [](double v) -> double { return cubejit::toHf32(static_cast<float>(v), 11); };
  double (*const low)(double) = [](double v) -> double { return cubejit::toHf32(static_cast<float>(v), 10); };
  double (*const keep)(double) = [](double v) -> double { return static_cast<float>(v); };
  const Row rows[] = {{"host", 0, keep},
                      {"host", 1, hf32},
                      {"host", 2, f16},
                      {"host", 3, hf32},
                      {"Ascend910B2", 0, keep},
                      {"Ascend910B2", 1, hf32},
                      {"Ascend910B2", 2, f16},
                      {"Ascend910A", 1, f16},
                      {"Ascend310P3", 2, f16},
                      {"Ascend950PR_9599", 3, low},
                      {"Ascend910B2", 0, keep, true},
                      {"Ascend910B2", 1, hf32, true},
                      {"Ascend910B2", 2, f16, true},
                      {"Ascend910A", 1, f16, true},
                      {"Ascend310P3", 2, f16, true},
                      {"Ascend950PR_9599", 3, low, true}};
  for (const Row& row : rows) {
    const OnPart on(row.part);
    const Emulated emulated(row.emulated);
    Dice dice(7);
    Random r;
    r.geometry.x = {2, 6, 1, 9, 8}, r.geometry.w = {5, 6, 1, 3, 3}, r.geometry.y = {2, 5, 1, 7, 6};
    r.call = simple({2, 6, 9, 8}, {5, 6, 3, 3}, {2, 5, 7, 6});
    r.call.mathType = row.mode;
    Call call(r.call);
    std::vector<double> values[3], rounded[3];
    OwnTensor* const inputs[] = {call.dy.get(), call.x.get(), call.w.get()};
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::int64_t e = 0; e < inputs[i]->elements(); ++e) values[i].push_back(static_cast<float>(dice.real()));
      for (const double v : values[i]) rounded[i].push_back(row.round(v));
      inputs[i]->write(values[i]);
    }
    ForwardCall forward(r.call);
    forward.x->write(values[1]), forward.w->write(values[2]);
    forward.tensors[2] = nullptr;
    ASSERT_EQ(call.phaseOne(), ACLNN_SUCCESS) << message();
    ASSERT_EQ(call.phaseTwo(), ACLNN_SUCCESS) << message();
    ASSERT_EQ(forward.phaseOne(), ACLNN_SUCCESS) << message();
    ASSERT_EQ(forward.phaseTwo(), ACLNN_SUCCESS) << message();
    const Gradients expected = formula(r.geometry, rounded[0], rounded[1], rounded[2]);
    const Gradients plain = formula(r.geometry, values[0], values[1], values[2]);  // the bias gradient is not rounded
    const auto near = [&](const OwnTensor& t, const std::vector<double>& want, const std::vector<double>& size,
                          double n) {
      const std::vector<double> got = t.read();
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(got[i], want[i], (n + 2) * 6e-8 * size[i] + 1e-12)
            << row.part << " mode " << row.mode << (row.emulated ? " emulated" : "");
    };
    near(*call.dx, expected.dx, expected.dxSize, 45);
    near(*call.dw, expected.dw, expected.dwSize, 84);
    near(*call.db, plain.db, plain.dbSize, 84);
    near(*forward.y, expected.y, expected.ySize, 54);
    if (row.round != keep) {  // the bounds can tell one mode from another
      double apart = 0;
      for (std::size_t i = 0; i < plain.dw.size(); ++i) apart = std::max(apart, std::abs(plain.dw[i] - expected.dw[i]));
      EXPECT_GT(apart, 1e-5);
      apart = 0;
      for (std::size_t i = 0; i < plain.y.size(); ++i) apart = std::max(apart, std::abs(plain.y[i] - expected.y[i]));
      EXPECT_GT(apart, 1e-5);
    }
  }
}

TEST(AclGradients, EmptyTensorsGiveZeros) {
  Case c = simple({0, 4, 6, 6}, {4, 4, 3, 3}, {0, 4, 4, 4});
  c.biasSizes = Ints{4};
  Call call(c);
  ASSERT_EQ(call.phaseOne(), ACLNN_SUCCESS) << message();
  EXPECT_EQ(call.workspaceBytes, 0U);
  ASSERT_EQ(call.phaseTwo(), ACLNN_SUCCESS) << message();
  EXPECT_EQ(call.dw->read(), std::vector<double>(144, 0.0));
  EXPECT_EQ(call.db->read(), std::vector<double>(4, 0.0));
  EXPECT_TRUE(call.dx->untouched());
  EXPECT_EQ(call.dw->strayBytes(), 0);
}

TEST(AclGradients, TheDocumentedSampleInOneTwoAndThreeDimensions) {
  const Ints tails[] = {{7}, {7, 7}, {7, 7, 7}};
  for (const Ints& tail : tails) {
    Ints x{2, 2}, w{2, 2};
    x.insert(x.end(), tail.begin(), tail.end());
    w.insert(w.end(), tail.size(), 1);
    Case c = simple(x, w, x);
    c.mathType = 1;
    c.biasSizes = Ints{2};
    Call call(c);
    for (OwnTensor* t : {call.dy.get(), call.x.get(), call.w.get()})
      t->write(std::vector<double>(static_cast<std::size_t>(t->elements()), 1.0));
    ASSERT_EQ(call.phaseOne(), ACLNN_SUCCESS) << message();
    ASSERT_EQ(call.phaseTwo(), ACLNN_SUCCESS) << message();
    const double sum = 2.0 * static_cast<double>(product(tail));
    EXPECT_EQ(call.dx->read(), std::vector<double>(static_cast<std::size_t>(call.dx->elements()), 2.0));
    EXPECT_EQ(call.dw->read(), std::vector<double>(4, sum));
    EXPECT_EQ(call.db->read(), std::vector<double>(2, sum));
  }
}

}  // namespace
}  // namespace acl_test
