// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whether phase 1 answers with the documented codes: the operator's own published cases, part by part, and the matrix of
// null arguments, lengths and masks.
#include <gtest/gtest.h>

#include <functional>

#include "calls.h"

namespace acl_test {
namespace {

void expectCode(const char* part, const Case& c, int code, const std::string& says = "") {
  const OnPart on(part);
  const aclnnStatus status = statusOf(c);
  EXPECT_EQ(status, code) << part << ": " << message();
  if (status != kOk && !says.empty()) {
    EXPECT_NE(message().find(says), std::string::npos) << message();
  }
}

// x(512,512,7,7) w(2048,512,1,1) dy(512,2048,7,7), with fewer images.
Case wide(aclDataType type, int mathType) {
  Case c = simple({4, 512, 7, 7}, {2048, 512, 1, 1}, {4, 2048, 7, 7}, type);
  c.mathType = mathType;
  c.biasSizes = Ints{2048};
  return c;
}

TEST(AclCodes, Of910) {
  expectCode(k910, wide(ACL_FLOAT16, 0), kOk);
  expectCode(k910, wide(ACL_FLOAT, 1), kOk);
  expectCode(k910, wide(ACL_FLOAT, 2), kOk);
  expectCode(k910, wide(ACL_FLOAT, 0), kInvalid, "cubeMathType");
  expectCode(k910, wide(ACL_FLOAT, 3), kInvalid, "cubeMathType");
  expectCode(k910, wide(ACL_FLOAT16, 3), kOk);
  for (const int mode : {0, 1, 2, 3}) expectCode(k910, wide(ACL_BF16, mode), kInvalid, "BF16");
  const Case flat = simple({16, 16, 16}, {8, 16, 3}, {16, 8, 16}, ACL_FLOAT16, 1);
  expectCode(k910, flat, kOk);
  expectCode(k910, with(flat, [](Case& c) { c.format = ACL_FORMAT_NCHW; }), kInvalid, "NCHW");
  Case empty = simple({16, 16, 0, 16}, {16, 16, 3, 3}, {16, 16, 32, 8}, ACL_FLOAT16);
  empty.stride = empty.padding = empty.dilation = {1, 2};
  empty.biasSizes = Ints{16};
  expectCode(k910, empty, kInvalid, "only N or C");
  const Case deep = simple({1, 16, 4, 4, 4}, {16, 16, 1, 1, 1}, {1, 16, 4, 4, 4}, ACL_FLOAT16);
  expectCode(k910, deep, kInvalid, "3D");
  expectCode(k310p, deep, kInvalid, "3D");
}

TEST(AclCodes, OfA2) {
  for (const char* part : {kA2, kA3}) {
    expectCode(part, wide(ACL_FLOAT, 0), kOk);
    expectCode(part, wide(ACL_FLOAT, 3), kOk);
    expectCode(part, wide(ACL_BF16, 0), kOk);
    const Case deep = simple({2, 64, 7, 7, 7}, {64, 64, 1, 1, 1}, {2, 64, 7, 7, 7}, ACL_BF16);
    expectCode(part, deep, kOk);
    expectCode(part, with(deep, [](Case& c) { c.type = ACL_FLOAT, c.biasSizes = Ints{64}; }), kOk);
    for (const int mode : {2, 3}) expectCode(part, with(deep, [&](Case& c) { c.mathType = mode; }), kOk);
    expectCode(part, with(deep, [](Case& c) { c.type = ACL_FLOAT16, c.mathType = 3; }), kOk);
    expectCode(part, with(deep, [](Case& c) { c.stride = {0, 1, 1}, c.padding = {-1, 0, 0}, c.dilation = {0, 1, 1}; }),
               kInvalid, "padding: [-1, 0, 0]");
    expectCode(part, with(deep, [](Case& c) { c.format = ACL_FORMAT_NDHWC; }), kInvalid, "NDHWC");
    Case strided = simple({1, 16, 11, 10, 10}, {16, 16, 1, 2, 2}, {1, 16, 6, 5, 5}, ACL_FLOAT16);
    strided.stride = {2, 2, 2};
    expectCode(part, strided, kOk);
    Case depthwise = simple({2, 128, 7, 7, 7}, {128, 1, 1, 1, 1}, {2, 128, 7, 7, 7}, ACL_BF16);
    depthwise.groups = 128;
    expectCode(part, depthwise, kOk);
    expectCode(part, with(depthwise, [](Case& c) { c.mask = {false, true, false}, c.gradWeightType = ACL_FLOAT; }),
               kInvalid, "gradWeight");
    expectCode(part,
               with(depthwise, [](Case& c) { c.type = ACL_FLOAT, c.mathType = 2, c.mask = {false, true, false}; }),
               kInvalid, "gradWeight");
    Case groups = simple({1, 32, 10, 10}, {17, 16, 3, 3}, {1, 17, 8, 8});
    groups.groups = 2;
    expectCode(part, groups, kInvalid, "groups");
    expectCode(part, with(groups, [](Case& c) { c.groups = 0; }), kInvalid, "groups: 0");
    expectCode(part, simple({1, 16, 10}, {16, 16, 3}, {1, 16, 10, 10}), kInvalid, "ranks");
    Case rank2 = simple({0, 0}, {16, 16, 3}, {1, 16, 8});
    expectCode(part, rank2, kInvalid, "shape [0, 0]");
    Case noBatch = simple({0, 16, 10, 10}, {16, 16, 3, 3}, {0, 16, 10, 10}, ACL_FLOAT, 1);
    expectCode(part, noBatch, kInvalid, "biasSizes");
    expectCode(part, with(noBatch, [](Case& c) { c.biasSizes = Ints{16}; }), kOk);
    expectCode(part, simple({1, 16, 10, 10}, {16, 16, 3, 3}, {0, 16, 8, 8}), kInvalid, "gradOutput");
    expectCode(part, simple({1, 16, 10, 10}, {0, 16, 3, 3}, {1, 0, 8, 8}), kInvalid);
    Case back = simple({4, 16, 16}, {16, 8, 3}, {4, 8, 16}, ACL_FLOAT16, 1);
    back.transposed = true;
    back.biasSizes = Ints{8};
    expectCode(part, back, kOk);
    back = simple({4, 16, 16, 16}, {16, 16, 3, 3}, {4, 16, 16, 16}, ACL_FLOAT16, 1);
    back.transposed = true;
    expectCode(part, back, kOk);
    back = simple({4, 16, 2, 16, 16}, {16, 16, 1, 3, 3}, {4, 16, 2, 16, 16}, ACL_FLOAT16, 1);
    back.padding = {0, 1, 1}, back.transposed = true;
    expectCode(part, back, kOk);
    Case uneven = simple({1, 16, 4, 14}, {32, 16, 3, 3}, {1, 32, 1, 5});
    uneven.stride = {10, 3}, uneven.padding = {0, 1};
    expectCode(part, uneven, kOk);
    Case four = simple({1, 16, 10, 10}, {16, 16, 3, 3}, {1, 16, 10, 10});
    four.padding = {1, 1, 1, 1}, four.outputPadding = {0, 0, 0, 0};
    expectCode(part, four, kOk);
  }
}

TEST(AclCodes, Of950) {
  Case c = simple({0, 16, 32, 16}, {16, 16, 3, 3}, {0, 16, 32, 8});
  c.stride = c.padding = c.dilation = {1, 2};
  c.biasSizes = Ints{16};
  expectCode(k950, c, kOk);
  Case back = simple({0, 16, 32, 8}, {16, 16, 3, 3}, {0, 16, 32, 16});
  back.stride = back.padding = back.dilation = {1, 2};
  back.biasSizes = Ints{16}, back.transposed = true;
  expectCode(k950, back, kOk);
  back = simple({0, 1, 0, 1, 1}, {1, 1, 0, 1, 1}, {100, 100, 0, 1, 1});
  back.biasSizes = Ints{1}, back.transposed = true;
  expectCode(k950, back, kOk);
  expectCode(k950, simple({1, 16, 10, 10}, {16, 16, 3, 3}, {1, 16, 8, 8}), kOk);
  expectCode(k950,
             with(simple({1, 16, 10, 10}, {16, 16, 3, 3}, {1, 16, 8, 8}), [](Case& n) { n.format = ACL_FORMAT_NHWC; }),
             kInvalid, "NHWC");
  expectCode(k950,
             with(simple({1, 16, 4, 10, 10}, {16, 16, 1, 3, 3}, {1, 16, 4, 8, 8}),
                  [](Case& n) { n.format = ACL_FORMAT_NDHWC; }),
             kInvalid, "NDHWC");
  for (const int mode : {2, 3})
    expectCode(k950,
               with(simple({1, 16, 4, 10, 10}, {16, 16, 1, 3, 3}, {1, 16, 4, 8, 8}, ACL_BF16),
                    [&](Case& n) { n.mathType = mode; }),
               kOk);
  // This part asks for outputs of the inputs' types, others for the higher precision of two.
  const Case mixed = with(simple({1, 16, 10, 10}, {16, 16, 3, 3}, {1, 16, 8, 8}, ACL_BF16),
                          [](Case& n) { n.gradWeightType = ACL_FLOAT; });
  expectCode(k950, mixed, kInvalid, "must be that of weight");
  expectCode(kA2, mixed, kInvalid, "must be BF16, that of the higher precision of weight and gradOutput");
  expectCode(kHost, mixed, kOk);
  // 8-bit types are those of transposed convolutions.
  const Case eight = with(simple({1, 16, 10, 10}, {16, 16, 3, 3}, {1, 16, 8, 8}, ACL_HIFLOAT8),
                          [](Case& n) { n.mask = {true, false, false}; });
  expectCode(k950, eight, kInvalid, "HIFLOAT8");
  expectCode(k950,
             with(simple({1, 16, 8, 8}, {16, 16, 3, 3}, {1, 16, 10, 10}, ACL_HIFLOAT8),
                  [](Case& n) { n.mask = {true, false, false}, n.transposed = true; }),
             kOk);
}

TEST(AclCodes, MathTypesOfEachPart) {
  struct Row {
    const char* part;
    aclDataType type;
    int codes[4];
  };
  const int v = kInvalid;
  const Row rows[] = {
      {k310p, ACL_FLOAT, {v, 0, 0, v}}, {k310p, ACL_FLOAT16, {0, 0, 0, 0}}, {k310p, ACL_BF16, {v, v, v, v}},
      {k910, ACL_FLOAT, {v, 0, 0, v}},  {k910, ACL_FLOAT16, {0, 0, 0, 0}},  {k910, ACL_BF16, {v, v, v, v}},
      {kA2, ACL_FLOAT, {0, 0, 0, 0}},   {kA2, ACL_FLOAT16, {0, 0, 0, 0}},   {kA2, ACL_BF16, {0, 0, 0, 0}},
      {k950, ACL_FLOAT, {0, 0, 0, 0}},  {k950, ACL_FLOAT16, {0, 0, 0, 0}},  {k950, ACL_BF16, {0, 0, 0, 0}},
      {kHost, ACL_FLOAT, {0, 0, 0, 0}}, {kHost, ACL_FLOAT16, {0, 0, 0, 0}}, {kHost, ACL_BF16, {0, 0, 0, 0}}};
  for (const Row& row : rows) {
    for (int mode = -1; mode <= 5; ++mode) {
      Case c = simple({1, 4, 6, 6}, {4, 4, 3, 3}, {1, 4, 4, 4}, row.type);
      c.mathType = mode;
      expectCode(row.part, c, mode < 0 || mode > 3 ? kInvalid : row.codes[mode]);
    }
  }
}

TEST(AclCodes, NullArgumentsAndLengthsForEveryMaskAndPart) {
  const Case c =
      with(simple({1, 4, 6, 6}, {4, 4, 3, 3}, {1, 4, 4, 4}, ACL_FLOAT16), [](Case& n) { n.biasSizes = Ints{4}; });
  for (const char* part : {k310p, k910, kA2, kA3, k950, kHost}) {
    const OnPart on(part);
    for (int bits = 0; bits < 8; ++bits) {
      Case masked = c;
      for (std::size_t i = 0; i < 3; ++i) masked.mask[i] = (bits >> i & 1) != 0;
      SCOPED_TRACE(std::string(part) + ", mask " + std::to_string(bits));
      EXPECT_EQ(statusOf(masked), kOk) << message();
      for (std::size_t i = 0; i < 6; ++i) {  // tensors; outputs only if asked for
        Call call(masked);
        call.tensors[i] = nullptr;
        EXPECT_EQ(call.phaseOne(), i < 3 || masked.mask[i - 3] ? kNull : kOk) << i;
      }
      for (std::size_t i = 0; i < 4; ++i) {
        Call call(masked);
        call.arrays[i] = nullptr;
        EXPECT_EQ(call.phaseOne(), kNull) << i;
      }
      {
        Call call(masked);
        call.bias = nullptr;  // only empty tensors need it
        EXPECT_EQ(call.phaseOne(), kOk);
        Call unmasked(masked);
        unmasked.maskHandle = nullptr;
        EXPECT_EQ(unmasked.phaseOne(), kNull);
      }
      const auto length = [&](Ints Case::* field, const Ints& values) {
        Case changed = masked;
        changed.*field = values;
        return statusOf(changed);
      };
      for (const Ints& values : {Ints{}, Ints{1}, Ints{1, 1, 1}}) {
        EXPECT_EQ(length(&Case::stride, values), kInvalid);
        EXPECT_EQ(length(&Case::dilation, values), kInvalid);
        EXPECT_EQ(length(&Case::padding, values), kInvalid);
        EXPECT_EQ(length(&Case::outputPadding, Ints(values.size(), 0)), kInvalid);
      }
    }
    for (const std::size_t count : {0U, 1U, 2U, 4U}) {
      Case changed = c;
      changed.mask.assign(count, true);
      EXPECT_EQ(statusOf(changed), kNull) << part << count;
    }
  }
}

TEST(AclCodes, OutputsThatAreGivenAreCheckedEvenIfNotAskedFor) {
  Case c = simple({1, 4, 6, 6}, {4, 4, 3, 3}, {1, 4, 4, 4});
  c.mask = {false, false, false};
  expectCode(kHost, c, kOk);
  expectCode(kHost, with(c, [](Case& n) { n.gradInput = Ints{1, 4, 6, 7}; }), kInvalid,
             "gradInput: shape [1, 4, 6, 7]");
  expectCode(kHost, with(c, [](Case& n) { n.gradWeight = Ints{4, 4, 3, 1}; }), kInvalid, "gradWeight");
  expectCode(kHost, with(c, [](Case& n) { n.gradBias = Ints{5}; }), kInvalid, "gradBias");
  expectCode(kHost, with(c, [](Case& n) { n.gradWeightType = ACL_INT8; }), kInvalid, "INT8");
}

TEST(AclCodes, NothingIsFilledThatCannotBe) {
  Case c = simple({0, 1, 4}, {1, 1, 1}, {0, 1, 4}, ACL_HIFLOAT8);
  c.transposed = true, c.mask = {true, false, false}, c.biasSizes = Ints{1};
  expectCode(k950, c, kOk);
  c.gradInput = Ints{0, 1, 4}, c.type = ACL_INT8;
  expectCode(k950, c, kInvalid, "INT8");
  Case bias = simple({0, 4, 6, 6}, {4, 4, 3, 3}, {0, 4, 4, 4});
  bias.biasSizes = Ints{4}, bias.gradBias = Ints{2, 2};
  expectCode(kHost, bias, kInvalid, "gradBias");
  Case huge = simple({0, 4, std::int64_t{1} << 40, 1 << 20}, {4, 4, 1, 1}, {0, 4, std::int64_t{1} << 40, 1 << 20});
  huge.biasSizes = Ints{4};
  expectCode(kHost, huge, kOk);
}

TEST(AclCodes, SizesThatDoNotFollow) {
  const Case flat = simple({1, 4, 6, 6}, {4, 4, 3, 3}, {1, 4, 4, 5});
  expectCode(kHost, flat, kInvalid, "W = 5 must be 4");
  for (const char* part : {k910, kA2, k950}) expectCode(part, with(flat, [](Case& c) { c.mathType = 1; }), kInner);
  const Case deep = simple({1, 4, 6, 6, 6}, {4, 4, 3, 3, 3}, {1, 4, 4, 4, 5});
  for (const char* part : {kA2, k950, kHost}) expectCode(part, deep, kInvalid);
  Case out = simple({1, 4, 5}, {4, 4, 3}, {1, 4, 12});
  out.transposed = true, out.stride = {2}, out.outputPadding = {1};
  expectCode(kA2, out, kOk);
  out.outputPadding = {2};
  expectCode(kA2, out, kInvalid, "outputPadding");
  expectCode(kHost, with(flat, [](Case& c) { c.y = {1, 4, 4, 4}, c.outputPadding = {1, 0}; }), kInvalid,
             "unless transposed");
}

TEST(AclCodes, RangesOfParts) {
  Case steep = simple({1, 2, 1, 65, 65}, {2, 2, 1, 1, 1}, {1, 2, 1, 2, 2});
  steep.stride = {1, 64, 64};
  expectCode(kA2, steep, kInner, "stride");
  expectCode(k950, steep, kOk);
  expectCode(kHost, steep, kOk);
  Case padded = simple({1, 2, 4}, {2, 2, 3}, {1, 2, 514});
  padded.padding = {256};
  expectCode(kA2, padded, kInner, "padding");
  expectCode(kHost, padded, kOk);
  expectCode(k310b, wide(ACL_FLOAT16, 0), kInner, "310B");
  Case multiplier = simple({1, 4, 6, 6}, {2, 1, 3, 3}, {1, 2, 4, 4}, ACL_FLOAT16);
  multiplier.groups = 4;
  expectCode(kA2, multiplier, kInvalid, "groups");
  Case grouped = simple({1, 4, 4, 4, 4}, {4, 2, 1, 1, 1}, {1, 4, 4, 4, 4}, ACL_FLOAT16);
  grouped.groups = 2;
  EXPECT_EQ(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1), ACL_SUCCESS);
  expectCode(k910, grouped, kInvalid, "DETERMINISTIC");
  Case routed = simple({1, 4, 4, 4}, {4, 2, 1, 1}, {1, 4, 4, 4}, ACL_FLOAT16);
  routed.groups = 2, routed.type = ACL_FLOAT, routed.mathType = 2;
  expectCode(kA2, routed, kInner, "gradWeight");
  EXPECT_EQ(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 0), ACL_SUCCESS);
  expectCode(kA2, routed, kOk);
}

