// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that conversions of large tensors, which are stored past the caches if the target lies at a vector's alignment, are
// right wherever the target lies and for any number of threads.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "cubejit/cubejit.hpp"
#include "cubejit/index_map.h"
#include "runtime/verify/format_tensor.h"

namespace cubejit {
namespace {

struct Free {
  void operator()(char* p) const { std::free(p); }
};

void converts(const Session& session, Problem from, TensorId t, const TensorFormat& source,
              const TensorFormat& target) {
  SCOPED_TRACE(std::string(toString(source.dtype)) + " " + toString(source.layout) + " to " + toString(target.dtype) +
               " " + toString(target.layout));
  Problem to = from;
  from.formats[static_cast<std::size_t>(t)] = source;
  to.formats[static_cast<std::size_t>(t)] = target;
  const auto repacking = session.repack(from, t, target);
  ASSERT_TRUE(repacking.ok()) << repacking.error().message;
  std::vector<float> plain;
  std::mt19937 random(5);
  for (std::int64_t i = 0; i < plainElements(from, t); ++i)
    plain.push_back(static_cast<float>(static_cast<int>(random() % 201) - 100));  // exact in every type
  std::vector<char> memory(static_cast<std::size_t>(formatBytes(from, t))),
      wanted(static_cast<std::size_t>(formatBytes(to, t)));
  ASSERT_GE(wanted.size(), std::size_t{4} << 20);
  encodeTensor(from, t, plain, memory.data());
  encodeTensor(to, t, plain, wanted.data());
  const std::unique_ptr<char, Free> room(static_cast<char*>(std::aligned_alloc(64, (wanted.size() + 255) / 64 * 64)));
  for (const std::size_t shift : {0, 4, 32}) {
    for (const int threads : {1, 3}) {
      std::memset(room.get(), 0x5a, wanted.size() + 128);
      char* got = room.get() + 64 + shift;
      ASSERT_TRUE((*repacking)->run(memory.data(), got, threads).ok());
      EXPECT_EQ(std::memcmp(got, wanted.data(), wanted.size()), 0) << shift << " bytes off, " << threads << " threads";
      EXPECT_EQ(got[-1], 0x5a) << shift;
      EXPECT_EQ(got[wanted.size()], 0x5a) << shift;
    }
  }
}

TEST(Repacking, LargeTensorsWhereverTheyLie) {
  const Session session;
  Problem p;
  p.batch = 4;
  p.cin = 392;
  p.cout = 328;  // neither fills its blocks
  p.in = p.out = {1, 40, 41};
  p.kernel = {1, 3, 3};
  p.padBefore = p.padAfter = {0, 1, 1};
  for (const DType type : {DType::kF32, DType::kF16}) {
    for (const Layout from : {Layout::kNcdhw, Layout::kNdhwc, Layout::kNdc1hwc0}) {
      for (const Layout to : {Layout::kNcdhw, Layout::kNdhwc, Layout::kNdc1hwc0}) {
        if (from == to) continue;
        converts(session, p, TensorId::kX, {type, from, {}}, {type, to, {}});
      }
    }
    Problem wide = p;
    wide.cin = 984;
    wide.cout = 840;
    converts(session, wide, TensorId::kW, {type, Layout::kNcdhw, {}}, {type, Layout::kFractalZ3d, {}});
    converts(session, wide, TensorId::kW, {type, Layout::kFractalZ3d, {}}, {type, Layout::kNcdhw, {}});
  }
  converts(session, p, TensorId::kX, {DType::kF16, Layout::kNdhwc, {}}, {DType::kF32, Layout::kNdhwc, {}});
}

TEST(Repacking, ThreadsAreNotNegative) {
  const Session session;
  const auto repacking = session.repack(Problem{}, TensorId::kX, {DType::kF16, Layout::kNcdhw, {}});
  ASSERT_TRUE(repacking.ok()) << repacking.error().message;
  float from = 3;
  std::uint16_t to = 0;
  const Status refused = (*repacking)->run(&from, &to, -5);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("threads = -5 must be at least 0"), std::string::npos);
  EXPECT_EQ(to, 0);
  EXPECT_TRUE((*repacking)->run(&from, &to).ok());
  EXPECT_NE(to, 0);
}

}  // namespace
}  // namespace cubejit
