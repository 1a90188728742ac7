// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of Options::batchInvariant: has each image of a batch the bits in y and dx that it has alone, of every geometry, type, layout, math and
// post-op?
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "cubejit/index_map.h"
#include "runtime/host/aligned_memory.h"
#include "runtime/text/problem_text.h"
#include "runtime/verify/format_tensor.h"
#include "runtime/verify/random_problem.h"
#include "tests/support/layers.h"
#include "tests/support/verify_plan.h"

namespace cubejit {
namespace {

std::size_t bytesOf(const Problem& p, TensorId t) { return static_cast<std::size_t>(formatBytes(p, t)); }

// The tensors of a run; activations in dense formats are images one after the other.
struct Memory {
  std::vector<std::vector<char>> tensors{kTensors};
  Tensors pointers() {
    const auto at = [&](TensorId t) { return tensors[static_cast<std::size_t>(t)].data(); };
    Tensors out;
    out.dy = at(TensorId::kDy), out.w = at(TensorId::kW), out.x = at(TensorId::kX), out.dx = at(TensorId::kDx);
    out.y = at(TensorId::kY), out.b = at(TensorId::kB), out.z = at(TensorId::kZ);
    return out;
  }
};

Status run(Session& session, const Problem& p, Pass pass, Memory& memory) {
  CUBEJIT_TRY(executable, session.compile(p, maskOf(pass)));
  const std::size_t bytes = executable->workspaceBytes();
  const AlignedMemory workspace = alignedMemory(bytes);
  return executable->run(memory.pointers(), workspace.get(), bytes);
}

bool isRead(const Problem& p, Pass pass, TensorId t) { return passesRead(p, maskOf(pass), t); }

// What differs, empty if nothing does.
std::string differenceOf(Session& session, const Problem& p, Pass pass, std::mt19937_64& random) {
  Problem image = p;
  image.batch = 1;
  Memory all, one;
  for (std::size_t i = 0; i < kTensors; ++i) {
    const auto t = static_cast<TensorId>(i);
    if (!isRead(p, pass, t) && t != resultOf(pass)) continue;
    all.tensors[i].resize(bytesOf(p, t));
    one.tensors[i].resize(bytesOf(image, t));
    if (t == resultOf(pass)) continue;
    encodeTensor(p, t, randomReals(random, plainElements(p, t)), all.tensors[i].data());
  }
  if (const Status status = run(session, p, pass, all); !status.ok()) return status.error().message;
  const auto result = static_cast<std::size_t>(resultOf(pass));
  for (std::int64_t n = 0; n < p.batch; ++n) {
    for (std::size_t i = 0; i < kTensors; ++i) {
      const bool ofImage = isActivation(static_cast<TensorId>(i)) && i != result;
      const std::size_t bytes = one.tensors[i].size();
      if (bytes > 0 && i != result)
        std::memcpy(one.tensors[i].data(), all.tensors[i].data() + (ofImage ? static_cast<std::size_t>(n) * bytes : 0),
                    bytes);
    }
    if (const Status status = run(session, image, pass, one); !status.ok()) return status.error().message;
    const std::size_t bytes = one.tensors[result].size();
    if (std::memcmp(one.tensors[result].data(), all.tensors[result].data() + static_cast<std::size_t>(n) * bytes,
                    bytes) != 0)
      return "image " + std::to_string(n) + " has other bits alone";
  }
  return {};
}

TEST(BatchInvariance, ImagesHaveTheBitsThatTheyHaveAlone) {
  for (const IsaLevel level : runnableIsas()) {
    Options options = eagerOptions(level);
    options.batchInvariant = true;
    Session session(options);
    std::mt19937_64 random(76);
    for (int i = 0; i < 150; ++i) {
      Problem p = randomProblem(random, 1e5);
      if (i % 3 == 1) fitRelaxedMath(random, p);
      p.dtype = i % 4 == 1 ? DType::kBf16 : i % 4 == 3 ? DType::kF16 : DType::kF32;
      p.layout = i % 5 == 1 ? Layout::kNdc1hwc0 : i % 2 == 0 ? Layout::kNdhwc : Layout::kNcdhw;
      if (i % 7 == 2) p.math = MathMode::kBf16;
      if (i % 2 == 0) randomPostOps(random, p);
      p.batch = 2 + static_cast<std::int64_t>(random() % 20);
      for (const Pass pass : {Pass::kY, Pass::kDx}) {
        if (pass == Pass::kDx && p.postOps.activation != Activation::kNone) continue;
        EXPECT_EQ(differenceOf(session, p, pass, random), "")
            << "cubejit run --batch-invariant --passes " << toString(pass) << " " << toFlags(p);
      }
    }
  }
}

// The planner has other plans for batches of these, and other bits come of them: the option is what keeps them.
TEST(BatchInvariance, IsNotByChance) {
  Options options = eagerOptions(runnableIsas().empty() ? IsaLevel::kAvx2 : runnableIsas().front());
  if (runnableIsas().empty()) GTEST_SKIP() << "nothing runs here";
  Session session(options);
  std::mt19937_64 random(77);
  int differ = 0;
  for (int i = 0; i < 150; ++i) {
    Problem p = randomProblem(random, 1e5);
    p.batch = 2 + static_cast<std::int64_t>(random() % 20);
    differ += differenceOf(session, p, Pass::kDx, random).empty() ? 0 : 1;
  }
  EXPECT_GT(differ, 0);
}

}  // namespace
}  // namespace cubejit
