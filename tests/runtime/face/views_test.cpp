// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of views: are they computed right whatever lies between their elements, where they lie, without copies, and with the bits of a dense
// copy of them?
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cubejit/index_map.h"
#include "runtime/host/aligned_memory.h"
#include "runtime/verify/format_tensor.h"
#include "runtime/verify/random_problem.h"
#include "runtime/verify/verify_problem.h"
#include "tests/support/layers.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

using Strides = std::array<std::int64_t, 5>;

// Strides of an order, outermost axis first, of a tensor that is `wider` along each axis than what is looked at.
Strides ordered(const Strides& extent, const std::array<std::size_t, 5>& order, const Strides& wider,
                std::int64_t step = 1) {
  Strides strides{};
  for (std::size_t i = 5; i-- > 0;) {
    strides[order[i]] = step;
    step *= extent[order[i]] + wider[order[i]];
  }
  return strides;
}

struct ViewKind {
  const char* name;
  bool inPlace;  ///< direct algorithms read it where it lies, or by panels, at no more than the usual cost
  std::function<Strides(const Strides&)> strides;
};

constexpr std::array<std::size_t, 5> kPlain{0, 1, 2, 3, 4}, kLast{0, 2, 3, 4, 1}, kTurned{0, 1, 2, 4, 3};

std::vector<ViewKind> kinds() {
  std::vector<ViewKind> out{
      {"crop", true, [](const Strides& e) { return ordered(e, kPlain, {0, 0, 0, 3, 5}); }},
      {"channels", true, [](const Strides& e) { return ordered(e, kPlain, {0, 4, 0, 0, 0}); }},
      {"channels_last_crop", true, [](const Strides& e) { return ordered(e, kLast, {0, 7, 0, 2, 3}); }},
      {"images", true, [](const Strides& e) { return ordered(e, kLast, {0, 0, 1, 0, 0}); }},
      {"step", false, [](const Strides& e) { return ordered(e, kPlain, {0, 0, 0, 0, 0}, 2); }},
      {"turned", false, [](const Strides& e) { return ordered(e, kTurned, {0, 0, 0, 0, 0}); }},
      {"one_element", false, [](const Strides&) { return Strides{}; }},
  };
  for (std::size_t axis = 0; axis < 5; ++axis) {
    static constexpr const char* kNames[] = {"expanded_n", "expanded_c", "expanded_d", "expanded_h", "expanded_w"};
    out.push_back({kNames[axis], axis != 4, [axis](const Strides& e) {
                     Strides strides = ordered(e, kPlain, {0, 0, 0, 0, 0});
                     strides[axis] = 0;
                     return strides;
                   }});
  }
  return out;
}

Strides extentsOf(const Problem& p, TensorId t) {
  const Dhw& e = isOfOutput(t) ? p.out : p.in;
  return {p.batch, isOfOutput(t) ? p.cout : p.cin, e.d, e.h, e.w};
}

Problem viewed(Problem p, DType type, const ViewKind& kind, const std::vector<TensorId>& tensors) {
  p.dtype = type;
  for (const TensorId t : tensors) {
    TensorFormat f{type, Layout::kNcdhw, kind.strides(extentsOf(p, t))};
    f.broadcast = f.strides == Strides{};
    p.formats[static_cast<std::size_t>(t)] = f;
  }
  return p;
}

// Every geometry that changes how pixels are walked: taps, lines, points, strides, groups, other dimensions.
std::vector<Problem> layers() {
  std::vector<Problem> out;
  const auto add = [&](const char* name, std::int64_t batch, std::int64_t cin, std::int64_t cout, std::int64_t groups,
                       const Dhw& in, const Dhw& kernel, const Dhw& pad, std::int64_t step, bool transposed) {
    Problem p;
    p.name = name;
    p.rank = 3;
    p.batch = batch;
    p.cin = cin;
    p.cout = cout;
    p.groups = groups;
    p.in = in;
    p.kernel = kernel;
    p.padBefore = p.padAfter = pad;
    p.stride = Dhw{1, step, step};
    p.transposed = transposed;
    p.layout = Layout::kNcdhw;
    for (int a = 0; a < 3; ++a) {
      p.out[a] = transposed ? (in[a] - 1) * p.stride[a] - 2 * pad[a] + kernel[a]
                            : (in[a] + 2 * pad[a] - kernel[a]) / p.stride[a] + 1;
    }
    out.push_back(p);
  };
  add("square", 2, 20, 24, 1, {1, 9, 11}, {1, 3, 3}, {0, 1, 1}, 1, false);
  add("volume", 2, 5, 7, 1, {4, 5, 18}, {3, 3, 3}, {1, 1, 1}, 1, false);
  add("point", 3, 18, 33, 1, {2, 5, 6}, {1, 1, 1}, {0, 0, 0}, 1, false);
  add("line", 2, 16, 17, 1, {1, 1, 40}, {1, 1, 5}, {0, 0, 2}, 1, false);
  add("strided", 2, 12, 16, 1, {2, 9, 12}, {1, 3, 3}, {0, 1, 1}, 2, false);
  add("depthwise", 2, 24, 24, 24, {1, 8, 10}, {1, 3, 3}, {0, 1, 1}, 1, false);
  add("groups", 2, 16, 32, 4, {1, 7, 9}, {1, 3, 3}, {0, 1, 1}, 1, false);
  add("transposed", 2, 10, 6, 1, {2, 5, 6}, {2, 3, 3}, {0, 1, 1}, 2, true);
  add("few", 2, 3, 4, 1, {1, 12, 37}, {1, 3, 3}, {0, 1, 1}, 1, false);
  return out;
}

