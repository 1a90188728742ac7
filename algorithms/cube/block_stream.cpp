// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the loops of a task: base blocks as the order says, kernel depths that meet, base.k's in order; a block that is already in
// L1 is used where it lies.
#include "algorithms/cube/block_stream.h"

#include <algorithm>

namespace cubejit {
namespace {

bool meets(const CubeWork& w, std::int64_t depth, std::int64_t tap, std::int64_t& at) {
  at = w.spread ? depth + w.pad.d - tap * w.dilation.d : depth * w.stride.d + tap * w.dilation.d - w.pad.d;
  if (at < 0 || (w.spread && at % w.stride.d != 0)) return false;
  if (w.spread) at /= w.stride.d;
  return at < w.image.d;
}

Span cut(std::int64_t begin, std::int64_t end, std::int64_t limit) {
  begin = std::clamp<std::int64_t>(begin, 0, limit);
  return {begin, std::clamp<std::int64_t>(end, begin, limit) - begin};
}

}  // namespace

TaskExtent cutTask(const CubeJob& job, const CoreTask& task) {
  const CubeWork& w = job.work;
  const bool dx = w.pass == Pass::kDx;
  TaskExtent e;
  e.start = task.start;
  Mkn wanted = task.extent;
  if (dx) {
    e.start.k /= w.kernel.d;
    wanted.k /= w.kernel.d;
    wanted.n = roundUp(wanted.n, w.c0);
  }
  const auto rest = [](std::int64_t all, std::int64_t start, std::int64_t count) {
    return std::max<std::int64_t>(0, std::min(count, all - start));
  };
  e.count = {rest(w.gemm.m, e.start.m, wanted.m), rest(w.gemm.k, e.start.k, wanted.k),
             rest(w.gemm.n, e.start.n, wanted.n)};
  // A piece of a row ends with the row.
  std::int64_t& pixels = dx ? e.count.m : e.count.k;
  const std::int64_t first = dx ? e.start.m : e.start.k;
  if ((dx ? wanted.m : wanted.k) < w.row()) pixels = std::min(pixels, w.row() - first % w.row());
  return e;
}

std::vector<MeetingDepth> meetingDepths(const CubeJob& job, const CoreTask& task) {
  std::vector<MeetingDepth> found;
  const bool dx = job.work.pass == Pass::kDx;
  for (std::int64_t tap = dx ? 0 : task.tapDepth; tap < (dx ? job.work.kernel.d : task.tapDepth + 1); ++tap) {
    MeetingDepth m{tap, 0};
    if (meets(job.work, task.depth, tap, m.image)) found.push_back(m);
  }
  return found;
}

BlockStream::BlockStream(const CubeJob& job, const CoreTask& task)
    : job_(&job), task_(task), extent_(cutTask(job, task)), meets_(meetingDepths(job, task)) {
  const CubeWork& w = job.work;
  const CubeTile& t = job.plan.cube().tile;
  dx_ = w.pass == Pass::kDx;
  TilingPlan plan = job.plan;
  plan.cube().singleShape = task.extent;
  if (dx_) plan.cube().singleShape.n = roundUp(plan.cube().singleShape.n, w.c0);
  const CubeFootprint f = footprintOf(w, plan);
  wholeRows_ = w.wholeRows() || (dx_ ? task.extent.m : task.extent.k) / w.row() > 1;
  mBlocks_ = ceilDiv(extent_.count.m, t.base.m);
  nBlocks_ = ceilDiv(extent_.count.n, t.base.n);
  kSteps_ = ceilDiv(extent_.count.k, t.base.k);
  done_ = mBlocks_ == 0 || nBlocks_ == 0;
  a_.buffers = t.buffersA1;
  a_.bytes = f.l1A;
  a_.stepK = t.stepKa;
  a_.l0Buffers = t.buffersL0a;
  a_.l0Bytes = roundUp(t.base.m, 16) * t.base.k * w.elementBytes;  // whole fractals
  b_.buffers = t.buffersB1;
  b_.bytes = f.l1B;
  b_.origin = f.l1A * t.buffersA1;
  b_.stepK = t.stepKb;
  b_.l0Buffers = t.buffersL0b;
  b_.l0Bytes = t.base.k * roundUp(t.base.n, 16) * w.elementBytes;
}

// Within a step of blocks m runs fastest (kNOuter) or n does; then the steps in the same way.
void BlockStream::advance() {
  const CubeTile& t = job_->plan.cube().tile;
  const bool nOuter = t.order == BlockOrder::kNOuter;
  std::int64_t &fast = nOuter ? m_ : n_, &slow = nOuter ? n_ : m_;
  const std::int64_t fastAll = nOuter ? mBlocks_ : nBlocks_, slowAll = nOuter ? nBlocks_ : mBlocks_;
  const std::int64_t fastStep = nOuter ? t.stepM : t.stepN, slowStep = nOuter ? t.stepN : t.stepM;
  const std::int64_t fast0 = fast / fastStep * fastStep, slow0 = slow / slowStep * slowStep;
  if (++fast < std::min(fastAll, fast0 + fastStep)) return;
  fast = fast0;
  if (++slow < std::min(slowAll, slow0 + slowStep)) return;
  slow = slow0;
  fast = fast0 + fastStep;
  if (fast < fastAll) return;
  fast = 0;
  slow = slow0 + slowStep;
  done_ = slow >= slowAll;
}

LoadImage BlockStream::unfoldedPiece(std::int64_t l1, const Span& pixels, const Span& units, std::int64_t depth) const {
  const CubeWork& w = job_->work;
  const std::int64_t reachH = (w.kernel.h - 1) * w.dilation.h, reachW = (w.kernel.w - 1) * w.dilation.w;
  const std::int64_t h0 = pixels.begin / w.row(), h1 = (pixels.end() - 1) / w.row();
  const std::int64_t x0 = pixels.begin % w.row(), x1 = (pixels.end() - 1) % w.row();
  LoadImage i;
  i.l1 = l1;
  i.depth = depth;
  if (w.spread) {
    const std::int64_t height = (w.image.h - 1) * w.stride.h + 1, width = (w.image.w - 1) * w.stride.w + 1;
    i.rows = cut(h0 + w.pad.h - reachH, h1 + w.pad.h + 1, height);
    i.columns = wholeRows_ ? Span{0, width} : cut(x0 + w.pad.w - reachW, x1 + w.pad.w + 1, width);
  } else {
    i.rows = cut(h0 * w.stride.h - w.pad.h, h1 * w.stride.h + reachH - w.pad.h + 1, w.image.h);
    i.columns = wholeRows_ ? Span{0, w.image.w}
                           : cut(x0 * w.stride.w - w.pad.w, x1 * w.stride.w + reachW - w.pad.w + 1, w.image.w);
  }
  const std::int64_t first = units.begin / w.tapsHw;
  i.blocks = {first, (units.end() - 1) / w.tapsHw + 1 - first};
  return i;
}

UnitInstruction BlockStream::loadOf(bool isA, std::int64_t l1, const L1Block& c, std::int64_t unfoldedDepth) const {
  const CubeWork& w = job_->work;
  const CubeTile& t = job_->plan.cube().tile;
  const Operand& operand = isA ? a_ : b_;
  const std::int64_t blockK = operand.stepK * t.base.k, side = isA ? t.stepM * t.base.m : t.stepN * t.base.n;
  const std::int64_t k0 = c.kBlock * blockK, k = std::min(blockK, extent_.count.k - k0);
  const std::int64_t x0 = c.step * side, x = std::min(side, (isA ? extent_.count.m : extent_.count.n) - x0);
  const Span along{extent_.start.k + k0, k}, across{(isA ? extent_.start.m : extent_.start.n) + x0, x};
  const auto units = [&](const Span& s) { return Span{s.begin / w.c0, s.count / w.c0}; };
  if (dx_ && isA) return unfoldedPiece(l1, across, units(along), unfoldedDepth);
  if (dx_) return LoadWeights{l1, c.tap, units(along), across, !w.spread};
  if (isA) return LoadPixels{l1, task_.depth, across, along};
  return unfoldedPiece(l1, along, units(across), unfoldedDepth);
}

// The slot of L1 that holds what is wanted, loaded now if it is not there.
int BlockStream::stage(Operand& o, bool isA, const L1Block& wanted, std::int64_t unfoldedDepth, UnitProgram& program) {
  for (int slot = 0; slot < o.buffers; ++slot) {
    if (o.held[static_cast<std::size_t>(slot)] == wanted) return slot;
  }
  o.newest = (o.newest + 1) % static_cast<int>(o.buffers);
  const auto at = static_cast<std::size_t>(o.newest);
  o.held[at] = wanted;
  o.loads[at] = loadOf(isA, o.origin + o.newest * o.bytes, wanted, unfoldedDepth);
  program.push_back(o.loads[at]);
  return o.newest;
}

UnitInstruction BlockStream::fillOf(const Operand& o, bool isA, int slot, std::int64_t kStep,
                                    const CubeBlock& block) const {
  const CubeWork& w = job_->work;
  const CubeTile& t = job_->plan.cube().tile;
  const L0Side side = isA ? L0Side::kA : L0Side::kB;
  const std::int64_t l0 = o.l0 * o.l0Bytes, k0 = kStep * t.base.k, k = std::min(t.base.k, extent_.count.k - k0);
  const Span along{extent_.start.k + k0, k};
  const Span across = isA ? Span{extent_.start.m + block.m0, block.m} : Span{extent_.start.n + block.n0, block.n};
  const auto units = [&](const Span& s) { return Span{s.begin / w.c0, s.count / w.c0}; };
  const UnitInstruction& load = o.loads[static_cast<std::size_t>(slot)];
  if (const auto* piece = std::get_if<LoadImage>(&load))
    return Unfold{side, l0, *piece, dx_ ? across : along, units(dx_ ? along : across)};
  if (const auto* weights = std::get_if<LoadWeights>(&load)) {
    const std::int64_t ks = weights->units.count * w.c0;
    return LoadFractals{side,
                        l0,
                        weights->l1,
                        weights->plain ? weights->n.count : ks,
                        {across.begin - weights->n.begin, across.count},
                        {along.begin - weights->units.begin * w.c0, along.count},
                        weights->plain};
  }
  const auto& pixels = *std::get_if<LoadPixels>(&load);
  return LoadFractals{side,
                      l0,
                      pixels.l1,
                      pixels.pixels.count,
                      {across.begin - pixels.channels.begin, across.count},
                      {along.begin - pixels.pixels.begin, along.count},
                      false};
}

std::int64_t BlockStream::fillL0(Operand& o, bool isA, int slot, std::int64_t kStep, const CubeBlock& block,
                                 UnitProgram& program) {
  o.l0 = (o.l0 + 1) % static_cast<int>(o.l0Buffers);
  program.push_back(fillOf(o, isA, slot, kStep, block));
  return o.l0 * o.l0Bytes;
}

bool BlockStream::next(CubeBlock& block, UnitProgram& program) {
  program.clear();
  if (done_) return false;
  const CubeTile& t = job_->plan.cube().tile;
  block.mIndex = m_;
  block.nIndex = n_;
  block.m0 = m_ * t.base.m;
  block.n0 = n_ * t.base.n;
  block.m = std::min(t.base.m, extent_.count.m - block.m0);
  block.n = std::min(t.base.n, extent_.count.n - block.n0);
  block.computed = !meets_.empty() && kSteps_ > 0;
  if (block.computed) {
    l0cSlot_ = (l0cSlot_ + 1) % static_cast<int>(t.buffersL0c);
    l0c_ = l0cSlot_ * roundUp(t.base.m, 16) * roundUp(t.base.n, 16) * 4;
    bool first = true;
    for (const MeetingDepth& meet : meets_) {
      for (std::int64_t k = 0; k < kSteps_; ++k) {
        const int a = stage(a_, true, {m_ / t.stepM, meet.tap, k / a_.stepK}, meet.image, program);
        const int b = stage(b_, false, {n_ / t.stepN, meet.tap, k / b_.stepK}, meet.image, program);
        Mmad mmad;
        mmad.l0a = fillL0(a_, true, a, k, block, program);
        mmad.l0b = fillL0(b_, false, b, k, block, program);
        mmad.l0c = l0c_;
        mmad.m1 = ceilDiv(block.m, 16);
        mmad.k1 = ceilDiv(std::min(t.base.k, extent_.count.k - k * t.base.k), job_->work.c0);
        mmad.n1 = ceilDiv(block.n, 16);
        mmad.first = first;
        first = false;
        program.push_back(mmad);
      }
    }
  }
  advance();
  return true;
}

}  // namespace cubejit