// The page's ranges, each at its ends: what is beyond is told with both of them.
TEST(AclCodes, RangesOfThePageAtTheirEnds) {
  constexpr std::int64_t kMost = 2147483646;
  const auto stepped = [](std::size_t rank, std::size_t axis, std::int64_t stride) {
    Case c = rank == 1   ? simple({1, 1, 3}, {1, 1, 1}, {1, 1, 1})
             : rank == 2 ? simple({1, 1, 3, 3}, {1, 1, 1, 1}, {1, 1, 1, 1})
                         : simple({1, 1, 3, 3, 3}, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1});
    c.stride.assign(rank, 3);
    c.stride[axis] = stride;
    return c;
  };
  for (const char* part : {kA2, kA3}) {
    for (const std::size_t rank : {1U, 2U, 3U}) {
      for (std::size_t axis = 0; axis < rank; ++axis) {
        const std::int64_t most = rank == 3 && axis > 0 ? 63 : kMost;
        expectCode(part, stepped(rank, axis, most), kOk);
        expectCode(part, stepped(rank, axis, most + 1), kInner, "must be 1 to " + std::to_string(most));
      }
    }
    for (const std::int64_t extent : {kMost, kMost + 1}) {  // one element seen so many times
      const OnPart on(part);
      Call call(with(simple({1, 1, 1}, {1, 1, 1}, {1, 1, 1}), [](Case& c) { c.mask = {false, false, false}; }));
      OwnTensor one({1, 1, 1}, ACL_FLOAT, ACL_FORMAT_NCL);
      const std::int64_t dims[] = {1, 1, extent}, strides[] = {1, 1, 0}, stored = 1;
      aclTensor* const many = aclCreateTensor(dims, 3, ACL_FLOAT, strides, 0, ACL_FORMAT_NCL, &stored, 1, one.data());
      call.tensors[0] = call.tensors[1] = many;
      call.tensors[3] = call.tensors[4] = call.tensors[5] = nullptr;
      EXPECT_EQ(call.phaseOne(), extent == kMost ? kOk : kInner) << message();
      if (extent > kMost) {
        EXPECT_NE(message().find("input: shape [1, 1, 2147483647] must have extents of 1 to 2147483646"),
                  std::string::npos)
            << message();
      }
      aclDestroyTensor(many);
    }
  }
  for (const char* part : {kHost, k950}) expectCode(part, stepped(1, 0, kMost + 1), kOk);
}

