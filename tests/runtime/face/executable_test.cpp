// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does a run refuse what would be undefined, naming every rule; is it the same for any threads, backend and gradient set?
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "cubejit/kernel_args.h"
#include "runtime/host/aligned_memory.h"
#include "tests/support/operands.h"

namespace cubejit {
namespace {

std::shared_ptr<const Executable> compiled(const Problem& p, PassMask mask = kAllGradients,
                                           const Options& options = {}) {
  Session session(options);
  Result<std::shared_ptr<const Executable>> result = session.compile(p, mask);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? result.value() : nullptr;
}

struct Bench {
  explicit Bench(const Problem& p) : executable(compiled(p)), operands(p) {
    bytes = executable->workspaceBytes(2);
    memory = alignedMemory(bytes + 128);
    workspace = memory.get();
  }
  std::string errorOf(const Tensors& tensors, void* space, std::size_t size) const {
    const Status status = executable->run(tensors, space, size, 2);
    EXPECT_TRUE(status.ok() || status.error().code == ErrorCode::kInvalidProblem);
    EXPECT_TRUE(status.ok() || status.error().stage == Stage::kRun);
    return status.ok() ? "" : status.error().message;
  }
  std::shared_ptr<const Executable> executable;
  Operands operands;
  std::size_t bytes = 0;
  AlignedMemory memory;
  char* workspace = nullptr;
};

TEST(Run, MissingTensorsAreNamedAllAtOnce) {
  Bench bench(squareProblem(1, 4, 6, 5));
  Tensors t = bench.operands.tensors();
  EXPECT_EQ(bench.errorOf(t, bench.workspace, bench.bytes), "");
  t.dy = nullptr;
  t.dw = nullptr;
  const std::string message = bench.errorOf(t, bench.workspace, bench.bytes);
  EXPECT_NE(message.find("dy is null"), std::string::npos) << message;
  EXPECT_NE(message.find("dw is null"), std::string::npos) << message;
  EXPECT_EQ(message.find("dx"), std::string::npos) << message;
}

TEST(Run, OnlyWhatAGradientNeedsMustBeThere) {
  const Problem p = squareProblem(1, 4, 6, 5);
  Operands operands(p);
  const Tensors all = operands.tensors();
  const auto run = [&](PassMask mask, const Tensors& t) {
    const auto executable = compiled(p, mask);
    const AlignedMemory memory = alignedMemory(executable->workspaceBytes(1));
    return executable->run(t, memory.get(), executable->workspaceBytes(1), 1).ok();
  };
  EXPECT_TRUE(run({true, false, false}, Tensors{all.dy, nullptr, all.w, all.dx, nullptr, nullptr}));
  EXPECT_TRUE(run({false, true, false}, Tensors{all.dy, all.x, nullptr, nullptr, all.dw, nullptr}));
  EXPECT_TRUE(run({false, false, true}, Tensors{all.dy, nullptr, nullptr, nullptr, nullptr, all.db}));
  EXPECT_FALSE(run({true, false, false}, Tensors{all.dy, all.x, nullptr, all.dx, nullptr, nullptr}));
}

TEST(Run, WorkspaceTooSmallOrMisaligned) {
  Bench bench(squareProblem(2, 16, 16, 9));
  ASSERT_GT(bench.bytes, 0U);
  const Tensors t = bench.operands.tensors();
  std::string message = bench.errorOf(t, bench.workspace, bench.bytes - 1);
  EXPECT_NE(message.find(std::to_string(bench.bytes)), std::string::npos) << message;
  message = bench.errorOf(t, bench.workspace + 4, bench.bytes);
  EXPECT_NE(message.find("64"), std::string::npos) << message;
  message = bench.errorOf(t, nullptr, 0);
  EXPECT_NE(message.find("workspace is null"), std::string::npos) << message;
}

TEST(Run, NegativeNumbersOfThreadsAreNamedBesideTheOtherRules) {
  Bench bench(squareProblem(2, 16, 16, 9));
  Tensors t = bench.operands.tensors();
  for (const int threads : {-1, -5, std::numeric_limits<int>::min()}) {
    const Status status = bench.executable->run(t, bench.workspace, bench.bytes, threads);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidProblem);
    EXPECT_EQ(status.error().message.rfind("threads = " + std::to_string(threads) + " must be at least 0", 0), 0U)
        << status.error().message;
  }
  t.dy = nullptr;
  const std::string both = bench.executable->run(t, bench.workspace, bench.bytes, -1).error().message;
  EXPECT_NE(both.find("\ndy is null"), std::string::npos) << both;
  EXPECT_EQ(bench.executable->workspaceBytes(-1), bench.executable->workspaceBytes());
}

TEST(Run, OverlapAndMisalignment) {
  Bench bench(squareProblem(1, 8, 8, 6));
  Tensors t = bench.operands.tensors();
  t.dx = const_cast<void*>(t.dy);  // in place
  std::string message = bench.errorOf(t, bench.workspace, bench.bytes);
  EXPECT_NE(message.find("dy and dx overlap"), std::string::npos) << message;
  t = bench.operands.tensors();
  t.db = static_cast<float*>(t.dw) + wElements(bench.executable->problem()) - 1;  // by one element
  message = bench.errorOf(t, bench.workspace, bench.bytes);
  EXPECT_NE(message.find("dw and db overlap"), std::string::npos) << message;
  std::vector<float> together(static_cast<std::size_t>(wElements(bench.executable->problem()) + 8), 0.0F);
  t.db = together.data();  // 8 channels: the other way round, by one element
  t.dw = together.data() + 7;
  message = bench.errorOf(t, bench.workspace, bench.bytes);
  EXPECT_NE(message.find("dw and db overlap"), std::string::npos) << message;
  t.dw = together.data() + 8;
  EXPECT_EQ(bench.errorOf(t, bench.workspace, bench.bytes), "") << "neighbours do not overlap";
  t = bench.operands.tensors();
  t.dx = reinterpret_cast<float*>(bench.workspace);
  message = bench.errorOf(t, bench.workspace, bench.bytes);
  EXPECT_NE(message.find("dx and workspace overlap"), std::string::npos) << message;
  t = bench.operands.tensors();
  t.x = reinterpret_cast<const float*>(reinterpret_cast<const char*>(t.x) + 2);
  message = bench.errorOf(t, bench.workspace, bench.bytes);
  EXPECT_NE(message.find("x is not aligned"), std::string::npos) << message;
  t = bench.operands.tensors();
  t.x = t.dy;  // operands that are only read may be the same memory
  EXPECT_EQ(bench.errorOf(t, bench.workspace, bench.bytes), "");
}

TEST(Run, PackedWeightsAreNoResultsMemory) {
  Session session;
  const Problem p = squareProblem(1, 16, 32, 12);
  const auto executable = *session.compile(p, PassMask{true, true, false}, WeightsUse::kKept);
  const std::size_t bytes = executable->packedWeightsBytes(), needed = executable->workspaceBytes();
  ASSERT_GT(bytes, 0U);
  Operands operands(p);
  const auto packed = alignedMemory(bytes + needed + 4 * static_cast<std::size_t>(xElements(p)));
  const auto workspace = alignedMemory(needed);
  ASSERT_TRUE(executable->packWeights(operands.tensors().w, packed.get(), bytes).ok());
  Tensors t = operands.tensors();
  t.packedW = packed.get();
  EXPECT_TRUE(executable->run(t, workspace.get(), needed).ok());
  t.dx = packed.get();
  Status status = executable->run(t, workspace.get(), needed);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("packedW and dx overlap"), std::string::npos) << status.error().message;
  t = operands.tensors();
  t.packedW = packed.get();
  status = executable->run(t, packed.get(), needed);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("packedW and workspace overlap"), std::string::npos) << status.error().message;
}

