// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whether the time-batch-channel operators are the one-dimensional convolution they stand for, and keep their rules.
#include <gtest/gtest.h>

#include "calls.h"
#include "formula.h"

namespace acl_test {
namespace {

struct Tbc {
  Tbc(std::int64_t t, std::int64_t b, std::int64_t cin, std::int64_t cout, std::int64_t k, std::int64_t padding,
      aclDataType type = ACL_FLOAT)
      : pad(padding) {
    const auto make = [&](const Ints& dims) { return std::make_unique<OwnTensor>(dims, type, ACL_FORMAT_ND); };
    dy = make({t + 2 * pad + 1 - k, b, cout}), x = make({t, b, cin}), w = make({k, cin, cout}), bias = make({cout});
    dx = make({t, b, cin}), dw = make({k, cin, cout}), db = make({cout}), y = make(dy->dims());
    const OwnTensor* const all[] = {dy.get(), x.get(), w.get(), bias.get(), dx.get(), dw.get(), db.get()};
    for (std::size_t i = 0; i < 7; ++i) handles[i] = all[i]->handle();
    for (std::size_t i = 0; i < 4; ++i) forward[i] = i < 3 ? handles[i + 1] : y->handle();
  }
  aclnnStatus phaseOne() {
    return aclnnConvTbcBackwardGetWorkspaceSize(handles[0], handles[1], handles[2], handles[3], pad,
                                                static_cast<std::int8_t>(mode), handles[4], handles[5], handles[6],
                                                &bytes, &executor);
  }
  aclnnStatus run() {
    const aclnnStatus first = phaseOne();
    return first != 0 ? first : runPhaseTwo(aclnnConvTbcBackward, bytes, executor, nullptr);
  }
  aclnnStatus forwardPhaseOne() {
    return aclnnConvTbcGetWorkspaceSize(forward[0], forward[1], forward[2], pad, forward[3],
                                        static_cast<std::int8_t>(mode), &bytes, &executor);
  }
  aclnnStatus runForward() {
    const aclnnStatus first = forwardPhaseOne();
    return first != 0 ? first : runPhaseTwo(aclnnConvTbc, bytes, executor, nullptr);
  }

  std::int64_t pad;
  int mode = 0;
  TensorPtr dy, x, w, bias, dx, dw, db, y;
  aclTensor* handles[7] = {};  // of backward
  aclTensor* forward[4] = {};  // self, weight, bias, output
  std::uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
};

std::vector<double> pattern(std::int64_t count, int seed) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>((i * 7 + seed * 5 + i / 3) % 9 - 4));
  return values;
}

TEST(AclTbc, IsTheConvolutionOfPermutedTensors) {
  int seed = 0;
  for (const aclDataType type : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}) {
    for (const auto& [t, images, cin, cout, k, pad] : {std::array<std::int64_t, 6>{9, 2, 3, 4, 3, 1},
                                                       {5, 1, 16, 8, 5, 2},
                                                       {12, 3, 7, 5, 1, 0},
                                                       {4, 2, 1, 1, 4, 0},
                                                       {20, 4, 33, 17, 3, 0}}) {
      Tbc call(t, images, cin, cout, k, pad, type);
      const std::vector<double> dy = pattern(call.dy->elements(), ++seed), x = pattern(call.x->elements(), ++seed),
                                w = pattern(call.w->elements(), ++seed), b = pattern(cout, ++seed);
      call.dy->write(dy), call.x->write(x), call.w->write(w), call.bias->write(b);
      ASSERT_EQ(call.run(), ACLNN_SUCCESS) << message();
      ASSERT_EQ(call.runForward(), ACLNN_SUCCESS) << message();
      // To n, c, l and back.
      const std::int64_t to = t + 2 * pad + 1 - k;
      Geometry g;
      g.x = {images, cin, 1, 1, t}, g.y = {images, cout, 1, 1, to}, g.w = {cout, cin, 1, 1, k};
      g.before = g.after = {0, 0, pad};
      const auto ncl = [](const std::vector<double>& v, std::int64_t l, std::int64_t n, std::int64_t c) {
        std::vector<double> r(v.size());
        for (std::int64_t i = 0; i < l * n * c; ++i)
          r[static_cast<std::size_t>((i / c % n * c + i % c) * l + i / c / n)] = v[static_cast<std::size_t>(i)];
        return r;
      };
      const auto oik = [&](const std::vector<double>& v) {
        std::vector<double> r(v.size());
        for (std::int64_t i = 0; i < k * cin * cout; ++i)
          r[static_cast<std::size_t>((i % cout * cin + i / cout % cin) * k + i / cout / cin)] =
              v[static_cast<std::size_t>(i)];
        return r;
      };
      const Gradients want = formula(g, ncl(dy, to, images, cout), ncl(x, t, images, cin), oik(w));
      const auto rounded = [](const OwnTensor& like, std::vector<double> v) {
        for (double& value : v) value = like.rounded(value);
        return v;
      };
      EXPECT_EQ(ncl(call.dx->read(), t, images, cin), rounded(*call.dx, want.dx));
      EXPECT_EQ(oik(call.dw->read()), rounded(*call.dw, want.dw));
      EXPECT_EQ(call.db->read(), rounded(*call.db, want.db));
      std::vector<double> y = want.y;
      for (std::size_t i = 0; i < y.size(); ++i)
        y[i] += b[i / static_cast<std::size_t>(to) % static_cast<std::size_t>(cout)];
      EXPECT_EQ(ncl(call.y->read(), to, images, cout), rounded(*call.y, y));
      for (const OwnTensor* tensor : {call.dx.get(), call.dw.get(), call.db.get(), call.y.get()})
        EXPECT_EQ(tensor->strayBytes(), 0);
    }
  }
}

