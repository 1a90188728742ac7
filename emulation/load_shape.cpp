// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides shapes from tables, and moves from shapes.
#include "emulation/load_shape.h"

namespace cubejit {
namespace {

constexpr std::int64_t kRun = 32, kPixelsTogether = 16;
constexpr std::int64_t kFarthest = std::int64_t{1} << 24;  // what sixteen rows apart addresses of 32 bits reach

// The distance of neighbours within every block of c0; 0 if it differs, or is too far.
std::int64_t pitchWithin(const std::vector<std::int64_t>& offsets, std::int64_t c0) {
  std::int64_t pitch = 0;
  for (std::size_t i = 1; i < offsets.size() && offsets[i] != kMissing; ++i) {
    if (static_cast<std::int64_t>(i) % c0 == 0) continue;
    const std::int64_t here = offsets[i] - offsets[i - 1];
    if (pitch != 0 && here != pitch) return 0;
    pitch = here;
  }
  if (pitch == 0) return 1;  // runs of one element
  return pitch < 0 || pitch > kFarthest ? 0 : pitch;
}

std::int64_t existing(const std::vector<std::int64_t>& offsets) {
  std::int64_t n = static_cast<std::int64_t>(offsets.size());
  while (n > 0 && offsets[static_cast<std::size_t>(n) - 1] == kMissing) --n;
  return n;
}

RunShape activationShape(const ActivationTable& t, std::int64_t c0, std::int64_t toPitch) {
  RunShape s;
  s.pitch = pitchWithin(t.channel, c0);
  s.tail = existing(t.channel) % c0;
  s.toPitch = toPitch;
  if (s.pitch >= kPixelsTogether && t.columnPitch == 1) s.together = kPixelsTogether;
  return s;
}

// Weights: runs of results for each summed channel, or, for a transposed convolution, of summed channels for each result. Where the
// taps of a channel are neighbours they are turned together: the units of a block follow each other in L1.
RunShape weightShape(const CubeWork& w, const WeightTable& t) {
  RunShape s;
  s.pitch = pitchWithin(t.inner, w.c0);
  s.tail = existing(t.inner) % w.c0;
  s.toPitch = w.c0 * kRun;
  const bool neighbours = t.tap.size() > 1 && t.tap.back() - t.tap.front() == w.tapsHw - 1;
  if (s.pitch >= w.tapsHw && neighbours && w.spread) s.together = w.tapsHw;
  return s;
}

Move moveOf(const RunShape& s, std::int64_t runs, std::int64_t elements, std::int64_t elementBytes, int lanes,
            const char* label) {
  Move m;
  m.lanes = lanes;
  m.label = label;
  if (s.pitch == 0 || elements == 0 || runs == 0) return m;
  m.from = m.to = elementBytes == 2 ? Element::kHalf : Element::kF32;
  m.padCols = kRun / elementBytes - elements;
  m.srcPitch = s.pitch * elementBytes;
  m.dstPitch = runs == 1 ? kRun : s.toPitch;
  if (runs == 1 && s.pitch == 1) {
    m.rows = 1;
    m.cols = elements;
  } else {
    m.kind = MoveKind::kTranspose;
    m.rows = elements;
    m.cols = runs;
  }
  return m;
}

}  // namespace

LoadShape loadShapeOf(const CubeWork& work, const OperandTables& tables) {
  LoadShape s;
  s.elementBytes = work.elementBytes;
  s.runs[0] = activationShape(tables.image, work.c0, kRun * (work.spread ? work.stride.w : 1));
  if (work.gradient == Gradient::kDx)
    s.runs[2] = weightShape(work, tables.weights);
  else
    s.runs[1] = activationShape(tables.pixels, work.c0, kRun);
  return s;
}

std::vector<Kernel> loadKernels(const LoadShape& shape, int lanes) {
  const std::int64_t c0 = kRun / shape.elementBytes;
  std::vector<Kernel> kernels;
  for (const RunShape& s : shape.runs) {
    kernels.emplace_back(moveOf(s, 1, c0, shape.elementBytes, lanes, "load_run"));
    kernels.emplace_back(moveOf(s, s.together, c0, shape.elementBytes, lanes, "load_runs"));
    kernels.emplace_back(moveOf(s, 1, s.tail, shape.elementBytes, lanes, "load_tail"));
    kernels.emplace_back(moveOf(s, s.together, s.tail, shape.elementBytes, lanes, "load_tails"));
  }
  return kernels;
}

}  // namespace cubejit