TEST(AclCodes, BiasSizesThatAreGivenAreTheBias) {
  const Case c = simple({1, 4, 6, 6}, {8, 4, 3, 3}, {1, 8, 4, 4}, ACL_FLOAT16);
  Case back = simple({1, 8, 4, 4}, {8, 2, 3, 3}, {1, 4, 6, 6}, ACL_FLOAT16);
  back.transposed = true, back.groups = 2;
  for (const char* part : {k310p, k910, kA2, kA3, k950, kHost}) {
    for (const bool asked : {true, false}) {
      const auto given = [&](Case n, std::optional<Ints> sizes) {
        n.biasSizes = std::move(sizes), n.mask[2] = asked;
        return n;
      };
      expectCode(part, given(c, std::nullopt), kOk);
      expectCode(part, given(c, Ints{8}), kOk);
      for (const Ints& wrong : {Ints{}, Ints{8, 1}, Ints{4, 4}, Ints{4}, Ints{0}, Ints{-8}})
        expectCode(part, given(c, wrong), kInvalid, "must be [8], the weight's first extent");
      expectCode(part, given(back, Ints{4}), kOk);
      for (const Ints& wrong : {Ints{4, 1}, Ints{8}, Ints{2}})
        expectCode(part, given(back, wrong), kInvalid, "must be [4], groups times the weight's second extent");
    }
  }
}

