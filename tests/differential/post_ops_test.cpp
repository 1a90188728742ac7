// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: is y right, and its padding zero, with every combination of post-ops in every type and layout, whatever stands in the padding of what is
// read; and are gradients behind an activation? Bits are those of every backend and number of threads. CUBEJIT_POST_OPS_PROBLEMS=N takes N
// problems for each ISA.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "cubejit/machines.h"
#include "runtime/host/aligned_memory.h"
#include "runtime/text/problem_text.h"
#include "runtime/verify/agree.h"
#include "tests/support/defined_convolution.h"
#include "tests/support/run_code.h"
#include "tests/support/verify_plan.h"
#include "tiling/check_problem.h"

namespace cubejit {
namespace {

constexpr std::int64_t kBlocks[] = {1, 2, 4, 8, 16, 32, 64};
constexpr int kLayouts = 2 + static_cast<int>(std::size(kBlocks)), kTypes = 3, kPostOps = 15;

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  std::int64_t in(std::int64_t lo, std::int64_t hi) {
    return lo + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(hi - lo + 1));
  }
  bool oneIn(int n) { return in(1, n) == 1; }

 private:
  std::mt19937_64 random_;
};

TensorFormat formatNumber(std::int64_t layout, DType type) {
  TensorFormat f{type, Layout::kNdc1hwc0, {}, layout < 2 ? 0 : kBlocks[layout - 2]};
  if (layout < 2) f.layout = layout == 0 ? Layout::kNcdhw : Layout::kNdhwc;
  return f;
}

void drawChannels(Draw& draw, Problem& p) {
  const bool depthwise = draw.oneIn(3);
  p.groups = depthwise ? draw.in(1, 40) : draw.oneIn(2) ? 1 : draw.in(2, 6);
  p.cin = p.groups * (depthwise ? 1 : draw.in(1, p.groups > 1 ? 5 : 20));
  p.cout = p.groups * (depthwise ? draw.in(1, 2) : draw.in(1, p.groups > 1 ? 9 : 70));
}

// Axes of few positions; paddings are often on one side alone, and may hold whole windows.
bool drawSpace(Draw& draw, Problem& p) {
  p.rank = static_cast<int>(draw.in(1, 3));
  p.transposed = draw.oneIn(4);
  for (int a = 3 - p.rank; a < 3; ++a) {
    p.in[a] = draw.in(1, a == 2 && draw.oneIn(2) ? 20 : 5);
    p.kernel[a] = draw.in(1, 3);
    p.stride[a] = draw.oneIn(3) ? draw.in(2, 3) : 1;
    p.dilation[a] = draw.oneIn(5) ? 2 : 1;
    p.padBefore[a] = draw.oneIn(2) ? 0 : draw.in(1, 3);
    p.padAfter[a] = draw.oneIn(2) ? 0 : draw.in(1, 3);
    const std::int64_t reach = p.dilation[a] * (p.kernel[a] - 1), pads = p.padBefore[a] + p.padAfter[a];
    p.out[a] = p.transposed ? (p.in[a] - 1) * p.stride[a] - pads + reach + 1
                            : (p.in[a] + pads - reach - 1 < 0 ? 0 : (p.in[a] + pads - reach - 1) / p.stride[a] + 1);
    if (p.out[a] < 1) return false;
  }
  return true;
}

// Number 1 to 15: bits of bias and add, and an activation; 0 in the blocks' padding stays 0.
PostOps postOpsNumber(Draw& draw, int number, bool backward) {
  PostOps post;
  post.bias = number % 2 == 1;
  post.add = number / 2 % 2 == 1;
  post.activation = static_cast<Activation>(number / 4);
  constexpr float kSlopes[] = {0.25F, 2, 0, 0.1F, -0.5F};  // the last two: y alone, or sums are rounded
  if (post.activation == Activation::kLeakyRelu) post.alpha = kSlopes[draw.in(0, backward ? 2 : 4)];
  if (post.activation != Activation::kClip) return post;
  post.alpha = static_cast<float>(draw.in(-8, 0));
  post.beta = static_cast<float>(draw.in(0, 12));
  return post;
}

struct Drawn {
  Problem problem;
  PassMask passes = maskOf(Pass::kY);
};

