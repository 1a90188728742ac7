// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plans a cube core can run. Messages are made only for what is broken: a search checks thousands of plans.
#include "algorithms/cube/rules.h"

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "algorithms/cube/footprint.h"
#include "cubejit/machines.h"

namespace cubejit {
namespace {

using Broken = std::vector<std::string>;

constexpr std::int64_t kMostDilation = 2147483646;  // the documentation of the operators' attribute
constexpr std::int64_t kMostStep = std::int64_t{1} << 31;

std::string is(const std::string& field, std::int64_t value) { return field + " = " + std::to_string(value); }

// `rule` is called to spell the rule only when it is broken.
template <class Rule>
void require(Broken& broken, bool holds, const char* field, std::int64_t value, const Rule& rule) {
  if (!holds) broken.push_back(is(field, value) + " " + rule());
}

// Fields that stand alone: their range and their unit. A base block fills its last fractals up: published tilings of f32 have base.m = 40.
void checkFields(const TilingPlan& plan, const MatrixProduct& step, Broken& broken) {
  describePlan(plan, [&](const char* name, const auto& field) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, std::int64_t>) {
      if (field < 1) broken.push_back(is(name, field) + " must be at least 1");
      if (field > kMostStep && std::string_view(name).substr(0, 4) == "step")
        broken.push_back(is(name, field) + " must be at most 2^31");
      if (field > 2 && std::string_view(name).substr(0, 7) == "buffers")
        broken.push_back(is(name, field) + " must be 1 (single) or 2 (ping-pong)");
    }
  });
  const CubeTile& t = plan.cube().tile;
  const struct {
    const char* name;
    std::int64_t value, fractal;
  } bases[] = {
      {"base_m", t.base.m, step.shape.k}, {"base_k", t.base.k, step.shape.k}, {"base_n", t.base.n, step.shape.k}};
  for (const auto& base : bases) {
    if (base.value < 1) continue;
    if (base.value % base.fractal != 0)
      broken.push_back(is(base.name, base.value) + " must be a multiple of " + std::to_string(base.fractal) +
                       ", c0 of " + toString(t.operand));
    if (base.value > kMostMmad)
      broken.push_back(is(base.name, base.value) + " must be at most " + std::to_string(kMostMmad) +
                       ", what one mmad takes");
  }
}

// Pixels of a task: whole rows, or a piece of one row where the rows need not be staged whole.
void checkPixels(const CubeWork& w, const char* field, std::int64_t pixels, Broken& broken) {
  const bool rows = pixels >= w.row();
  require(broken, rows ? pixels % w.row() == 0 : !w.wholeRows(), field, pixels, [&] {
    return std::string(rows ? "must be a multiple of" : "must be at least") + " a row's " + std::to_string(w.row()) +
           " pixels";
  });
}

void checkMultiple(const char* field, std::int64_t value, std::int64_t unit, const char* what, Broken& broken) {
  require(broken, value % unit == 0, field, value,
          [&] { return "must be a multiple of " + std::to_string(unit) + ", " + what; });
}

void checkTask(const CubeWork& w, const TilingPlan& plan, Broken& broken) {
  const Mkn& s = plan.cube().singleShape;
  const std::int64_t unit = w.blockUnit();
  constexpr const char* kTaps = "the taps of a block of channels";
  if (w.pass == Pass::kDx) {
    checkPixels(w, "single_shape_m", s.m, broken);
    checkMultiple("single_shape_k", s.k, unit * w.kernel.d, kTaps, broken);
    checkMultiple("single_shape_n", s.n, w.c0, "c0", broken);
    require(broken, plan.cube().cores.reduction == 1 || w.resultBytes == 4, "core_reduction",
            plan.cube().cores.reduction, [&] {
              return std::string("must be 1: parts of a sum are added in memory, in f32, and dx is ") +
                     toString(w.type);
            });
  } else {
    checkMultiple("single_shape_m", s.m, 16, "the channels of a fractal", broken);
    checkPixels(w, "single_shape_k", s.k, broken);
    checkMultiple("single_shape_n", s.n, unit, kTaps, broken);
  }
  const CoreSplit need = splitOf(w, s), &have = plan.cube().cores;
  const struct {
    const char* name;
    std::int64_t need, have;
  } counts[] = {{"core_batch", need.batch, have.batch},
                {"core_groups", need.groups, have.groups},
                {"core_depth", need.depth, have.depth},
                {"core_rows", need.rows, have.rows},
                {"core_channels_m", need.channelsM, have.channelsM},
                {"core_channels_n", need.channelsN, have.channelsN},
                {"core_reduction", need.reduction, have.reduction},
                {"core_taps_d", need.tapsD, have.tapsD}};
  for (const auto& count : counts) {
    require(broken, count.need == count.have, count.name, count.have, [&] {
      return "must be " + std::to_string(count.need) + ", which covers the gradient once with tasks of single_shape";
    });
  }
}

