// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does the caller's flushing of denormals hold in every thread of a call, whoever brings the threads; do its rounding mode and its
// traps change nothing; does everybody have their own environment back?
#include "cubejit/float_mode.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "cubejit/float16.h"
#include "cubejit/index_map.h"
#include "cubejit/machines.h"
#include "runtime/cores/core_threads.h"
#include "runtime/host/aligned_memory.h"
#include "runtime/host/run_together.h"
#include "runtime/host/threads.h"
#include "tests/support/operands.h"

#if defined(__x86_64__)
#include <xmmintrin.h>

namespace cubejit {
namespace {

constexpr unsigned kUsual = 0x1f80, kFlush = 0x8040, kUpward = 0x4000, kTraps = 0x1f80, kInexact = 0x20;

/// The thread's MXCSR for a while.
class Register {
 public:
  explicit Register(unsigned word) : before_(_mm_getcsr()) { _mm_setcsr(word); }
  ~Register() { _mm_setcsr(before_); }
  Register(const Register&) = delete;
  Register& operator=(const Register&) = delete;

 private:
  const unsigned before_;
};

/// What a body finds, but for flags.
unsigned found() { return _mm_getcsr() & ~0x3fU; }

// Threads with environments of their own, which must be left as they were.
struct ForeignThreads {
  std::atomic<int> spoiled{0};
  ParallelFor pool() {
    return {[](void* user, int count, void (*body)(void*, int), void* context) {
              std::vector<std::thread> team;
              for (int i = 0; i < count; ++i) {
                team.emplace_back([=] {
                  const unsigned own = i % 2 == 0 ? kUsual | kUpward | kInexact : kUsual | kFlush;
                  _mm_setcsr(own);
                  body(context, i);
                  if (_mm_getcsr() != own) ++static_cast<ForeignThreads*>(user)->spoiled;
                });
              }
              for (std::thread& thread : team) thread.join();
            },
            this};
  }
};

struct SeenMode {
  explicit SeenMode(int slots) : words(static_cast<std::size_t>(slots)) {}
  std::vector<unsigned> words;
  static void look(void* context, int slot) {
    static_cast<SeenMode*>(context)->words[static_cast<std::size_t>(slot)] = found();
    volatile float tiny = 1e-30F;
    tiny = tiny * tiny / 3.0F;  // raises flags
  }
};

TEST(FloatMode, IsTheCallersFlushingAndElseTheUsual) {
  for (const unsigned flush : {0U, 0x40U, 0x8000U, kFlush}) {
    for (const unsigned word : {kUsual, kUsual | kUpward, kUsual & ~kTraps, kUsual | 0x6000U | kInexact}) {
      const Register caller(word | flush);
      {
        const FloatScope environment;
        EXPECT_EQ(found(), kUsual | flush);
        volatile float tiny = 1e-30F;
        tiny = tiny * tiny;
      }
      EXPECT_EQ(_mm_getcsr(), word | flush);
    }
  }
}

TEST(FloatMode, EverySlotAndCoreHasThatOfTheCall) {
  ForeignThreads foreign;
  for (const unsigned flush : {0U, kFlush, 0U}) {  // pools remember: what was must not stay
    for (const int slots : {1, 2, 8}) {
      for (const ParallelFor& pool : {ParallelFor{}, foreign.pool()}) {
        const Register caller(kUsual | flush | kUpward);
        SeenMode seen(slots);
        runSlots(pool, false, slots, SeenMode::look, &seen);
        EXPECT_EQ(_mm_getcsr(), kUsual | flush | kUpward);
        for (const unsigned word : seen.words) EXPECT_EQ(word, kUsual | flush) << slots;
      }
      const Register caller(kUsual | flush | kUpward);
      SeenMode cores(slots), together(slots);
      runCoreThreads(slots, slots, SeenMode::look, &cores);
      runTogether(slots, [](int) { return 0; }, [&](int index, int) { SeenMode::look(&together, index); });
      for (const unsigned word : cores.words) EXPECT_EQ(word, kUsual | flush) << slots;
      for (const unsigned word : together.words) EXPECT_EQ(word, kUsual | flush) << slots;
    }
  }
  EXPECT_EQ(foreign.spoiled, 0);
}

// Small integers times `scale`, in the element type.
std::vector<char> filled(const Problem& p, TensorId t, float scale, int seed) {
  const DType type = formatOf(p, t).dtype;
  std::vector<char> bytes(static_cast<std::size_t>(formatBytes(p, t)));
  for (std::size_t i = 0; i * static_cast<std::size_t>(byteSize(type)) < bytes.size(); ++i) {
    const float value = (static_cast<float>((i * static_cast<std::size_t>(seed) + i / 11) % 7) - 3.0F) * scale;
    const std::uint16_t half = type == DType::kF16 ? floatToF16(value) : floatToBf16(value);
    if (byteSize(type) == 2)
      std::memcpy(bytes.data() + 2 * i, &half, 2);
    else
      std::memcpy(bytes.data() + 4 * i, &value, 4);
  }
  return bytes;
}

// All results of one call: operands that are `tiny` meet others that are not.
class Results {
 public:
  /// y and dx of tiny weights, or else dw and db of a tiny dy.
  Results(const Problem& p, bool weights)
      : dy_(filled(p, TensorId::kDy, weights ? 1.0F : tinyOf(p), 3)),
        x_(filled(p, TensorId::kX, 1.0F, 5)),
        w_(filled(p, TensorId::kW, weights ? tinyOf(p) : 1.0F, 3)),
        first_(static_cast<std::size_t>(formatBytes(p, weights ? TensorId::kY : TensorId::kDw)), '\x7f'),
        second_(static_cast<std::size_t>(formatBytes(p, weights ? TensorId::kDx : TensorId::kDb)), '\x7f'),
        weights_(weights) {}
  static PassMask passes(bool weights) {
    PassMask mask;
    for (const Pass pass : {weights ? Pass::kY : Pass::kDw, weights ? Pass::kDx : Pass::kDb}) mask.add(pass);
    return mask;
  }
  Status run(const Executable& executable, int threads) {
    Tensors t;
    t.dy = dy_.data(), t.x = x_.data(), t.w = w_.data();
    (weights_ ? t.y : t.dw) = first_.data();
    (weights_ ? t.dx : t.db) = second_.data();
    AlignedMemory packed;
    if (const std::size_t bytes = executable.packedWeightsBytes(); bytes > 0) {
      packed = alignedMemory(bytes);
      const Status done = executable.packWeights(t.w, packed.get(), bytes, threads);
      if (!done.ok()) return done;
      t.packedW = packed.get();
    }
    const std::size_t bytes = executable.workspaceBytes(threads);
    return executable.run(t, alignedMemory(bytes).get(), bytes, threads);
  }
  std::string bytes() const {
    return std::string(first_.data(), first_.size()) + std::string(second_.data(), second_.size());
  }
  bool zero() const {
    for (const char byte : bytes()) {
      if ((byte & 0x7f) != 0) return false;  // signs aside, which no other byte of a small number has alone
    }
    return true;
  }

