// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whether the time-batch-channel operator is the one-dimensional convolution it stands for, and keeps its rules.
#include <gtest/gtest.h>

#include "calls.h"
#include "formula.h"

namespace acl_test {
namespace {

constexpr int kNull = ACLNN_ERR_PARAM_NULLPTR, kInvalid = ACLNN_ERR_PARAM_INVALID, kInner = ACLNN_ERR_INNER_NULLPTR;

struct Tbc {
  Tbc(std::int64_t t, std::int64_t b, std::int64_t cin, std::int64_t cout, std::int64_t k, std::int64_t padding,
      aclDataType type = ACL_FLOAT)
      : pad(padding) {
    const auto make = [&](const Ints& dims) { return std::make_unique<OwnTensor>(dims, type, ACL_FORMAT_ND); };
    dy = make({t + 2 * pad + 1 - k, b, cout}), x = make({t, b, cin}), w = make({k, cin, cout}), bias = make({cout});
    dx = make({t, b, cin}), dw = make({k, cin, cout}), db = make({cout});
    const OwnTensor* const all[] = {dy.get(), x.get(), w.get(), bias.get(), dx.get(), dw.get(), db.get()};
    for (std::size_t i = 0; i < 7; ++i) handles[i] = all[i]->handle();
  }
  aclnnStatus phaseOne() {
    return aclnnConvTbcBackwardGetWorkspaceSize(handles[0], handles[1], handles[2], handles[3], pad,
                                                static_cast<std::int8_t>(mode), handles[4], handles[5], handles[6],
                                                &bytes, &executor);
  }
  aclnnStatus run() {
    const aclnnStatus first = phaseOne();
    if (first != 0) return first;
    void* workspace = nullptr;
    if (bytes > 0) aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    const aclnnStatus second = aclnnConvTbcBackward(workspace, bytes, executor, nullptr);
    const aclError done = aclrtSynchronizeStream(nullptr);
    if (workspace != nullptr) aclrtFree(workspace);
    return second != 0 ? second : done;
  }

  std::int64_t pad;
  int mode = 0;
  TensorPtr dy, x, w, bias, dx, dw, db;
  aclTensor* handles[7] = {};
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
    for (const auto& [t, b, cin, cout, k, pad] : {std::array<std::int64_t, 6>{9, 2, 3, 4, 3, 1},
                                                  {5, 1, 16, 8, 5, 2},
                                                  {12, 3, 7, 5, 1, 0},
                                                  {4, 2, 1, 1, 4, 0},
                                                  {20, 4, 33, 17, 3, 0}}) {
      Tbc call(t, b, cin, cout, k, pad, type);
      const std::vector<double> dy = pattern(call.dy->elements(), ++seed), x = pattern(call.x->elements(), ++seed),
                                w = pattern(call.w->elements(), ++seed);
      call.dy->write(dy), call.x->write(x), call.w->write(w);
      ASSERT_EQ(call.run(), ACLNN_SUCCESS) << message();
      // To n, c, l and back.
      const std::int64_t to = t + 2 * pad + 1 - k;
      Geometry g;
      g.x = {b, cin, 1, 1, t}, g.y = {b, cout, 1, 1, to}, g.w = {cout, cin, 1, 1, k};
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
      const Gradients want = formula(g, ncl(dy, to, b, cout), ncl(x, t, b, cin), oik(w));
      const auto rounded = [](const OwnTensor& like, std::vector<double> v) {
        for (double& value : v) value = like.rounded(value);
        return v;
      };
      EXPECT_EQ(ncl(call.dx->read(), t, b, cin), rounded(*call.dx, want.dx));
      EXPECT_EQ(oik(call.dw->read()), rounded(*call.dw, want.dw));
      EXPECT_EQ(call.db->read(), rounded(*call.db, want.db));
      for (const OwnTensor* tensor : {call.dx.get(), call.dw.get(), call.db.get()}) EXPECT_EQ(tensor->strayBytes(), 0);
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