TEST(AclTbc, EmptyTensors) {
  Tbc call(5, 0, 3, 2, 3, 1);
  EXPECT_EQ(call.phaseOne(), kInvalid);  // self is empty
  Tbc noInput(5, 2, 0, 2, 3, 1);         // input and weight are
  ASSERT_EQ(noInput.run(), ACLNN_SUCCESS) << message();
  EXPECT_EQ(noInput.db->read(), std::vector<double>(2, 10.0));
}

TEST(AclTbc, ForwardOfNothing) {
  Tbc none(5, 0, 3, 2, 3, 1);
  EXPECT_EQ(none.runForward(), ACLNN_SUCCESS) << message();
  EXPECT_TRUE(none.y->untouched());
  Tbc noInput(5, 2, 0, 2, 3, 1);
  EXPECT_EQ(noInput.runForward(), kInvalid);
  EXPECT_NE(message().find("unless output is"), std::string::npos) << message();
}

TEST(AclTbc, RulesAndCodesOfForward) {
  const auto spoiled = [](std::size_t i, aclTensor* handle) {
    Tbc call(6, 2, 3, 4, 3, 0);
    call.forward[i] = handle;
    return call.forwardPhaseOne();
  };
  const Tbc other(7, 3, 5, 6, 2, 0), half(6, 2, 3, 4, 3, 0, ACL_FLOAT16);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(spoiled(i, nullptr), kNull) << i;
    EXPECT_EQ(spoiled(i, other.forward[i]), kInvalid) << i;
    EXPECT_NE(message().find("aclnnConvTbc, "), std::string::npos) << message();
  }
  const auto codeOn = [](const char* part, aclDataType type, int mode) {
    const OnPart on(part);
    Tbc call(6, 2, 3, 4, 3, 0, type);
    call.mode = mode;
    const aclnnStatus code = call.forwardPhaseOne();
    if (code == 0) aclDestroyAclOpExecutor(call.executor);
    return code;
  };
  for (const char* part : {"Ascend910A", "Ascend310P3", "Ascend910B2", "Ascend950PR_9599"})
    EXPECT_EQ(codeOn(part, ACL_FLOAT16, 0), 0) << part << message();
  EXPECT_EQ(codeOn("Ascend310P3", ACL_FLOAT, 0), kInvalid);
  EXPECT_EQ(codeOn("Ascend310P3", ACL_FLOAT, 1), 0) << message();
  EXPECT_EQ(codeOn("Ascend310B1", ACL_FLOAT16, 0), kInner);
  const OnPart on("Ascend910B2");
  EXPECT_EQ(spoiled(1, half.forward[1]), kInvalid);  // weight's type is self's
  EXPECT_EQ(spoiled(2, half.forward[2]), 0) << message();
}

TEST(AclTbc, RulesAndCodes) {
  for (std::size_t i = 0; i < 7; ++i) {
    Tbc call(6, 2, 3, 4, 3, 0);
    call.handles[i] = nullptr;
    EXPECT_EQ(call.phaseOne(), kNull) << i;
  }
  for (std::size_t i = 0; i < 7; ++i) {
    Tbc call(6, 2, 3, 4, 3, 0), other(7, 3, 5, 6, 2, 0);
    call.handles[i] = other.handles[i];
    EXPECT_EQ(call.phaseOne(), kInvalid) << i;
  }
  Tbc call(6, 2, 3, 4, 3, 0);
  call.pad = -1;
  EXPECT_EQ(call.phaseOne(), kInvalid);
  call.pad = 0, call.mode = 4;
  EXPECT_EQ(call.phaseOne(), kInvalid);
  for (const auto& [part, code] :
       {std::pair{"Ascend910A", kInvalid}, {"Ascend910B2", 0}, {"Ascend950PR_9599", 0}, {"Ascend310P3", kInner}}) {
    const OnPart on(part);
    Tbc one(6, 2, 3, 4, 3, 0);  // FLOAT, kept: not on 910
    EXPECT_EQ(one.phaseOne(), code) << part << message();
    if (code == 0) aclDestroyAclOpExecutor(one.executor);
  }
}

}  // namespace
}  // namespace acl_test