// Types of gradients on all parts but the 950: the higher precision of two; gradBias has gradOutput's type.
TEST(AclCodes, GradientsHaveTheTypeThePageSays) {
  struct Row {
    aclDataType dy, x, w, dx, dw;
  };
  const Row rows[] = {{ACL_FLOAT, ACL_FLOAT, ACL_FLOAT, ACL_FLOAT, ACL_FLOAT},
                      {ACL_FLOAT16, ACL_FLOAT, ACL_FLOAT16, ACL_FLOAT, ACL_FLOAT16},
                      {ACL_FLOAT, ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT, ACL_FLOAT},
                      {ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT, ACL_FLOAT16, ACL_FLOAT},
                      {ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT16}};
  for (const char* part : {k910, k310p, kA2, kA3}) {
    const OnPart on(part);
    for (const Row& row : rows) {
      for (const int changed : {-1, 3, 4, 5}) {
        Case c = simple({1, 4, 6, 6}, {4, 4, 3, 3}, {1, 4, 4, 4});
        c.mathType = 2;
        const aclDataType right[] = {row.dy, row.x, row.w, row.dx, row.dw, row.dy};
        Call call(c);
        TensorPtr* const tensors[] = {&call.dy, &call.x, &call.w, &call.dx, &call.dw, &call.db};
        for (int i = 0; i < 6; ++i) {
          aclDataType type = right[i];
          if (i == changed) type = type == ACL_FLOAT ? ACL_FLOAT16 : ACL_FLOAT;
          const Ints dims = (*tensors[i])->dims();
          *tensors[i] = std::make_unique<OwnTensor>(dims, type, formatOfRank(dims.size()));
          call.tensors[i] = (*tensors[i])->handle();
        }
        EXPECT_EQ(call.phaseOne(), changed < 0 ? kOk : kInvalid) << part << " " << changed << " " << message();
        if (changed >= 0) {
          EXPECT_NE(message().find(std::string("must be ") + (right[changed] == ACL_FLOAT ? "FLOAT," : "FLOAT16,")),
                    std::string::npos)
              << message();
        }
      }
    }
  }
}

