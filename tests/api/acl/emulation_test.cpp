// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whether operators on an emulated part give what the host's kernels give: whole numbers, so that every bit must agree, over
// random problems, types, modes, masks and memory orders of each family of parts; and what is said where a part cannot.
#include <gtest/gtest.h>

#include <thread>

#include "random_cases.h"

namespace acl_test {
namespace {

struct Outcome {
  aclnnStatus status = 0;
  std::vector<double> dx, dw, db;
  int stray = 0;
};

// Phases 1 and 2 of a call whose outputs are new.
Outcome outcomeOf(Call& call) {
  Outcome o;
  o.status = call.phaseOne();
  if (o.status == kOk) {
    EXPECT_EQ(call.phaseTwo(), ACLNN_SUCCESS) << message();
  } else {
    EXPECT_TRUE(call.dx->untouched() && call.dw->untouched() && call.db->untouched());
  }
  o.dx = call.dx->read(), o.dw = call.dw->read(), o.db = call.db->read();
  o.stray = call.dx->strayBytes() + call.dw->strayBytes() + call.db->strayBytes();
  return o;
}

// The same problem with the same values on fresh tensors; what is random is drawn from the seed.
Outcome play(std::uint64_t seed, const Random& r) {
  Dice dice(seed);
  const bool strided = dice.oneIn(3), mixed = dice.oneIn(3);
  Call call(r.call);
  TensorPtr* const tensors[] = {&call.dy, &call.x, &call.w, &call.dx, &call.dw, &call.db};
  for (std::size_t i = 0; i < 6; ++i) {
    const aclDataType type = mixed ? kFloatTypes[dice.in(0, 2)] : r.call.type;
    const Ints dims = (*tensors[i])->dims();
    *tensors[i] = randomTensor(dice, dims, type, formatOfRank(dims.size()), strided);
    call.tensors[i] = (*tensors[i])->handle();
  }
  call.dy->write(wholeNumbers(dice, call.dy->elements()));
  call.x->write(wholeNumbers(dice, call.x->elements()));
  call.w->write(wholeNumbers(dice, call.w->elements()));
  return outcomeOf(call);
}

TEST(AclEmulation, ResultsAreTheHostsKernels) {
  for (const char* part : kParts) {
    const OnPart on(part);
    Dice dice(11);
    int computed = 0, refused = 0;
    for (std::uint64_t i = 0; i < 200 && !::testing::Test::HasFailure(); ++i) {
      const Random r = randomCase(dice);
      SCOPED_TRACE(std::string(part) + " " + std::to_string(i) + ": " + describe(r));
      const Outcome host = play(i, r);
      Outcome chip;
      {
        const Emulated emulated;
        chip = play(i, r);
      }
      ASSERT_EQ(chip.status, host.status) << message();
      ++(chip.status == kOk ? computed : refused);
      EXPECT_EQ(chip.dx, host.dx);
      EXPECT_EQ(chip.dw, host.dw);
      EXPECT_EQ(chip.db, host.db);
      EXPECT_EQ(chip.stray, 0);
    }
    EXPECT_GT(computed, 20) << part << " refused " << refused;
  }
}

TEST(AclEmulation, TheDocumentedSample) {
  const OnPart on("Ascend910B2");
  const Emulated emulated;
  Case c = simple({2, 2, 7, 7}, {2, 2, 1, 1}, {2, 2, 7, 7});
  c.mathType = 1;
  Call call(c);
  for (OwnTensor* t : {call.dy.get(), call.x.get(), call.w.get()})
    t->write(std::vector<double>(static_cast<std::size_t>(t->elements()), 1.0));
  const Outcome o = outcomeOf(call);
  EXPECT_EQ(o.dx, std::vector<double>(196, 2.0));
  EXPECT_EQ(o.dw, std::vector<double>(4, 98.0));
  EXPECT_EQ(o.db, std::vector<double>(2, 98.0));
}

// The documents allow any stride of 2D problems; the load unit of these chips takes 63.
TEST(AclEmulation, WhatTheChipCannotDoIsSaid) {
  const OnPart on("Ascend910B2");
  Case c = simple({1, 4, 130, 4}, {4, 4, 1, 1}, {1, 4, 3, 4}, ACL_FLOAT16);
  c.stride = {64, 1};
  EXPECT_EQ(statusOf(c), kOk) << message();
  const Emulated emulated;
  Call call(c);
  EXPECT_EQ(outcomeOf(call).status, kInner);
  EXPECT_NE(message().find("stride.h = 64"), std::string::npos) << message();
  EXPECT_NE(message().find("load unit"), std::string::npos) << message();
  c.mask = {false, false, true};  // a sum needs no load unit
  EXPECT_EQ(statusOf(c), kOk) << message();
}

TEST(AclEmulation, ThereMustBeAPart) {
  const Emulated emulated;
  const Case c = simple({1, 2, 4, 4}, {2, 2, 1, 1}, {1, 2, 4, 4});
  EXPECT_EQ(statusOf(c), ACLNN_ERR_INNER_CREATE_EXECUTOR);
  EXPECT_NE(message().find("CUBEJIT_SOC"), std::string::npos) << message();
  EXPECT_EQ(cubejit_acl_set_emulation(2), ACL_ERROR_INVALID_PARAM);
  EXPECT_STREQ(aclrtGetSocName(), "host");
}

TEST(AclEmulation, EmptyTensorsGiveZeros) {
  const OnPart on("Ascend910B2");
  const Emulated emulated;
  Case c = simple({0, 4, 6, 6}, {4, 4, 3, 3}, {0, 4, 4, 4});
  c.biasSizes = Ints{4};
  Call call(c);
  const Outcome o = outcomeOf(call);
  EXPECT_EQ(o.status, kOk) << message();
  EXPECT_EQ(o.dw, std::vector<double>(144, 0.0));
  EXPECT_EQ(o.db, std::vector<double>(4, 0.0));
}

TEST(AclEmulation, TheTimeBatchChannelOperator) {
  const OnPart on("Ascend910B2");
  const Ints y{9, 2, 4}, x{9, 2, 3}, w{3, 3, 4}, b{4};
  std::vector<double> results[2];
  for (const int emulate : {0, 1}) {
    const Emulated emulated(emulate == 1);
    const auto tensor = [](const Ints& dims) { return std::make_unique<OwnTensor>(dims, ACL_FLOAT16, ACL_FORMAT_ND); };
    const TensorPtr dy = tensor(y), in = tensor(x), weight = tensor(w), bias = tensor(b), dx = tensor(x),
                    dw = tensor(w), db = tensor(b);
    Dice dice(5);
    for (OwnTensor* t : {dy.get(), in.get(), weight.get()}) t->write(wholeNumbers(dice, t->elements()));
    std::uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    ASSERT_EQ(aclnnConvTbcBackwardGetWorkspaceSize(dy->handle(), in->handle(), weight->handle(), bias->handle(), 1, 0,
                                                   dx->handle(), dw->handle(), db->handle(), &bytes, &executor),
              kOk)
        << message();
    void* workspace = nullptr;
    if (bytes > 0) aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    EXPECT_EQ(aclnnConvTbcBackward(workspace, bytes, executor, nullptr), kOk) << message();
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
    if (workspace != nullptr) aclrtFree(workspace);
    for (const OwnTensor* t : {dx.get(), dw.get(), db.get()})
      for (const double v : t->read()) results[emulate].push_back(v);
  }
  EXPECT_EQ(results[1], results[0]);
}

// One remembered shape, two streams: each run has a chip of its own.
TEST(AclEmulation, StreamsRunSideBySide) {
  const OnPart on("Ascend310P3");
  const Emulated emulated;
  const auto work = [] {
    aclrtStream stream = nullptr;
    ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    for (int i = 0; i < 10; ++i) {
      Call call(simple({2, 20, 9, 8}, {18, 20, 3, 3}, {2, 18, 7, 6}, ACL_FLOAT16));
      for (OwnTensor* t : {call.dy.get(), call.x.get(), call.w.get()})
        t->write(std::vector<double>(static_cast<std::size_t>(t->elements()), 1.0));
      ASSERT_EQ(call.phaseOne(), kOk) << message();
      ASSERT_EQ(call.phaseTwo(stream), kOk) << message();
      EXPECT_EQ(call.dw->read(), std::vector<double>(static_cast<std::size_t>(call.dw->elements()), 84.0));
    }
    EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  };
  std::thread other(work);
  work();
  other.join();
}

// The part's rules come first.
TEST(AclEmulation, RulesHoldAsWithout) {
  const OnPart on("Ascend310P3");
  const Emulated emulated;
  EXPECT_EQ(statusOf(simple({1, 2, 4, 4}, {2, 2, 1, 1}, {1, 2, 4, 4}, ACL_FLOAT)), kInvalid);
  EXPECT_EQ(statusOf(simple({1, 2, 4, 4, 4}, {2, 2, 1, 1, 1}, {1, 2, 4, 4, 4}, ACL_FLOAT16)), kInvalid);
}

}  // namespace
}  // namespace acl_test
