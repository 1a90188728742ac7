// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of any plan of any problem: rules are told of it; and where none is broken it lowers, its program is sound, what is generated stays
// inside guard pages, computes the gradient, and agrees with both interpreters in every bit. An input is a pin: problem, plan and ISA.
#include "runtime/pipeline/compile.h"

#include <random>

#include "algorithms/algorithm.h"
#include "cubejit/index_map.h"
#include "runtime/text/json_problem.h"
#include "runtime/tuning/json_record.h"
#include "runtime/verify/agree.h"
#include "runtime/verify/random_problem.h"
#include "tests/fuzz/json_mutator.h"
#include "tests/support/run_code.h"
#include "tiling/check_problem.h"
#include "tiling/planner.h"

using namespace cubejit;

namespace {

using Verdict = VerifyOutcome::Verdict;

constexpr double kMostProducts = 3e5;
constexpr std::size_t kMostWorkspace = 32U << 20;

// Padding counts: plans go over it, too.
bool isSmall(const Problem& p) {
  const auto size = [](std::int64_t extent) { return static_cast<double>(extent); };
  double products = size(p.batch) * size(p.cin) * size(p.cout) / size(p.groups);
  double elements = size(p.batch) * std::max(size(p.cin), size(p.cout));
  for (int axis = 0; axis < 3; ++axis) {
    products *= size(p.kernel[axis]) * std::max(size(p.in[axis]), size(p.out[axis]));
    elements *= std::max(size(p.in[axis]), size(p.out[axis]));
  }
  std::int64_t bytes = 0;
  for (const TensorId t : kTensorIds) bytes = std::max(bytes, formatBytes(p, t));  // strides and blocks may be large
  return products <= kMostProducts && elements <= kMostProducts && bytes <= 1 << 22;
}

void isRight(Pin pin, IsaLevel level) {
  pin.plan.backend = PlanBackend::kSession;  // the LLVM component is no part of this
  const auto about = [&](const std::string& why) { return why + "\n" + pinToJson(pin); };
  Options options;
  options.isa = level;
  options.wakeCycles = 0;
  options.verify = true;
  options.backend = BackendKind::kTileInterpreter;
  Session session(options);
  if (!checkPlan(pin.problem, pin.plan, session.machine()).empty()) return;
  const PassMask mask = maskOf(pin.plan.pass);
  const auto compiled = session.compile(CompileRequest{pin.problem, mask, {pin.plan}});
  fuzz::hold(compiled.ok(), "a legal plan compiles", about(compiled.ok() ? "" : compiled.error().message));
  if ((*compiled)->workspaceBytes(2) > kMostWorkspace) return;
  std::vector<BackendKind> backends{BackendKind::kTileInterpreter, BackendKind::kInterpreter};
  if (hostRuns(level)) backends.push_back(kUsualBackend);
  const auto sessions = sessionsFor(options, backends);
  VerifyRequest request{pin.problem, mask, {2, 1}, 1, pin.problem.math == MathMode::kRelaxed, {pin.plan}};
  const VerifyOutcome right = verifyProblem(*sessions.back(), request);
  fuzz::hold(right.verdict != Verdict::kFailed, "a legal plan computes the gradient", about(right.message));
  const VerifyOutcome same = agreeBitByBit(sessions, request);
  fuzz::hold(same.verdict != Verdict::kFailed, "by all backends alike", about(same.message));
}

// One of the plans that are proposed for a random problem.
std::string randomPin(std::mt19937_64& random) {
  Pin pin;
  pin.problem = randomProblem(random, 2e4);
  if (random() % 4 == 0) fitRelaxedMath(random, pin.problem);
  if (random() % 2 == 0) randomFormats(random, pin.problem, random() % 2 == 0, random() % 2 == 0);
  const IsaLevel level = kAllIsaLevels[random() % 3];
  pin.isa = toString(level);
  const Algorithm* algorithm = algorithms()[random() % algorithms().size()];
  std::vector<TilingPlan> plans;
  const Machine machine = hostMachine(isaOf(level), 2, 32 << 10, 1 << 20, 32 << 20);
  for (const Candidates& group : algorithm->candidates(pin.problem, machine))
    plans.insert(plans.end(), group.plans.begin(), group.plans.end());
  if (plans.empty()) return {};
  pin.plan = plans[random() % plans.size()];
  return pinToJson(pin);
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  std::mt19937_64 random(seed);
  const std::string fresh = random() % 8 == 0 ? randomPin(random) : "";
  if (fresh.empty() || fresh.size() > most)
    return fuzz::mutateJsonText(data, size, most, seed,
                                {"dx",
                                 "dw",
                                 "db",
                                 "y",
                                 "avx2",
                                 "avx512",
                                 "avx512_bf16",
                                 "session",
                                 "xbyak",
                                 "llvm",
                                 "none",
                                 "direct",
                                 "spatial",
                                 "grouped",
                                 "winograd",
                                 "bias",
                                 "cube",
                                 "f32",
                                 "f16",
                                 "bf16",
                                 "hf32",
                                 "ncdhw",
                                 "ndhwc",
                                 "ndc1hwc0",
                                 "fractal_z_3d",
                                 "strict",
                                 "relaxed",
                                 "input_channels",
                                 "output_channels",
                                 "transposed",
                                 "kernel_width"});
  std::memcpy(data, fresh.data(), fresh.size());
  return fresh.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto pin = pinFromJson(fuzz::textOf(data, size));
  if (!pin.ok() || !checkProblem(pin->problem).ok() || !isSmall(pin->problem)) return 0;
  const std::string printed = planToJson(pin->plan);
  const auto again = planFromJson(printed);
  fuzz::hold(again.ok() && planToJson(*again) == printed, "a printed plan is read as the same", printed);
  for (const IsaLevel level : {IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kAvx512Bf16}) {
    if (pin->isa == toString(level)) isRight(*pin, level);
  }
  return 0;
}
