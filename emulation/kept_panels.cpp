// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "emulation/kept_panels.h"

#include "tiling/npu/cube_rules.h"

namespace cubejit {
namespace {

class KeyWords {
 public:
  explicit KeyWords(PanelKey& key) : key_(key) {}
  void add(std::int64_t word) { key_.words[next_++] = word; }
  void add(const Span& s) {
    add(s.begin);
    add(s.count);
  }

 private:
  PanelKey& key_;
  std::size_t next_ = 0;
};

}  // namespace

PanelKey keyOf(const UnitInstruction& load, const UnitInstruction& move, const CoreTask& task, const ForwardWay& way) {
  PanelKey key;
  KeyWords words(key);
  words.add(static_cast<std::int64_t>(load.index() * 64 + move.index() * 4) + (way.pairs ? 2 : 0) +
            (way.onlySeen ? 1 : 0));
  words.add(task.group);
  words.add(std::holds_alternative<LoadWeights>(load) ? 0 : task.image);
  if (const auto* i = std::get_if<LoadImage>(&load)) {
    words.add(i->depth);
    words.add(i->rows);
    words.add(i->columns);
    words.add(i->blocks);
  } else if (const auto* i = std::get_if<LoadWeights>(&load)) {
    words.add(i->tapDepth);
    words.add(i->units);
    words.add(i->n);
    words.add(i->plain ? 1 : 0);
  } else if (const auto* i = std::get_if<LoadPixels>(&load)) {
    words.add(i->depth);
    words.add(i->channels);
    words.add(i->pixels);
  }
  if (const auto* i = std::get_if<Unfold>(&move)) {
    words.add(i->side == L0Side::kA ? 0 : 1);
    words.add(i->pixels);
    words.add(i->units);
  } else if (const auto* i = std::get_if<LoadFractals>(&move)) {
    words.add(i->side == L0Side::kA ? 0 : 1);
    words.add(i->pitch);
    words.add(i->x);
    words.add(i->y);
    words.add(i->plain ? 1 : 0);
  }
  return key;
}

PanelReuse reuseOf(const CubeJob& job, bool pairs) {
  const CubeWork& w = job.work;
  const Mkn &single = job.plan.cube().singleShape, &base = job.plan.cube().tile.base;
  const CoreSplit split = splitOf(w, single);
  const std::int64_t wordBytes = pairs ? 2 : 4;
  const auto fits = [](std::int64_t bytes) { return bytes <= KeptPanels::kMostBytes; };
  const Mkn all{std::min(single.m, w.gemm.m), std::min(single.k, w.gemm.k * w.kernel.d), std::min(single.n, w.gemm.n)};
  const std::int64_t a = roundUp(all.m, 16) * all.k * wordBytes, b = roundUp(all.n, 16) * all.k * wordBytes;
  const bool blocksM = all.m > base.m, blocksN = all.n > base.n;
  PanelReuse reuse;
  if (w.gradient == Gradient::kDw) {
    const std::int64_t sums = split.reduction * split.batch * split.depth;
    reuse.a = (blocksN && fits(a)) || (split.channelsN > 1 && fits(a * sums * split.channelsM));
    reuse.b = (blocksM && fits(b)) || (split.channelsM > 1 && fits(b * sums));
    return reuse;
  }
  const std::int64_t places = split.rows * split.batch * split.depth;
  reuse.channelsOutside = !fits(b * split.channelsN) || split.channelsN * all.n > places * all.m;
  const std::int64_t betweenA = reuse.channelsOutside ? places : 1,
                     betweenB = reuse.channelsOutside ? 1 : split.channelsN;
  reuse.a = (blocksN && fits(a)) || (split.channelsN > 1 && fits(a * betweenA));
  reuse.b = (blocksM && fits(b)) || (places > 1 && fits(b * betweenB));
  return reuse;
}

std::size_t KeptPanels::Hash::operator()(const PanelKey& key) const {
  std::uint64_t hash = 0;
  for (const std::int64_t word : key.words) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;
    hash = (hash ^ static_cast<std::uint64_t>(word)) * kOdd;
    hash ^= hash >> 29;
  }
  return static_cast<std::size_t>(hash);
}

float* KeptPanels::find(const PanelKey& key) const {
  const auto found = kept_.find(key);
  return found == kept_.end() ? nullptr : found->second;
}

float* KeptPanels::add(const PanelKey& key, std::int64_t floats) {
  constexpr std::int64_t kLine = 16, kMost = kMostBytes / 4;
  floats = roundUp(floats, kLine);
  if (floats > kMost) return nullptr;
  if (room_ == nullptr) room_.reset(static_cast<float*>(std::aligned_alloc(64, static_cast<std::size_t>(kMostBytes))));
  if (room_ == nullptr) return nullptr;
  if (used_ + floats > kMost) clear();
  float* panel = room_.get() + used_;
  used_ += floats;
  kept_.insert_or_assign(key, panel);
  return panel;
}

void KeptPanels::clear() {
  kept_.clear();
  used_ = 0;
}

}  // namespace cubejit