 private:
  static float tinyOf(const Problem& p) { return p.dtype == DType::kF16 ? 1e-6F : 1e-39F; }
  std::vector<char> dy_, x_, w_, first_, second_;
  bool weights_;
};

std::string resultsOf(const Problem& p, bool weights, const Options& options, int threads, unsigned word,
                      WeightsUse use = WeightsUse::kEachRun) {
  Results results(p, weights);
  const Register caller(word);
  Session session(options);
  const auto executable = session.compile(p, Results::passes(weights), use);
  EXPECT_TRUE(executable.ok()) << (executable.ok() ? "" : executable.error().message);
  if (!executable.ok()) return {};
  const Status done = results.run(**executable, threads);
  EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
  EXPECT_EQ(_mm_getcsr(), word) << "the caller's environment";
  const bool flushes = (word & kFlush) == kFlush && p.dtype != DType::kF16;  // f16's denormals are none of f32's
  const bool keeps = (word & kFlush) == 0 && p.dtype == DType::kF32;         // bf16's dot products flush by themselves
  if (flushes || keeps) {
    EXPECT_EQ(results.zero(), flushes);
  }
  return results.bytes();
}

Options threadedOptions(const ParallelFor& pool) {
  Options options;
  options.wakeCycles = 0;
  options.threads = 8;  // cores that plans are for
  options.parallelFor = pool;
  return options;
}

TEST(FloatMode, ThreadsDoNotChangeABit) {
  ForeignThreads foreign;
  for (const DType type : {DType::kF32, DType::kBf16, DType::kF16}) {
    for (const Layout layout : {Layout::kNcdhw, Layout::kNdhwc}) {
      Problem p = squareProblem(2, 33, 17, 19);
      p.dtype = type;
      p.layout = layout;
      for (const bool weights : {true, false}) {
        for (const unsigned flush : {kFlush, 0U}) {
          const std::string want = resultsOf(p, weights, threadedOptions({}), 1, kUsual | flush);
          for (const int threads : {2, 8}) {
            for (const ParallelFor& pool : {ParallelFor{}, foreign.pool()})
              EXPECT_EQ(resultsOf(p, weights, threadedOptions(pool), threads, kUsual | flush) == want, true)
                  << toString(type) << " " << toString(layout) << " " << weights << " " << threads;
          }
          EXPECT_EQ(resultsOf(p, weights, threadedOptions({}), 8, kUsual | flush, WeightsUse::kKept) == want, true);
        }
      }
    }
  }
  EXPECT_EQ(foreign.spoiled, 0);
}

// Costs decide plans, and constants become code: neither may follow the caller's rounding. No trap springs.
TEST(FloatMode, TheCallersRoundingAndTrapsChangeNothing) {
  Problem p = squareProblem(1, 16, 24, 20);
  p.math = MathMode::kRelaxed;
  for (const DType type : {DType::kF32, DType::kBf16}) {
    p.dtype = type;
    for (const bool weights : {true, false}) {
      for (const unsigned flush : {kFlush, 0U}) {
        const std::string want = resultsOf(p, weights, threadedOptions({}), 2, kUsual | flush);
        for (const unsigned word : {kUsual | kUpward, kUsual | 0x2000U, kUsual | 0x6000U, kUsual & ~kTraps})
          EXPECT_EQ(resultsOf(p, weights, threadedOptions({}), 2, word | flush) == want, true) << std::hex << word;
      }
    }
  }
}

TEST(FloatMode, BackendsAgreeBitByBit) {
  for (const DType type : {DType::kF32, DType::kBf16, DType::kF16}) {
    Problem p = squareProblem(1, 5, 9, 7);
    p.dtype = type;
    for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kLeakyRelu}) {
      p.postOps.activation = activation;
      p.postOps.alpha = activation == Activation::kLeakyRelu ? 0.25F : 0.0F;
      for (const IsaLevel isa : runnableIsas()) {
        Options options = threadedOptions({});
        options.isa = isa;
        const std::string want = resultsOf(p, true, options, 1, kUsual | kFlush);
        for (const BackendKind backend : {BackendKind::kInterpreter, BackendKind::kTileInterpreter}) {
          options.backend = backend;
          EXPECT_EQ(resultsOf(p, true, options, 2, kUsual | kFlush) == want, true)
              << toString(backend) << toString(isa);
        }
      }
    }
  }
}