// What the vendor's tilings are like, so that its kernels meet no other; see CubeKernels::kVendor.
void checkVendor(const CubeWork& w, const TilingPlan& plan, Broken& broken) {
  const CubeTile& t = plan.cube().tile;
  const Mkn& s = plan.cube().singleShape;
  const bool dx = w.pass == Pass::kDx;
  const auto must = [&](const char* field, std::int64_t have, std::int64_t need) {
    require(broken, have == need, field, have,
            [&] { return "must be " + std::to_string(need) + ", as the vendor's tilings have it"; });
  };
  must("buffers_l0a", t.buffersL0a, 2);
  must("buffers_l0b", t.buffersL0b, 2);
  must("buffers_l0c", t.buffersL0c, 1);
  if (dx) {
    must("single_shape_k", s.k, w.gemm.k * w.kernel.d);
    must("single_shape_n", s.n, std::min(roundUp(t.base.n, w.c0), w.gemm.n));
  }
  const BlockOrder order = dx || s.m > s.n ? BlockOrder::kNOuter : BlockOrder::kMOuter;
  if (t.order != order)
    broken.push_back(std::string("block_order = ") + toString(t.order) + " must be " + toString(order) +
                     ", as the vendor's tilings have it" + (dx ? "" : " for tasks of this extent"));
}

void fits(Broken& broken, const Machine& machine, const char* buffer, std::int64_t needed, std::int64_t capacity,
          const char* fix) {
  if (needed <= capacity) return;
  broken.push_back(std::string(buffer) + " needs " + std::to_string(needed) + " bytes, " + machine.name + " has " +
                   std::to_string(capacity) + "; " + fix);
}

void checkBuffers(const CubeWork& w, const TilingPlan& plan, const Machine& m, Broken& broken) {
  const CubeFootprint f = footprintOf(w, plan);
  fits(broken, m, "L0A", f.l0a, m.buffers.l0aBytes, "lower base_m, base_k or buffers_l0a");
  fits(broken, m, "L0B", f.l0b, m.buffers.l0bBytes, "lower base_k, base_n or buffers_l0b");
  fits(broken, m, "L0C", f.l0c, m.buffers.l0cBytes, "lower base_m, base_n or buffers_l0c");
  if (f.l1 > m.buffers.l1Bytes) {
    const CubeTile& t = plan.cube().tile;
    const bool a =
        saturatingProduct(f.l1A, t.buffersA1) >= saturatingProduct(f.l1B, t.buffersB1) || f.l1A > m.buffers.l1Bytes;
    const std::string parts = "A " + std::to_string(f.l1A) + " x " + std::to_string(t.buffersA1) + ", B " +
                              std::to_string(f.l1B) + " x " + std::to_string(t.buffersB1);
    fits(broken, m, ("L1 (" + parts + ")").c_str(), f.l1, m.buffers.l1Bytes,
         a ? "lower step_ka, buffers_a1, step_m or base_m" : "lower step_kb, buffers_b1, step_n or base_n");
  }
  if (!m.npu.fixpipe)
    fits(broken, m, "UB", f.ub, m.buffers.ubBytes, "lower base_m: results leave in strips of base_m x 16");
}

}  // namespace

std::int64_t pixelTasks(const CubeWork& w, std::int64_t pixels) {
  if (pixels < w.row()) return w.pixels.h * ceilDiv(w.row(), pixels);
  return ceilDiv(w.pixels.h, pixels / w.row());
}

CoreSplit splitOf(const CubeWork& w, const Mkn& s) {
  CoreSplit split;
  split.batch = w.batch;
  split.groups = w.groups.count;
  split.depth = w.pixels.d;
  split.channelsN = ceilDiv(w.gemm.n, s.n);
  if (w.pass == Pass::kDx) {
    split.rows = pixelTasks(w, s.m);
    split.reduction = ceilDiv(w.gemm.k * w.kernel.d, s.k);
  } else {
    split.channelsM = ceilDiv(w.gemm.m, s.m);
    split.reduction = pixelTasks(w, s.k);
    split.tapsD = w.kernel.d;
  }
  return split;
}