Session& sessionOf(IsaLevel isa) {
  const auto make = [](IsaLevel level) {
    Options options;
    options.isa = level;
    options.threads = 2;
    return options;
  };
  static Session avx2(make(IsaLevel::kAvx2)), avx512(make(IsaLevel::kAvx512));
  return isa == IsaLevel::kAvx2 ? avx2 : avx512;
}

TEST(Views, OfEveryKindGiveWhatTheirElementsGive) {
  constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBf16, DType::kHf32};
  int tried = 0;
  for (const IsaLevel isa : runnableIsas()) {
    for (const Problem& layer : layers()) {
      for (const ViewKind& kind : kinds()) {
        // Types and operands go by turns: all of them meet all kinds.
        const DType type = kTypes[static_cast<std::size_t>(tried) % std::size(kTypes)];
        const std::vector<TensorId> which = tried % 3 == 0   ? std::vector{TensorId::kX}
                                            : tried % 3 == 1 ? std::vector{TensorId::kDy}
                                                             : std::vector{TensorId::kX, TensorId::kDy};
        ++tried;
        VerifyRequest request;
        request.problem = viewed(layer, type, kind, which);
        if (tried % 5 == 0) request.problem.math = MathMode::kRelaxed;
        request.passes = {true, true, true, true};
        request.threads = {1, 2};
        request.seed = static_cast<std::uint64_t>(tried);
        request.reals = request.problem.math == MathMode::kRelaxed;
        const VerifyOutcome outcome = verifyProblem(sessionOf(isa), request);
        EXPECT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed)
            << layer.name << ", " << kind.name << ", " << toString(type) << ", " << toString(isa) << ": "
            << outcome.message;
      }
    }
  }
}

// What every algorithm makes of views, not only the one that is chosen.
TEST(Views, OfEveryKindAreRightInEveryAlgorithm) {
  std::size_t ran = 0;
  std::uint64_t seed = 1;
  for (const Problem& layer : layers()) {
    for (const ViewKind& kind : kinds()) {
      const Problem p = viewed(layer, seed % 2 == 0 ? DType::kF32 : DType::kBf16, kind, {TensorId::kX, TensorId::kDy});
      Session& session = sessionOf(runnableIsas().front());
      for (const Pass pass : kPasses) {
        const auto report = session.plan(p, pass, true);
        ASSERT_TRUE(report.ok()) << layer.name << ", " << kind.name << ": " << report.error().message;
        std::vector<std::string> families;  // the cheapest of each kind of plan, with and without copies
        for (const PlanCandidate& c : report->candidates) {
          if (!c.refusedBy.empty()) break;
          const std::string family = planFamily(c.plan) + (c.plan.reorders.any() ? " copied" : "");
          if (std::find(families.begin(), families.end(), family) != families.end()) continue;
          families.push_back(family);
          VerifyRequest request;
          request.problem = p;
          request.passes = maskOf(pass);
          request.plans = {c.plan};
          request.seed = ++seed;
          const VerifyOutcome outcome = verifyProblem(session, request);
          EXPECT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed)
              << layer.name << ", " << kind.name << ", " << toString(pass) << ", " << family << ": " << outcome.message;
          ++ran;
        }
      }
    }
  }
  EXPECT_GT(ran, 500U);
}

Problem largeLayer(bool grouped) {
  Problem p = ofGroups(grouped ? 32 : 1, inLayout(Layout::kNcdhw, squareProblem(8, 32, 32, 96)));
  p.name = grouped ? "depthwise" : "dense";
  return p;
}

std::int64_t copiedBytes(const std::vector<TensorCopy>& copies) {
  std::int64_t bytes = 0;
  for (const TensorCopy& copy : copies) bytes += isActivation(copy.tensor) && !isResult(copy.tensor) ? copy.bytes : 0;
  return bytes;
}