TEST(Run, AnErrorWritesNothing) {
  Bench bench(squareProblem(1, 8, 8, 6));
  Tensors t = bench.operands.tensors();
  EXPECT_NE(bench.errorOf(t, bench.workspace, 0), "");
  for (const float value : bench.operands.dx) ASSERT_EQ(value, -77.0F);
  for (const float value : bench.operands.db) ASSERT_EQ(value, -77.0F);
}

TEST(Run, EmptyBatchGivesZeros) {
  const Problem p = squareProblem(0, 4, 6, 5);
  const auto executable = compiled(p);
  ASSERT_NE(executable, nullptr);
  Operands operands(p);
  Tensors t = operands.tensors();
  t.dy = t.x = nullptr;
  t.dx = nullptr;
  const AlignedMemory memory = alignedMemory(executable->workspaceBytes(2));
  const Status status = executable->run(t, memory.get(), executable->workspaceBytes(2), 2);
  ASSERT_TRUE(status.ok()) << status.error().message;
  for (const float value : operands.dw) ASSERT_EQ(value, 0.0F);
  for (const float value : operands.db) ASSERT_EQ(value, 0.0F);
}

void expectSame(const Operands& a, const Operands& b, const std::string& what) {
  EXPECT_EQ(0, std::memcmp(a.dx.data(), b.dx.data(), a.dx.size() * 4)) << what;
  EXPECT_EQ(0, std::memcmp(a.dw.data(), b.dw.data(), a.dw.size() * 4)) << what;
  EXPECT_EQ(0, std::memcmp(a.db.data(), b.db.data(), a.db.size() * 4)) << what;
}