// Every layout of y with every type with every combination of post-ops in turn; all else is drawn.
Drawn drawProblem(Draw& draw, int number) {
  constexpr DType kResults[] = {DType::kF32, DType::kF16, DType::kBf16};
  Drawn drawn;
  Problem& p = drawn.problem;
  do {
    p = Problem{};
    p.batch = draw.in(1, 2);
    drawChannels(draw, p);
  } while (!drawSpace(draw, p) || p.batch * p.cin / p.groups * p.cout * p.kernel.volume() * p.out.volume() > 100000);
  const DType type = kResults[number / kLayouts % kTypes];
  const bool mixed = draw.oneIn(3), backward = draw.oneIn(4);
  p.postOps = postOpsNumber(draw, 1 + number / kLayouts / kTypes % kPostOps, backward);
  const auto format = [&](TensorId t) -> auto& { return p.formats[static_cast<std::size_t>(t)]; };
  const auto operandType = [&] { return mixed ? static_cast<DType>(draw.in(0, 4)) : type; };
  format(TensorId::kY) = formatNumber(number % kLayouts, type);
  format(TensorId::kX) = formatNumber(draw.in(0, kLayouts - 1), operandType());
  format(TensorId::kW) = formatNumber(draw.in(0, 1), operandType());
  format(TensorId::kDx) = formatNumber(draw.in(0, kLayouts - 1), mixed ? kResults[draw.in(0, 2)] : type);
  format(TensorId::kDw) = formatNumber(draw.in(0, 1), mixed ? kResults[draw.in(0, 2)] : type);
  format(TensorId::kDb) = formatNumber(0, type);
  format(TensorId::kDy) = formatNumber(number % kLayouts, mixed ? kResults[draw.in(0, 2)] : type);
  if (backward && p.postOps.activation != Activation::kNone) drawn.passes = {true, true, true, false};
  return drawn;
}

// Whole numbers, so that sums are exact in any order.
void fill(Draw& draw, PlacedTensor& t, std::int64_t most) {
  for (double& v : t.values) v = static_cast<double>(draw.in(-most, most));
  t.store();
}

// What a session makes of it, on so many threads; empty: what is wanted, and of operands every byte as it was.
std::string wrong(Session& session, const CompileRequest& request, DefinedConvolution& c, int threads) {
  const auto executable = session.compile(request);
  if (!executable.ok()) return executable.error().message;
  const bool forward = request.passes.y;
  const PlacedTensor* const read[] = {&c.x, &c.w, &c.dy, &c.b, &c.z, &c.y};
  PlacedTensor* const written[] = {&c.y, &c.dx, &c.dw, &c.db};
  std::vector<std::string> before;
  for (std::size_t i = 0; i < (forward ? 5 : 6); ++i) before.push_back(read[i]->bytes());
  for (std::size_t i = forward ? 0 : 1; i < (forward ? 1 : 4); ++i)
    std::memset(written[i]->memory(), 0xff, written[i]->bytes().size());
  const std::size_t bytes = (*executable)->workspaceBytes(threads);
  const AlignedMemory workspace = alignedMemory(bytes);
  std::memset(workspace.get(), 0xff, bytes);
  Tensors tensors{c.dy.memory(), c.x.memory(), c.w.memory()};
  tensors.dx = forward ? nullptr : c.dx.memory();
  tensors.dw = forward ? nullptr : c.dw.memory();
  tensors.db = forward ? nullptr : c.db.memory();
  tensors.y = c.y.memory();
  tensors.b = c.b.memory();
  tensors.z = c.z.memory();
  const Status done = (*executable)->run(tensors, workspace.get(), bytes, threads);
  if (!done.ok()) return done.error().message;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (read[i]->bytes() != before[i]) return "operand " + std::to_string(i) + " was written";
  }
  constexpr const char* kNames[] = {"y", "dx", "dw", "db"};
  for (std::size_t i = forward ? 0 : 1; i < (forward ? 1 : 4); ++i) {
    const std::string text = written[i]->difference();
    if (!text.empty()) return std::string(kNames[i]) + ": " + text;
  }
  return {};
}

// Cubes multiply what fills blocks up, which is zero then.
void fillAll(Draw& draw, DefinedConvolution& c, bool forward, bool cube) {
  for (PlacedTensor* t : {&c.x, &c.w}) {
    if (cube) std::memset(t->memory(), 0, t->bytes().size());
  }
  for (PlacedTensor* t : {&c.x, &c.w, &c.dy}) fill(draw, *t, 4);
  fill(draw, c.z, 9);
  if (!forward) fill(draw, c.y, 5);
  for (std::size_t i = 0; i < c.b.values.size(); ++i) c.b.values[i] = static_cast<double>(i % 101) - 50;
  c.b.store();
  // What is infinite reaches the results that it is a summand of, and no others; -infinity times a slope of 0 is NaN.
  if (draw.oneIn(8)) c.z.values.back() = HUGE_VAL;
  if (draw.oneIn(8) && forward && !cube) c.x.values.front() = HUGE_VAL;
  c.x.store();
  c.z.store();
  forward ? c.forward() : c.backward();
}