TEST(Views, AreNotCopiedWhereNeighboursAllowIt) {
  for (const bool grouped : {false, true}) {
    for (const ViewKind& kind : kinds()) {
      for (const DType type : {DType::kF32, DType::kF16, DType::kBf16}) {
        const Problem p = viewed(largeLayer(grouped), type, kind, {TensorId::kX, TensorId::kDy});
        const std::int64_t whole = xElements(p) * byteSize(type);
        Session& session = sessionOf(runnableIsas().front());
        for (const Pass pass : kPasses) {
          const std::string what =
              std::string(p.name) + ", " + kind.name + ", " + toString(type) + ", " + toString(pass);
          const auto report = session.plan(p, pass);
          ASSERT_TRUE(report.ok()) << what << ": " << report.error().message;
          std::int64_t most = 0;  // of both operands, in their own type
          for (const TensorId t : {TensorId::kX, TensorId::kDy}) most += reads(pass, t) ? whole : 0;
          EXPECT_LE(copiedBytes(report->copies), kind.inPlace ? 0 : most) << what;
          EXPECT_GE(static_cast<std::int64_t>(report->workspaceBytes), copiedBytes(report->copies)) << what;
          const auto call = session.planCall({p, maskOf(pass), {}, WeightsUse::kEachRun});
          ASSERT_TRUE(call.ok()) << what;
          EXPECT_EQ(copiedBytes(call->copies), copiedBytes(report->copies)) << what;
        }
      }
    }
  }
}

TEST(Views, ALimitOfWorkspaceAvoidsCopies) {
  for (const ViewKind& kind : kinds()) {
    for (const DType type : {DType::kF32, DType::kBf16}) {
      const Problem p = viewed(largeLayer(false), type, kind, {TensorId::kX, TensorId::kDy});
      Options options;
      options.threads = 1;
      options.memLimit = xElements(p) * byteSize(type) / 2;
      Session session(options);
      for (const Pass pass : kPasses) {
        const auto report = session.plan(p, pass);
        ASSERT_TRUE(report.ok()) << kind.name << ", " << toString(pass) << ": " << report.error().message;
        EXPECT_EQ(copiedBytes(report->copies), 0) << kind.name << ", " << toString(pass);
        EXPECT_LE(static_cast<std::int64_t>(report->workspaceBytes), options.memLimit);
      }
    }
  }
}