TEST(Run, ThreadsDoNotChangeABit) {
  for (const Layout layout : {Layout::kNdhwc, Layout::kNcdhw}) {
    Problem p = squareProblem(3, 33, 17, 23);
    p.layout = layout;
    const auto executable = compiled(p);
    Operands one(p);
    ASSERT_TRUE(one.run(*executable, 1).ok());
    for (const int threads : {1, 2, 3, 5, 100000}) {
      Operands many(p);
      ASSERT_TRUE(many.run(*executable, threads).ok());
      expectSame(one, many, std::to_string(threads) + " threads");
    }
  }
}

TEST(Run, ManyCallersOneExecutable) {
  const Problem p = squareProblem(2, 16, 24, 17);
  const auto executable = compiled(p);
  Operands want(p);
  ASSERT_TRUE(want.run(*executable, 1).ok());
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 10; ++repeat) {
        Operands mine(p);
        ASSERT_TRUE(mine.run(*executable, 2).ok());
        expectSame(want, mine, "concurrent");
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(Run, BackendsAgreeBitByBit) {
  const Problem p = squareProblem(1, 5, 9, 7);
  for (const IsaLevel isa : runnableIsas()) {
    Options options;
    options.isa = isa;
    Operands want(p);
    ASSERT_TRUE(want.run(*compiled(p, kAllGradients, options), 1).ok());
    for (const BackendKind backend : {BackendKind::kInterpreter, BackendKind::kTileInterpreter}) {
      options.backend = backend;
      Operands got(p);
      ASSERT_TRUE(got.run(*compiled(p, kAllGradients, options), 2).ok());
      expectSame(want, got, std::string(toString(backend)) + " " + toString(isa));
    }
  }
}

TEST(Run, OneGradientIsWhatAllTogetherGive) {
  const Problem p = squareProblem(2, 12, 20, 11);
  Operands all(p), apart(p);
  ASSERT_TRUE(all.run(*compiled(p), 2).ok());
  for (const PassMask mask :
       {PassMask{true, false, false}, PassMask{false, true, false}, PassMask{false, false, true}}) {
    ASSERT_TRUE(apart.run(*compiled(p, mask), 2).ok());
  }
  expectSame(all, apart, "one by one");
}

// Values that HF32 changes.
std::vector<float> thirds(const Problem& p) {
  std::vector<float> dy(static_cast<std::size_t>(yElements(p)));
  for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i + 1) / 3.0F;
  return dy;
}

void runOn(const std::vector<float>& dy, const Problem& p, PassMask mask, Operands& operands) {
  const auto executable = compiled(p, mask);
  const AlignedMemory memory = alignedMemory(executable->workspaceBytes(2));
  Tensors tensors = operands.tensors();
  tensors.dy = dy.data();
  ASSERT_TRUE(executable->run(tensors, memory.get(), executable->workspaceBytes(2), 2).ok());
}