int problemsOfAnIsa(int usual) {
  const char* const asked = std::getenv("CUBEJIT_POST_OPS_PROBLEMS");
  return asked == nullptr ? usual : std::atoi(asked);
}

class PostOpsOfEveryFormat : public testing::TestWithParam<IsaLevel> {};

TEST_P(PostOpsOfEveryFormat, AreTheirDefinition) {
  const IsaLevel level = GetParam();
  std::vector<BackendKind> backends{BackendKind::kTileInterpreter, BackendKind::kInterpreter};
  if (hostRuns(level)) backends.insert(backends.begin(), BackendKind::kXbyak);
  if (hostRuns(level) && CUBEJIT_TESTS_LLVM) backends.push_back(BackendKind::kLlvm);
  const auto sessions = sessionsFor(eagerOptions(level), backends);
  Draw draw(7000 + static_cast<std::uint64_t>(level));
  const int problems = problemsOfAnIsa(2 * kLayouts * kTypes * kPostOps);
  int failures = 0;
  for (int i = 0; i < problems && failures < 5; ++i) {
    const Drawn drawn = drawProblem(draw, i);
    CompileRequest request{drawn.problem, drawn.passes, {}};
    ASSERT_TRUE(checkProblem(drawn.problem).ok()) << toFlags(drawn.problem);
    DefinedConvolution c(drawn.problem);
    fillAll(draw, c, drawn.passes.y, false);
    if (i % 3 == 0 && drawn.passes.y) {  // another plan than the one that is liked best
      const auto report = sessions.front()->plan(drawn.problem, Pass::kY, true);
      ASSERT_TRUE(report.ok()) << report.error().message;
      const auto& candidate =
          report->candidates[static_cast<std::size_t>(draw.in(0, std::ssize(report->candidates) - 1))];
      if (candidate.refusedBy.empty()) request.plans = {candidate.plan};
    }
    for (std::size_t s = 0; s < (i % 8 == 0 ? sessions.size() : 1); ++s) {
      for (const int threads : {1, 3}) {
        const std::string text = wrong(*sessions[s], request, c, threads);
        EXPECT_EQ(text, "") << toString(backends[s]) << ", " << threads << " threads: cubejit verify --passes "
                            << (drawn.passes.y ? "y " : "dx,dw,db ") << toFlags(drawn.problem) << " --isa "
                            << toString(level) << (request.plans.empty() ? "" : planToJson(request.plans.front()));
        failures += text.empty() ? 0 : 1;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, PostOpsOfEveryFormat,
                         testing::Values(IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kAvx512Bf16),
                         [](const auto& info) { return toString(info.param); });

// Emulated chips have no post-ops, and say so; their blocked results end with zeros as well.
TEST(PostOpsOfChips, AreRefusedAndResultsArePadded) {
  int computed = 0, refused = 0;
  for (const char* name : {"ascend910b2", "ascend310p3"}) {
    Options options;
    options.machine = machineByName(name).value();
    Session session(options);
    Draw draw(7100);
    for (int i = 0; i < 150; ++i) {
      Drawn drawn = drawProblem(draw, i);
      CompileRequest request{drawn.problem, maskOf(Pass::kY), {}};
      const auto with = session.compile(request);
      ASSERT_FALSE(with.ok());
      EXPECT_NE(with.error().message.find("post_ops = " + toString(drawn.problem.postOps)), std::string::npos)
          << with.error().message;
      drawn.problem.postOps = request.problem.postOps = {};
      for (auto& format : drawn.problem.formats) {
        if (format && isHf32(format->dtype)) format->dtype = DType::kF32;
      }
      request.problem = drawn.problem;
      if (!session.compile(request).ok()) {
        ++refused;
        continue;
      }
      DefinedConvolution c(drawn.problem);
      fillAll(draw, c, true, true);
      ASSERT_EQ(wrong(session, request, c, 1), "") << name << ": " << toFlags(drawn.problem);
      ++computed;
    }
  }
  EXPECT_GT(computed, 40) << refused << " refused";
}

}  // namespace
}  // namespace cubejit