// Memory of a tensor whose elements lie gigabytes apart: pages that hold none of them cannot be used.
class FarMemory {
 public:
  FarMemory(const Problem& p, TensorId t, const std::vector<char>& plain) : bytes_(formatBytes(p, t) + 2 * kPage) {
    base_ = static_cast<char*>(
        mmap(nullptr, static_cast<std::size_t>(bytes_), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    const std::int64_t size = byteSize(formatOf(p, t).dtype);
    const Strides extent = extentsOf(p, t), strides = formatOf(p, t).strides;
    std::int64_t elements = 1;
    for (const std::int64_t e : extent) elements *= e;
    for (std::int64_t i = 0; i < elements; ++i) {
      std::int64_t offset = 0, rest = i;
      for (std::size_t axis = 5; axis-- > 0; rest /= extent[axis]) offset += rest % extent[axis] * strides[axis];
      char* const at = data() + offset * size;
      mprotect(at - (at - base_) % kPage, kPage, PROT_READ | PROT_WRITE);  // a page holds whole elements
      std::memcpy(at, plain.data() + i * size, static_cast<std::size_t>(size));
    }
  }
  ~FarMemory() { munmap(base_, static_cast<std::size_t>(bytes_)); }
  FarMemory(const FarMemory&) = delete;
  FarMemory& operator=(const FarMemory&) = delete;
  char* data() const { return base_ + kPage; }

 private:
  static constexpr std::int64_t kPage = 4096;
  std::int64_t bytes_;
  char* base_ = nullptr;
};

// The result of a pass of whole numbers and fractions, by a plan.
std::vector<char> computed(const Problem& p, Pass pass, const TilingPlan& plan, bool far = false) {
  std::array<std::vector<char>, kTensors> memory;
  std::array<std::unique_ptr<FarMemory>, kTensors> apart;
  for (const TensorId t : kTensorIds) {
    std::vector<char>& own = memory[static_cast<std::size_t>(t)];
    const bool reserved = far && formatOf(p, t).strided();
    Problem plain = p;
    if (reserved) plain.formats[static_cast<std::size_t>(t)] = TensorFormat{formatOf(p, t).dtype, Layout::kNcdhw, {}};
    own.assign(static_cast<std::size_t>(formatBytes(plain, t)), static_cast<char>(0xff));
    if (isResult(t)) continue;
    std::mt19937_64 random(static_cast<std::uint64_t>(t) + 7);
    encodeTensor(plain, t, randomReals(random, plainElements(p, t)), own.data());
    if (reserved) apart[static_cast<std::size_t>(t)] = std::make_unique<FarMemory>(p, t, own);
  }
  const auto at = [&](TensorId t) {
    const auto& reserved = apart[static_cast<std::size_t>(t)];
    return reserved != nullptr ? reserved->data() : memory[static_cast<std::size_t>(t)].data();
  };
  Session& session = sessionOf(runnableIsas().front());
  const auto executable = session.compile(CompileRequest{p, maskOf(pass), {plan}, WeightsUse::kEachRun});
  EXPECT_TRUE(executable.ok()) << executable.error().message;
  if (!executable.ok()) return {};
  const std::size_t bytes = (*executable)->workspaceBytes(1);
  const AlignedMemory workspace = alignedMemory(bytes);
  Tensors tensors{at(TensorId::kDy), at(TensorId::kX),  at(TensorId::kW),
                  at(TensorId::kDx), at(TensorId::kDw), at(TensorId::kDb)};
  tensors.y = at(TensorId::kY);
  const Status ran = (*executable)->run(tensors, workspace.get(), bytes, 1);
  EXPECT_TRUE(ran.ok()) << ran.error().message;
  return memory[static_cast<std::size_t>(resultOf(pass))];
}

// Offsets beyond 2^31 elements and 2^32 bytes: elements of an axis lie so far apart that all of them span that.
TEST(Views, ThatSpanMoreThan32BitsAreReadWhereTheirElementsAre) {
#ifdef CUBEJIT_SANITIZED
  GTEST_SKIP() << "sanitizers keep notes of every byte that is reserved";
#endif
  int compared = 0;
  for (const Problem& layer : layers()) {
    for (const bool last : {false, true}) {
      for (std::size_t axis = 0; axis < 5; ++axis) {
        const ViewKind far{"far", false, [&](const Strides& e) {
                             Strides strides = ordered(e, last ? kLast : kPlain, {0, 0, 0, 0, 0});
                             if (e[axis] > 1) strides[axis] = (std::int64_t{1} << 31) / (e[axis] - 1) + 64;
                             return strides;
                           }};
        const DType type = compared % 2 == 0 ? DType::kF32 : DType::kBf16;
        const Problem p = viewed(layer, type, far, {TensorId::kX, TensorId::kDy});
        Problem dense = p;
        for (const TensorId t : {TensorId::kX, TensorId::kDy})
          dense.formats[static_cast<std::size_t>(t)] = TensorFormat{type, last ? Layout::kNdhwc : Layout::kNcdhw, {}};
        Session& session = sessionOf(runnableIsas().front());
        for (const Pass pass : {Pass::kY, Pass::kDx, Pass::kDw}) {
          const auto report = session.plan(p, pass);
          ASSERT_TRUE(report.ok()) << layer.name << ": " << report.error().message;
          EXPECT_LE(copiedBytes(report->copies), (xElements(p) + yElements(p)) * 4);
          if (!checkPlan(dense, report->plan, session.machine()).empty()) continue;
          compared += formatBytes(p, TensorId::kX) > std::int64_t{1} << 32 ? 1 : 0;
          EXPECT_EQ(computed(p, pass, report->plan, true), computed(dense, pass, report->plan))
              << layer.name << ", axis " << axis << (last ? ", channels last, " : ", ") << toString(type) << ", "
              << toString(pass);
        }
      }
    }
  }
  EXPECT_GT(compared, 100);
}

TEST(Views, HaveTheBitsOfTheirDenseCopies) {
  int compared = 0;
  for (const Problem& layer : layers()) {
    for (const ViewKind& kind : kinds()) {
      if (std::string(kind.name).rfind("expanded", 0) == 0 || std::string(kind.name) == "one_element") continue;
      for (const DType type : {DType::kF32, DType::kBf16}) {
        const Problem p = viewed(layer, type, kind, {TensorId::kX, TensorId::kDy});
        Problem dense = p;
        const bool last = std::string(kind.name) == "channels_last_crop" || std::string(kind.name) == "images";
        for (const TensorId t : {TensorId::kX, TensorId::kDy})
          dense.formats[static_cast<std::size_t>(t)] = TensorFormat{type, last ? Layout::kNdhwc : Layout::kNcdhw, {}};
        Session& session = sessionOf(runnableIsas().front());
        for (const Pass pass : kPasses) {
          if (pass == Pass::kDb) continue;  // sums go by runs of pixels, which are not those of a dense tensor
          const auto report = session.plan(p, pass);
          ASSERT_TRUE(report.ok()) << report.error().message;
          if (!checkPlan(dense, report->plan, session.machine()).empty()) continue;
          ++compared;
          EXPECT_EQ(computed(p, pass, report->plan), computed(dense, pass, report->plan))
              << layer.name << ", " << kind.name << ", " << toString(type) << ", " << toString(pass);
        }
      }
    }
  }
  EXPECT_GT(compared, 100);
}

}  // namespace
}  // namespace cubejit