std::vector<std::string> checkCubePlan(const CubeWork& w, const TilingPlan& plan, const Machine& m) {
  Broken broken;
  if (!plan.is<CubePlan>()) return {std::string("algorithm = ") + algorithmName(plan) + " must be cube on " + m.name};
  if (plan.pass != w.pass) return {std::string("pass = ") + toString(plan.pass) + " must be " + toString(w.pass)};
  if (plan.cube().tile.operand != w.type)
    return {std::string("operand = ") + toString(plan.cube().tile.operand) + " must be the problem's " +
            toString(w.type)};
  const MatrixProduct* step = m.npu.cube.product(w.type);
  if (step == nullptr) return {std::string("operand = ") + toString(w.type) + " is no type of the cube of " + m.name};
  checkFields(plan, *step, broken);
  if (!broken.empty()) return broken;  // the rest divides by them
  checkTask(w, plan, broken);
  if (w.wholeRows()) {
    const auto one = [] { return std::string("must be 1 for the Ascend C kernels"); };
    require(broken, plan.cube().tile.stepM == 1, "step_m", plan.cube().tile.stepM, one);
    require(broken, plan.cube().tile.stepN == 1, "step_n", plan.cube().tile.stepN, one);
  }
  if (w.kernels == CubeKernels::kVendor) checkVendor(w, plan, broken);
  checkBuffers(w, plan, m, broken);
  return broken;
}

std::vector<std::string> checkChip(const Problem& p, Pass pass, const Machine& m) {
  Broken broken;
  if (pass == Pass::kDb)
    return {"db is a sum of dy, not a product: it has no plan on " + m.name + "; ask for dx or dw"};
  if (p.batch < 1) return {is("batch", p.batch) + " must be at least 1 on " + m.name};
  const DType dy = formatOf(p, TensorId::kDy).dtype;
  const TensorId otherId = pass == Pass::kDx ? TensorId::kW : TensorId::kX;
  const DType other = formatOf(p, otherId).dtype;
  if (dy != other)
    broken.push_back(std::string("dy is ") + toString(dy) + " and " + toString(otherId) + " is " + toString(other) +
                     "; a cube multiplies two operands of one type");
  if (m.npu.cube.product(dy) == nullptr) {
    std::string have, chips, product;
    for (const MatrixProduct& cube : m.npu.cube.products)
      have += (have.empty() ? "" : ", ") + std::string(toString(cube.operand));
    for (const std::string& name : machinesWith(dy)) {  // one of each product line
      const std::string line = machineByName(name)->npu.product;
      if (line != product) chips += (chips.empty() ? "" : ", ") + name + " and others of " + line;
      product = line;
    }
    broken.push_back(std::string(toString(dy)) + " is no type of the cube of " + m.name + ", which has " + have +
                     (chips.empty() ? "" : "; chips that have it: " + chips));
  }
  const LoadLimits& most = m.npu.limits;
  const auto limit = [&](const std::string& field, std::int64_t value, std::int64_t allowed) {
    if (value > allowed)
      broken.push_back(is(field, value) + " must be at most " + std::to_string(allowed) + " on " + m.name +
                       ", what its load unit takes");
  };
  constexpr const char* kAxes[] = {".d", ".h", ".w"};
  for (int a = 0; a < 3; ++a) {
    const std::string axis = kAxes[a];
    const bool depth = a == 0;
    // dW steps through depths by address; only dX spreads them.
    if (!depth || pass == Pass::kDx) limit("stride" + axis, p.stride[a], depth ? most.strideD : most.strideHw);
    const std::int64_t dilation = depth ? most.dilationD : most.dilationHw;
    // Nothing is dilated between the taps of a kernel of one; what is left is the attribute's own range.
    limit("dilation" + axis, p.dilation[a], p.kernel[a] > 1 ? dilation : std::max(dilation, kMostDilation));
    if (!depth) limit("kernel" + axis, p.kernel[a], most.kernelHw);
    if (!depth || pass == Pass::kDx) {
      limit("pad_before" + axis, p.padBefore[a], most.pad);
      limit("pad_after" + axis, p.padAfter[a], most.pad);
    }
  }
  return broken;
}

}  // namespace cubejit
