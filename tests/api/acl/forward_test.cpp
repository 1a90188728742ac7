// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whether forward that comes through the C interface is right: random problems of every geometry, type and memory order, with
// and without a bias, on the host's kernels and on emulated parts; its rules and codes.
#include <gtest/gtest.h>

#include <functional>

#include "random_cases.h"

namespace acl_test {
namespace {

using Types = std::vector<aclDataType>;
const Types kOneType, kMixed{ACL_FLOAT, ACL_FLOAT16, ACL_BF16},
    kAllTypes{ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_HIFLOAT8, ACL_FLOAT8_E4M3FN};

// Runs the problem on new tensors; what is random is drawn from the seed. Whole numbers are exact in every type, and so are their sums
// in f32: whatever the mode, y is the rounded exact one.
aclnnStatus play(std::uint64_t seed, const Random& r, const Types& types, bool strided) {
  Dice dice(seed);
  Case c = r.call;
  if (!c.transposed && dice.oneIn(2))
    c.outputPadding = Ints(static_cast<std::size_t>(dice.in(0, 4)), 7);  // is not read
  ForwardCall call(c);
  TensorPtr* const tensors[] = {&call.x, &call.w, &call.bias, &call.y};
  for (TensorPtr* const t : tensors) {
    const aclDataType type =
        types.empty() ? c.type
                      : types[static_cast<std::size_t>(dice.in(0, static_cast<std::int64_t>(types.size()) - 1))];
    const Ints dims = (*t)->dims();
    *t = randomTensor(dice, dims, type, formatOfRank(dims.size()), strided);
  }
  call.take();
  const bool biased = !dice.oneIn(3);
  if (!biased) call.tensors[2] = nullptr;
  const std::vector<double> x = wholeNumbers(dice, call.x->elements()), w = wholeNumbers(dice, call.w->elements()),
                            bias = wholeNumbers(dice, call.bias->elements());
  call.x->write(x), call.w->write(w), call.bias->write(bias);
  const aclnnStatus status = call.phaseOne();
  if (status != kOk) {
    EXPECT_TRUE(call.y->untouched());
    return status;
  }
  EXPECT_EQ(call.phaseTwo(), kOk) << message();
  std::vector<double> want =
      formula(r.geometry, std::vector<double>(static_cast<std::size_t>(call.y->elements())), x, w).y;
  const std::int64_t plane = r.geometry.y[2] * r.geometry.y[3] * r.geometry.y[4];
  for (std::int64_t i = 0; i < call.y->elements(); ++i) {
    double& value = want[static_cast<std::size_t>(i)];
    value = call.y->rounded(value + (biased ? bias[static_cast<std::size_t>(i / plane % r.geometry.y[1])] : 0));
  }
  const std::vector<double> got = call.y->read();
  int wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) wrong += got[i] != want[i] ? 1 : 0;
  EXPECT_EQ(wrong, 0) << "of " << got.size() << (biased ? ", with a bias" : "");
  EXPECT_EQ(call.y->strayBytes(), 0);
  return status;
}

void many(std::uint64_t seed, std::uint64_t count, const Types& types, bool strided) {
  Dice dice(seed);
  for (std::uint64_t i = 0; i < count && !::testing::Test::HasFailure(); ++i) {
    const Random r = randomCase(dice);
    SCOPED_TRACE(std::to_string(i) + ": " + describe(r));
    ASSERT_EQ(play(i, r, types, strided), kOk) << message();
  }
}

TEST(AclForward, RandomDense) { many(21, 600, kOneType, false); }
TEST(AclForward, RandomStrided) { many(22, 400, kOneType, true); }
TEST(AclForward, RandomMixedTypes) { many(23, 400, kMixed, true); }
TEST(AclForward, RandomEightBitTypesToo) { many(24, 300, kAllTypes, true); }

TEST(AclForward, EmulatedPartsGiveTheSame) {
  for (const char* part : kParts) {
    const OnPart on(part);
    Dice dice(25);
    int computed = 0, refused = 0;
    for (std::uint64_t i = 0; i < 120 && !::testing::Test::HasFailure(); ++i) {
      const Random r = randomCase(dice);
      SCOPED_TRACE(std::string(part) + " " + std::to_string(i) + ": " + describe(r));
      const Types& types = dice.oneIn(2) ? kOneType : kMixed;
      const aclnnStatus host = play(i, r, types, false);
      const Emulated emulated;
      ASSERT_EQ(play(i, r, types, false), host) << message();
      ++(host == kOk ? computed : refused);
    }
    EXPECT_GT(computed, 15) << part << " refused " << refused;
  }
}

// 2049 is no FLOAT16 number: a sum that is rounded before the bias is added is 2048, and so is y.
TEST(AclForward, YIsRoundedOnceBehindTheBias) {
  for (const aclDataType biasType : {ACL_FLOAT16, ACL_FLOAT, ACL_BF16}) {
    for (const bool emulate : {false, true}) {
      const OnPart on(kA2);
      const Emulated emulated(emulate);
      Case c = simple({1, 2, 1, 3}, {1, 2, 1, 1}, {1, 1, 1, 3}, ACL_FLOAT16);
      c.biasType = biasType;
      ForwardCall call(c);
      call.x->write({2048, 2048, 2048, 1, 1, 1});
      call.w->write({1, 1});
      call.bias->write({0.5});
      ASSERT_EQ(call.phaseOne(), kOk) << message();
      ASSERT_EQ(call.phaseTwo(), kOk) << message();
      EXPECT_EQ(call.y->read(), std::vector<double>(3, 2050.0)) << biasType << emulate;
    }
  }
}

Case usual(aclDataType type = ACL_FLOAT16) { return simple({1, 4, 6, 6}, {8, 4, 3, 3}, {1, 8, 4, 4}, type); }

void expectForward(const char* part, const Case& c, int code, const std::string& says = "") {
  const OnPart on(part);
  ForwardCall call(c);
  EXPECT_EQ(call.phaseOne(), code) << part << ": " << message();
  if (code != kOk && !says.empty()) {
    EXPECT_NE(message().find(says), std::string::npos) << message();
  }
}

TEST(AclForward, NullArgumentsAndLengths) {
  for (const char* part : {k910, k310p, kA2, k950, kHost}) {
    const OnPart on(part);
    SCOPED_TRACE(part);
    for (std::size_t i = 0; i < 4; ++i) {
      ForwardCall call(usual());
      call.tensors[i] = nullptr;
      EXPECT_EQ(call.phaseOne(), i == 2 ? kOk : kNull) << i;  // a bias may be missing
      ForwardCall attribute(usual());
      attribute.arrays[i] = nullptr;
      EXPECT_EQ(attribute.phaseOne(), kNull) << i;
      ForwardCall dead(usual());
      TensorPtr* const tensors[] = {&dead.x, &dead.w, &dead.bias, &dead.y};
      tensors[i]->reset();
      EXPECT_EQ(dead.phaseOne(), kInvalid) << i;
    }
    for (const Ints& values : {Ints{}, Ints{1}, Ints{1, 1, 1}}) {
      expectForward(part, with(usual(), [&](Case& c) { c.stride = values; }), kInvalid, "stride");
      expectForward(part, with(usual(), [&](Case& c) { c.dilation = values; }), kInvalid, "dilation");
      expectForward(part, with(usual(), [&](Case& c) { c.padding = values; }), kInvalid, "padding");
      expectForward(part, with(usual(), [&](Case& c) { c.outputPadding = values; }), kOk);
      expectForward(part, with(usual(), [&](Case& c) { c.transposed = true, c.outputPadding = values; }), kInvalid,
                    "outputPadding");
    }
  }
  std::uint64_t bytes = 77;
  aclOpExecutor* executor = nullptr;
  EXPECT_EQ(aclnnConvolutionGetWorkspaceSize(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, false, nullptr, 1,
                                             nullptr, 0, &bytes, &executor),
            kNull);
  for (const char* name : {"input", "weight", "stride", "padding", "dilation", "outputPadding", "output"})
    EXPECT_NE(message().find(std::string(name) + ": is null"), std::string::npos) << message();
  EXPECT_EQ(message().find("bias"), std::string::npos) << message();
  EXPECT_EQ(bytes, 77U);
  EXPECT_EQ(executor, nullptr);
}

TEST(AclForward, ShapesFollowFromOneAnother) {
  for (const char* part : {k910, k310p, kA2, k950, kHost}) {
    expectForward(part, usual(), kOk);
    expectForward(part, with(usual(), [](Case& c) { c.y = {1, 8, 4, 5}; }), kInvalid, "W = 5 must be 4");
    expectForward(part, with(usual(), [](Case& c) { c.y = {2, 8, 4, 4}; }), kInvalid, "N = 2");
    expectForward(part, with(usual(), [](Case& c) { c.y = {1, 7, 4, 4}; }), kInvalid, "channels 7");
    expectForward(part, with(usual(), [](Case& c) { c.x = {1, 5, 6, 6}; }), kInvalid, "groups");
    expectForward(part, with(usual(), [](Case& c) { c.groups = 0; }), kInvalid, "groups: 0");
    expectForward(part, with(usual(), [](Case& c) { c.x = {1, 4, 6}; }), kInvalid, "ranks");
    expectForward(part, with(usual(), [](Case& c) { c.padding = {-1, 0}; }), kInvalid, "padding");
    expectForward(part, with(usual(), [](Case& c) { c.dilation = {3, 1}; }), kInvalid, "dilated kernel");
    Case back = simple({1, 4, 5}, {4, 3, 3}, {1, 3, 12}, ACL_FLOAT16);
    back.transposed = true, back.stride = {2}, back.outputPadding = {1};
    expectForward(part, back, kOk);
    expectForward(part, with(back, [](Case& c) { c.outputPadding = {0}; }), kInvalid, "W = 12 must follow");
    expectForward(part, with(back, [](Case& c) { c.outputPadding = {2}, c.y = {1, 3, 13}; }), kInvalid,
                  "outputPadding");
    expectForward(part, with(back, [](Case& c) { c.y = {1, 4, 12}; }), kInvalid, "groups");
  }
  ForwardCall call(usual());
  call.bias = std::make_unique<OwnTensor>(Ints{7}, ACL_FLOAT16, ACL_FORMAT_ND);
  call.take();
  EXPECT_EQ(call.phaseOne(), kInvalid);
  EXPECT_NE(message().find("bias: shape [7] must be [8]"), std::string::npos) << message();
}

TEST(AclForward, TypesAndFormatsOfEachPart) {
  struct Row {
    const char* part;
    aclDataType type;
    int codes[4];
  };
  const int v = kInvalid;
  const Row rows[] = {{k310p, ACL_FLOAT, {v, 0, 0, v}}, {k310p, ACL_BF16, {v, v, v, v}},
                      {k910, ACL_FLOAT, {v, 0, 0, v}},  {k910, ACL_BF16, {v, v, v, v}},
                      {kA2, ACL_FLOAT, {0, 0, 0, 0}},   {kA2, ACL_BF16, {0, 0, 0, 0}},
                      {k950, ACL_FLOAT, {0, 0, 0, 0}},  {kHost, ACL_BF16, {0, 0, 0, 0}}};
  for (const Row& row : rows) {
    for (int mode = -1; mode <= 4; ++mode)
      expectForward(row.part, with(usual(row.type), [&](Case& c) { c.mathType = mode; }),
                    mode < 0 || mode > 3 ? kInvalid : row.codes[mode]);
  }
  expectForward(k310b, usual(), kInner, "310B");
  // A FLOAT bias does not make a FLOAT16 convolution one of FLOAT.
  expectForward(k910, with(usual(), [](Case& c) { c.biasType = ACL_FLOAT; }), kOk);
  expectForward(kA2, with(usual(), [](Case& c) { c.outputType = ACL_INT8; }), kInvalid, "INT8");
  const Case flat = simple({1, 4, 6}, {8, 4, 3}, {1, 8, 4}, ACL_FLOAT16);
  const Case nd = with(flat, [](Case& c) { c.format = ACL_FORMAT_ND; });
  for (const char* part : kParts) {
    expectForward(part, flat, kOk);
    expectForward(part, nd, kInvalid, "format ND");
    expectForward(part, with(usual(), [](Case& c) { c.format = ACL_FORMAT_NHWC; }), kInvalid, "NHWC");
    expectForward(part, usual(ACL_HIFLOAT8), kInvalid, "HIFLOAT8");
  }
  expectForward(kHost, nd, kOk);
  expectForward(kHost, usual(ACL_HIFLOAT8), kOk);
}

TEST(AclForward, NoImagesAreNothing) {
  const Case none = with(usual(), [](Case& c) { c.x[0] = c.y[0] = 0; });
  for (const char* part : {kA2, k950, kHost}) {
    const OnPart on(part);
    ForwardCall call(none);
    ASSERT_EQ(call.phaseOne(), kOk) << message();
    EXPECT_EQ(call.workspaceBytes, 0U);
    EXPECT_EQ(call.phaseTwo(), kOk) << message();
    EXPECT_TRUE(call.y->untouched());
  }
  expectForward(k910, none, kInvalid, "must not be empty");
  expectForward(kHost, with(none, [](Case& c) { c.stride = {0, 1}; }), kInvalid, "stride");
  expectForward(kHost, with(usual(), [](Case& c) { c.x[1] = c.w[1] = 0; }), kInvalid, "must not be empty");
  expectForward(kHost, with(usual(), [](Case& c) { c.w[0] = c.y[1] = 0; }), kInvalid, "must not be empty");
}

// Another tensor's memory, and the bias as the operator's third input.
TEST(AclForward, MemoryAndAddresses) {
  ForwardCall call(simple({2, 4, 6, 6}, {4, 4, 1, 1}, {2, 4, 6, 6}));
  const auto ones = [](OwnTensor& t) { t.write(std::vector<double>(static_cast<std::size_t>(t.elements()), 1.0)); };
  ones(*call.x), ones(*call.w), ones(*call.bias);
  ASSERT_EQ(call.phaseOne(), kOk) << message();
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(call.executor), kOk);
  aclOpExecutor* const executor = call.executor;
  void* other = nullptr;
  ASSERT_EQ(aclrtMalloc(&other, 2 * 4 * 6 * 6 * 4, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  for (int i = 0; i < 4; ++i) static_cast<float*>(other)[i] = 10;
  ASSERT_EQ(aclSetInputTensorAddr(executor, 2, call.tensors[2], other), kOk) << message();
  ASSERT_EQ(call.phaseTwo(), kOk) << message();
  EXPECT_EQ(call.y->read(), std::vector<double>(288, 14.0));
  ASSERT_EQ(aclSetOutputTensorAddr(executor, 0, call.tensors[3], other), kOk) << message();
  void* workspace = nullptr;
  ASSERT_EQ(aclrtMalloc(&workspace, call.workspaceBytes + 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  EXPECT_EQ(aclnnConvolution(workspace, call.workspaceBytes, executor, nullptr), kInvalid);
  EXPECT_NE(message().find("output: shares memory with bias"), std::string::npos) << message();
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), kOk);
  aclrtFree(workspace), aclrtFree(other);
  ForwardCall plain(call.given);
  plain.tensors[2] = nullptr;
  ASSERT_EQ(plain.phaseOne(), kOk) << message();
  EXPECT_EQ(aclSetInputTensorAddr(plain.executor, 2, call.tensors[2], call.bias->data()), kInvalid);
}

}  // namespace
}  // namespace acl_test