TEST(AclCodes, AKernelWithoutExtentIsTheWeightsFault) {
  for (const char* part : {k310p, k910, kA2, kA3, k950, kHost}) {
    for (const bool data : {true, false}) {
      for (const bool transposed : {false, true}) {
        Case c = simple({1, 4, 6, 6}, {4, 4, 0, 3}, {1, 4, 7, 4}, ACL_FLOAT16);
        c.mask = {data, true, false}, c.transposed = transposed;
        expectCode(part, c, kInvalid, "weight: shape [4, 4, 0, 3] must not be empty");
        EXPECT_EQ(message().find("input: shape"), std::string::npos) << message();
      }
    }
  }
}

// Extents nobody has, in attributes anybody can write.
TEST(AclCodes, HugeAttributes) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  const Case c = simple({1, 1, 6, 6}, {1, 1, 3, 3}, {1, 1, 4, 4});
  expectCode(kHost, with(c, [](Case& n) { n.padding = {kHuge, kHuge}; }), kInvalid, "must be 9223372036854775807");
  EXPECT_EQ(message().find("less than the dilated kernel"), std::string::npos) << message();
  expectCode(kHost, with(c, [](Case& n) { n.dilation = {kHuge, kHuge}; }), kInvalid, "less than the dilated kernel");
  expectCode(kHost, with(c, [](Case& n) { n.stride = {kHuge, kHuge}, n.y = {1, 1, 1, 1}; }), kInvalid, "stride.h");
  const std::string text = message();
  for (std::size_t at = 0; at != std::string::npos; at = text.find('\n', at + 1))  // each line is whole
    EXPECT_EQ(text.substr(at + (at > 0 ? 1 : 0), 6), "161002") << text;
  expectCode(kHost, with(c, [](Case& n) { n.groups = INT32_MAX; }), kInvalid, "groups: 2147483647");
}

