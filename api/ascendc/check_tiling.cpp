// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whether a tiling from outside can be run, and says what is wrong with it in its own words.
#include <algorithm>
#include <numeric>

#include "algorithms/cube/footprint.h"
#include "algorithms/cube/rules.h"
#include "api/ascendc/tiling_values.h"
#include "cubejit/npu.h"
#include "cubejit_ascendc/tiling_request.h"
#include "tiling/check_problem.h"

namespace cubejit::ascendc {
namespace {

using InputTiling = AscendC::tiling::TConv3DBackpropInputTiling;
using FilterTiling = AscendC::tiling::TConv3DBpFilterTiling;
using Rules = std::vector<std::string>;

// What is left of a GetTiling that failed: a line for each field would hide the one that matters.
constexpr const char* kUnfilled =
    "every field of the tiling is 0: GetTiling failed or was not called; it returns -1 if it fails, and "
    "cubejit_last_error() then says why";

// Words of a plan and the tiling's for them; longer ones first where one begins another.
struct Word {
  const char *plan, *input, *filter;
};
constexpr Word kWords[] = {{"base_m", "baseM", "baseM"},
                           {"base_k", "baseK", "baseK"},
                           {"base_n", "baseN", "baseN"},
                           {"step_ka", "stepKa", "stepKa"},
                           {"step_kb", "stepKb", "stepKb"},
                           {"step_m", "stepM", "stepM"},
                           {"step_n", "stepN", "stepN"},
                           {"buffers_l0a", "al0Pbuffer", "al0Pbuffer"},
                           {"buffers_l0b", "bl0Pbuffer", "bl0Pbuffer"},
                           {"buffers_l0c", "cl0Pbuffer", "cl0Pbuffer"},
                           {"buffers_a1", "al1Pbuffer", "al1Pbuffer"},
                           {"buffers_b1", "bl1Pbuffer", "bl1Pbuffer"},
                           {"single_shape_m", "singleCoreM", "singleCoreCout"},
                           {"single_shape_k", "singleCoreCout x taps", "singleCoreHo x wo"},
                           {"single_shape_n", "singleCoreCin", "singleCoreCin x hk x wk"},
                           {"core_reduction", "cout / singleCoreCout", "ho / singleCoreHo"}};

std::string inWordsOf(std::string rule, bool input) {
  for (const Word& word : kWords) {
    const std::string from = word.plan, to = input ? word.input : word.filter;
    for (std::size_t at = rule.find(from); at != std::string::npos; at = rule.find(from, at + to.size()))
      rule.replace(at, from.size(), to);
  }
  return rule;
}

template <class T>
void positive(const T& t, Rules& broken) {
  const auto ask = [&](const char* field, std::uint64_t value) {
    if (value < 1 || value > 2147483647)
      broken.push_back(std::string(field) + " = " + std::to_string(value) + " must be 1 to 2147483647");
  };
  ask("batch", t.batch), ask("cin", t.cin), ask("cout", t.cout), ask("group", t.group);
  ask("dout", t.dout), ask("ho", t.ho), ask("wo", t.wo), ask("di", t.di), ask("hi", t.hi), ask("wi", t.wi);
  ask("dk", t.dk), ask("hk", t.hk), ask("wk", t.wk);
  ask("strideD", t.strideD), ask("strideH", t.strideH), ask("strideW", t.strideW);
  ask("dilationD", t.dilationD), ask("dilationH", t.dilationH), ask("dilationW", t.dilationW);
  ask("baseM", t.baseM), ask("baseK", t.baseK), ask("baseN", t.baseN);
  ask("singleCoreCout", t.singleCoreCout), ask("singleCoreCin", t.singleCoreCin);
  if (t.iterateOrder > 1) broken.push_back("iterateOrder = " + std::to_string(t.iterateOrder) + " must be 0 or 1");
}

// Fields that repeat others must agree with them.
template <class T, class Describe>
void derived(const T& have, const T& need, const std::vector<std::string>& fields, const Describe& describe,
             Rules& broken) {
  std::vector<std::pair<std::string, std::int64_t>> values;
  describe(need,
           [&](const char* name, const auto& value) { values.emplace_back(name, static_cast<std::int64_t>(value)); });
  std::size_t at = 0;
  describe(have, [&](const char* name, const auto& value) {
    const auto& [field, needed] = values[at++];
    if (std::find(fields.begin(), fields.end(), field) == fields.end() || static_cast<std::int64_t>(value) == needed)
      return;
    broken.push_back(std::string(name) + " = " + std::to_string(value) + " must be " + std::to_string(needed) +
                     ", which follows from the other fields");
  });
}

template <class T>
Problem problemFrom(const T& t, bool hf32, std::int64_t c0) {
  Problem p;
  p.batch = t.batch, p.cin = t.cin, p.cout = t.cout, p.groups = t.group;
  p.in = Dhw{t.di, t.hi, t.wi}, p.out = Dhw{t.dout, t.ho, t.wo}, p.kernel = Dhw{t.dk, t.hk, t.wk};
  p.stride = Dhw{t.strideD, t.strideH, t.strideW}, p.dilation = Dhw{t.dilationD, t.dilationH, t.dilationW};
  p.padBefore = Dhw{t.padFront, t.padUp, t.padLeft}, p.padAfter = Dhw{t.padBack, t.padDown, t.padRight};
  p.dtype = c0 != 8 ? DType::kF16 : hf32 ? DType::kHf32 : DType::kF32;  // f16 and bf16 are tiled alike
  return p;
}

// Groups of the convolution that an input tiling stands for: it has the number of real groups, and their blocks. Those that share a
// real group lie in blocks that are zero off their diagonal, so which of several it is makes no difference.
std::int64_t groupsOf(const InputTiling& t, std::int64_t given) {
  const std::int64_t channels = std::gcd(std::int64_t{t.cin}, std::int64_t{t.cout});
  if (given <= 1 || t.c0 == 0) return given;
  for (std::int64_t each = 1; each * each <= channels; ++each) {
    if (channels % each != 0) continue;
    for (const std::int64_t groups : {each, channels / each}) {
      const RealGroups r = realGroups(t.cin / groups, t.cout / groups, groups, t.c0);
      if (r.count == given && r.blocksC == t.cin1G && ceilDiv(r.together * (t.cout / groups), t.c0) == t.cout1G)
        return groups;
    }
  }
  return given;
}

template <class T>
void setTile(const T& t, CubeTile& c) {
  c.base = Mkn{t.baseM, t.baseK, t.baseN};
  c.stepM = t.stepM, c.stepN = t.stepN, c.stepKa = t.stepKa, c.stepKb = t.stepKb;
  c.buffersL0a = t.al0Pbuffer, c.buffersL0b = t.bl0Pbuffer, c.buffersL0c = t.cl0Pbuffer;
  c.buffersA1 = t.al1Pbuffer, c.buffersB1 = t.bl1Pbuffer;
  c.order = t.iterateOrder == 0 ? BlockOrder::kMOuter : BlockOrder::kNOuter;
}

template <class T>
TilingPlan planFrom(const T& t, Pass pass, const Problem& p, Mkn single, const Machine& machine) {
  const CubeWork w = cubeWorkOf(p, pass, machine, CubeKernels::kAscendC);
  TilingPlan plan;
  plan.algorithm = CubePlan{};
  plan.pass = pass;
  plan.cube().tile.operand = w.type;
  setTile(t, plan.cube().tile);
  // Published tilings round tasks up to fractals and base blocks; what lies beyond the tensor is never computed.
  single.m = std::min(single.m, w.gemm.m);
  single.k = std::min(single.k, pass == Pass::kDx ? w.gemm.k * w.kernel.d : w.gemm.k);
  single.n = std::min(single.n, w.gemm.n);
  plan.cube().singleShape = single;
  if (single.m > 0 && single.k > 0 && single.n > 0) plan.cube().cores = splitOf(w, single);
  return plan;
}

template <class T>
Rules checkPlanned(const T& t, const TilingPlan& plan, const Machine& machine, bool input) {
  Rules broken;
  for (const std::string& rule : checkOnNpu(problemOf(t), plan, machine, CubeKernels::kAscendC))
    broken.push_back(inWordsOf(rule, input));
  return broken;
}

}  // namespace

Problem problemOf(const InputTiling& t) {
  Problem p = problemFrom(t, t.hf32Flag != 0, t.c0);
  p.groups = groupsOf(t, p.groups);
  return p;
}
Problem problemOf(const FilterTiling& t) { return problemFrom(t, t.hf32Flag != 0, t.channelSize); }

TilingPlan planOf(const InputTiling& t, const Machine& machine) {
  const std::int64_t taps = std::int64_t{t.dk} * t.hk * t.wk, c0 = t.c0;
  const Mkn single{static_cast<std::int64_t>(t.singleCoreM), std::int64_t{t.singleCoreCout1} * c0 * taps,
                   roundUp(static_cast<std::int64_t>(t.singleCoreCin), c0)};
  return planFrom(t, Pass::kDx, problemOf(t), single, machine);
}

TilingPlan planOf(const FilterTiling& t, const Machine& machine) {
  const std::int64_t taps = std::int64_t{t.hk} * t.wk;
  const Mkn single{t.singleCoreCout, std::int64_t{t.singleCoreHo} * t.wo,
                   roundUp(static_cast<std::int64_t>(t.singleCoreCin), t.channelSize) * taps};
  return planFrom(t, Pass::kDw, problemOf(t), single, machine);
}

Rules checkTiling(const InputTiling& t, const Machine& machine) {
  if (isUnfilled(t)) return {kUnfilled};
  Rules broken;
  positive(t, broken);
  if (t.c0 != 8 && t.c0 != 16) broken.push_back("c0 = " + std::to_string(t.c0) + " must be 16, or 8 for 32-bit types");
  if (t.singleCoreM < 1 || t.singleCoreM > (std::uint64_t{1} << 40))
    broken.push_back("singleCoreM = " + std::to_string(t.singleCoreM) + " must be 1 to 2^40");
  if (t.singleCoreCout1 < 1) broken.push_back("singleCoreCout1 = 0 must be at least 1");
  if (!broken.empty()) return broken;
  const Problem p = problemOf(t);
  if (const Status legal = checkProblem(p); !legal.ok()) return {legal.error().message};
  broken = checkPlanned(t, planOf(t, machine), machine, true);
  InputTiling need = t;
  setProblemFields(need, p, p.dtype);
  need.singleCoreCin1 = static_cast<std::uint32_t>(ceilDiv(static_cast<std::int64_t>(t.singleCoreCin), t.c0));
  need.singleCoreCout = t.singleCoreCout1 * t.c0;
  derived(
      t, need,
      {"cout1", "cin1", "cout1G", "cin1G", "c0Bits", "backpropPadTail", "backpropPadUp", "backpropPadDown",
       "backpropPadLeft", "backpropPadRight", "singleCoreCin1", "singleCoreCout", "singleCoreBatch", "singleCoreDin",
       "singleCoreGroup"},
      [](const auto& tiling, const auto& v) { describeInputTiling(tiling, v); }, broken);
  return broken;
}

Rules checkTiling(const FilterTiling& t, const Machine& machine) {
  if (isUnfilled(t)) return {kUnfilled};
  Rules broken;
  positive(t, broken);
  if (t.channelSize != 8 && t.channelSize != 16)
    broken.push_back("channelSize = " + std::to_string(t.channelSize) + " must be 16, or 8 for 32-bit types");
  if (t.singleCoreHo < 1) broken.push_back("singleCoreHo = 0 must be at least 1");
  if (!broken.empty()) return broken;
  const Problem p = problemOf(t);
  if (const Status legal = checkProblem(p); !legal.ok()) return {legal.error().message};
  const TilingPlan plan = planOf(t, machine);
  broken = checkPlanned(t, plan, machine, false);
  FilterTiling need = t;
  setProblemFields(need, p, p.dtype);
  if (broken.empty()) {
    const CubeWork w = cubeWorkOf(p, Pass::kDw, machine, CubeKernels::kAscendC);
    const std::int64_t least = footprintOf(w, plan).l1B / w.elementBytes;
    if (static_cast<std::int64_t>(t.bl1Bound) < least)
      broken.push_back("bl1Bound = " + std::to_string(t.bl1Bound) + " must be at least " + std::to_string(least) +
                       ", the elements of B that a step needs in L1");
  }
  derived(
      t, need, {"cin1G", "cout1G", "m0", "k0", "n0", "singleCoreBatch", "singleCoreGroup", "singleCoreDk"},
      [](const auto& tiling, const auto& v) { describeFilterTiling(tiling, v); }, broken);
  return broken;
}

}  // namespace cubejit::ascendc