// A conversion of dy that gradients share must round it as each gradient alone does.
TEST(Run, Hf32GradientsTogetherAreThoseOfEachAlone) {
  for (const Layout layout : {Layout::kNcdhw, Layout::kNdhwc}) {
    Problem p = squareProblem(1, 4, 4, 6, 1);
    p.dtype = DType::kHf32;
    p.layout = layout;
    const std::vector<float> dy = thirds(p);
    Operands all(p), apart(p);
    runOn(dy, p, kAllGradients, all);
    for (const PassMask mask :
         {PassMask{true, false, false}, PassMask{false, true, false}, PassMask{false, false, true}})
      runOn(dy, p, mask, apart);
    expectSame(all, apart, toString(layout));
  }
}

// What is multiplied is rounded; db only adds, as the vector units of chips do.
TEST(Run, Hf32RoundsFactorsAndNoSummands) {
  for (const Layout layout : {Layout::kNcdhw, Layout::kNdhwc, Layout::kNdc1hwc0}) {
    for (const bool view : {false, true}) {
      Problem plain = squareProblem(1, 8, 8, 6, 1);
      plain.layout = layout;
      if (view) {
        if (layout == Layout::kNdc1hwc0) continue;
        TensorFormat format = formatOf(plain, TensorId::kDy);
        format.strides = {8 * 36, 36, 36, 1, 6};  // rows and columns turned
        plain.formats[static_cast<std::size_t>(TensorId::kDy)] = format;
      }
      Problem rounded = plain;
      rounded.dtype = DType::kHf32;
      if (view) rounded.formats[static_cast<std::size_t>(TensorId::kDy)]->dtype = DType::kHf32;
      const std::vector<float> dy = thirds(plain);
      Operands of(plain), ofRounded(plain);
      runOn(dy, plain, kAllGradients, of);
      runOn(dy, rounded, kAllGradients, ofRounded);
      // A view that is converted for products may be summed in another order; rounding would change the fourth digit.
      for (std::size_t c = 0; c < of.db.size(); ++c)
        EXPECT_NEAR(of.db[c], ofRounded.db[c], view ? 1e-6 * of.db[c] : 0) << toString(layout) << " " << view;
      EXPECT_NE(of.dx, ofRounded.dx) << toString(layout) << " " << view;
    }
  }
}

TEST(Kernels, AreListedWithBytesAndEntry) {
  const auto executable = compiled(squareProblem(1, 16, 16, 8));
  const std::vector<KernelView> kernels = executable->kernels();
  ASSERT_EQ(static_cast<int>(kernels.size()), executable->times().kernels);
  ASSERT_FALSE(kernels.empty());
  for (const KernelView& k : kernels) {
    EXPECT_FALSE(k.name.empty());
    EXPECT_FALSE(k.vectorProgram.empty());
    ASSERT_FALSE(k.bytes.empty());
    ASSERT_NE(k.entry, nullptr);
    EXPECT_EQ(0, std::memcmp(k.entry, k.bytes.data(), k.bytes.size())) << "the code in memory is the code as emitted";
    if (!k.call.has_value()) continue;
    EXPECT_EQ(k.multiplies, !k.call->list.empty()) << k.name;
    EXPECT_FALSE(k.call->c.buffer.empty()) << k.name;
    EXPECT_LT(k.call->c.offset, k.call->c.bytes) << k.name;
  }
  EXPECT_NE(executable->tileProgram(Pass::kDx), "");
}

TEST(Kernels, InterpretedOnesHaveNoCode) {
  Options options;
  options.backend = BackendKind::kInterpreter;
  for (const KernelView& k : compiled(squareProblem(1, 4, 4, 5), kAllGradients, options)->kernels()) {
    EXPECT_EQ(k.entry, nullptr);
    EXPECT_TRUE(k.bytes.empty());
  }
}

}  // namespace
}  // namespace cubejit