TEST(AclCodes, EveryBrokenRuleIsNamedWithValueAndDocument) {
  Case c = simple({1, 4, 6, 6}, {4, 4, 3, 3}, {1, 4, 4, 4});
  c.stride = {0, 1}, c.padding = {0, -3}, c.dilation = {0, 0}, c.outputPadding = {1, 0}, c.groups = 0, c.mathType = 7;
  EXPECT_EQ(statusOf(c), kInvalid);
  for (const char* part : {"stride: [0, 1]", "padding: [0, -3]", "dilation: [0, 0]", "outputPadding: [1, 0]",
                           "groups: 0", "cubeMathType: 7", "aclnnConvolutionBackward, stride"})
    EXPECT_NE(message().find(part), std::string::npos) << part << " is missing in\n" << message();
  Call nothing(c);
  std::uint64_t bytes = 77;
  aclOpExecutor* executor = nullptr;
  EXPECT_EQ(
      aclnnConvolutionBackwardGetWorkspaceSize(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, false,
                                               nullptr, 1, nullptr, 0, nullptr, nullptr, nullptr, &bytes, &executor),
      kNull);
  for (const char* name :
       {"gradOutput", "input", "weight", "stride", "padding", "dilation", "outputPadding", "outputMask"})
    EXPECT_NE(message().find(std::string(name) + ": is null"), std::string::npos) << message();
  EXPECT_EQ(bytes, 77U);
  EXPECT_EQ(executor, nullptr);
  Call nowhere(with(c, [](Case& n) { n = simple({1, 4, 6, 6}, {4, 4, 3, 3}, {1, 4, 4, 4}); }));
  EXPECT_EQ(aclnnConvolutionBackwardGetWorkspaceSize(nowhere.tensors[0], nowhere.tensors[1], nowhere.tensors[2],
                                                     nullptr, nowhere.arrays[0], nowhere.arrays[1], nowhere.arrays[2],
                                                     false, nowhere.arrays[3], 1, nowhere.mask, 0, nowhere.tensors[3],
                                                     nowhere.tensors[4], nowhere.tensors[5], nullptr, nullptr),
            kNull);
}

}  // namespace
}  // namespace acl_test