TEST(FloatMode, ChipsFollowItAsWell) {
  Problem p = squareProblem(2, 32, 16, 12);
  p.dtype = DType::kBf16;
  for (const bool weights : {true, false}) {
    for (const unsigned flush : {kFlush, 0U}) {
      Options options = threadedOptions({});
      options.machine = machineByName("ascend910b2").value();
      const std::string want = resultsOf(p, weights, options, 1, kUsual | flush);
      for (const int threads : {2, 8}) EXPECT_EQ(resultsOf(p, weights, options, threads, kUsual | flush) == want, true);
    }
  }
}

TEST(FloatMode, ConversionsFollowItAsWell) {
  const Problem p = squareProblem(2, 32, 16, 40);
  const std::vector<char> x = filled(p, TensorId::kX, 1e-39F, 5);
  TensorFormat to;
  to.dtype = DType::kBf16;
  to.layout = Layout::kNdhwc;
  for (const unsigned flush : {kFlush, 0U}) {
    std::string want;
    for (const int threads : {1, 2, 8}) {
      const Register caller(kUsual | flush | kUpward);
      Session session(threadedOptions({}));
      const auto repacking = session.repack(p, TensorId::kX, to);
      ASSERT_TRUE(repacking.ok()) << repacking.error().message;
      std::string got((*repacking)->targetBytes(), '\x7f');
      ASSERT_TRUE((*repacking)->run(x.data(), got.data(), threads).ok());
      EXPECT_EQ(_mm_getcsr(), kUsual | flush | kUpward);
      if (want.empty()) want = got;
      EXPECT_EQ(got == want, true) << threads;
    }
  }
}

}  // namespace
}  // namespace cubejit
#endif
