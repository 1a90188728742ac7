// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a kernel around the documented classes deals a gradient to blocks: the tasks of the calling block, one after the
// other, with the offsets that the classes ask of their caller. Written from the documentation, not from the classes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernel_operator.h"
#include "tiling/conv_backprop/conv3d_bp_filter_tilingdata.h"
#include "tiling/conv_backprop/conv3d_bp_input_tilingdata.h"

namespace cubejit {

inline std::int64_t partsOf(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

/// Digits of a task's number, taken from the innermost.
class TaskDigits {
 public:
  explicit TaskDigits(std::int64_t number) : rest_(number) {}
  std::int64_t take(std::int64_t count) {
    const std::int64_t digit = rest_ % count;
    rest_ /= count;
    return digit;
  }

 private:
  std::int64_t rest_;
};

/// Contiguous runs of tasks, one a block.
class FollowedTasks {
 public:
  explicit FollowedTasks(std::int64_t tasks) {
    const std::int64_t blocks = AscendC::GetBlockNum(), share = partsOf(tasks, blocks);
    next_ = std::min(AscendC::GetBlockIdx() * share, tasks);
    end_ = std::min(next_ + share, tasks);
  }
  bool next(std::int64_t& number) {
    if (next_ == end_) return false;
    number = next_++;
    return true;
  }

 private:
  std::int64_t next_ = 0, end_ = 0;
};

struct InputTask {
  std::uint64_t m = 0, k = 0;
  std::uint32_t n = 0, din = 0;
  std::int32_t ho = 0;
  std::uint64_t offsetA = 0, offsetB = 0, offsetC = 0;
};

class InputTasks {
 public:
  using Tiling = AscendC::tiling::TConv3DBackpropInputTiling;
  InputTasks(const Tiling& tiling, ConvCommonApi::ConvFormat format)
      : t_(tiling),
        plain_(format == ConvCommonApi::ConvFormat::NCDHW),
        rows_(static_cast<std::int64_t>(tiling.singleCoreM) / tiling.wi),
        mParts_(partsOf(tiling.hi, rows_)),
        nParts_(partsOf(std::int64_t{tiling.cin1G} * tiling.c0, static_cast<std::int64_t>(tiling.singleCoreCin))),
        run_(mParts_ * tiling.group * tiling.batch * tiling.di * nParts_) {}

  bool next(InputTask& task) {
    std::int64_t number = 0;
    if (!run_.next(number)) return false;
    TaskDigits digits(number);
    const std::int64_t nIdx = digits.take(nParts_), din = digits.take(t_.di), image = digits.take(t_.batch),
                       group = digits.take(t_.group), mIdx = digits.take(mParts_);
    const std::int64_t c0 = t_.c0, wi = t_.wi, plane = t_.hi * wi, first = mIdx * rows_,
                       cin = static_cast<std::int64_t>(t_.singleCoreCin), channel = nIdx * cin;
    task.m = static_cast<std::uint64_t>(std::min(rows_, t_.hi - first) * wi);
    task.k = std::uint64_t{t_.dk} * t_.hk * t_.wk * t_.cout1G * t_.c0;
    task.n = static_cast<std::uint32_t>(std::min(cin, std::min<std::int64_t>(t_.cin, t_.cin1G * c0) - channel));
    task.din = static_cast<std::uint32_t>(din);
    task.ho = static_cast<std::int32_t>(first - t_.backpropPadUp);
    const std::int64_t alignedHo = task.ho < 0 ? 0 : partsOf(task.ho, t_.strideH);
    const std::int64_t alignedCout = partsOf(t_.cout1G * c0, 16) * 16, taps = std::int64_t{t_.hk} * t_.wk;
    task.offsetA =
        static_cast<std::uint64_t>(((image * t_.dout * t_.cout1 + group * t_.cout1G) * t_.ho + alignedHo) * t_.wo * c0);
    task.offsetB = static_cast<std::uint64_t>((group * t_.dk * t_.cin1G + channel / c0) * taps * alignedCout * c0);
    task.offsetC = static_cast<std::uint64_t>(
        plain_ ? (image * t_.cin + group * t_.cin1G * c0 + channel) * t_.di * plane + first * wi
               : (image * t_.di * t_.cin1 + group * t_.cin1G + channel / c0) * plane * c0 + first * wi * c0);
    return true;
  }

 private:
  const Tiling& t_;
  bool plain_;
  std::int64_t rows_, mParts_, nParts_;
  FollowedTasks run_;
};

struct FilterTask {
  std::uint64_t m = 0, n = 0, k = 0;
  std::uint32_t ho = 0;
  std::uint64_t offsetA = 0, offsetB = 0, offsetC = 0;  ///< gradOutput, input, gradWeight
};

class FilterTasks {
 public:
  using Tiling = AscendC::tiling::TConv3DBpFilterTiling;
  explicit FilterTasks(const Tiling& tiling)
      : t_(tiling),
        c0_(tiling.channelSize),
        coutG_(partsOf(std::int64_t{tiling.cout1G} * c0_, 16) * 16),
        cin1_(partsOf(tiling.cin, c0_)),
        cout1_(partsOf(tiling.cout, c0_)),
        groups_(partsOf(cin1_, tiling.cin1G)),
        mParts_(partsOf(coutG_, tiling.singleCoreCout)),
        nParts_(partsOf(std::int64_t{tiling.cin1G} * c0_, static_cast<std::int64_t>(tiling.singleCoreCin))),
        kParts_(partsOf(tiling.ho, tiling.singleCoreHo)),
        run_(kParts_ * tiling.batch * tiling.dout * tiling.dk * nParts_ * mParts_ * groups_) {}

  /// Depths that do not meet are passed over.
  bool next(FilterTask& task) {
    for (std::int64_t number = 0; run_.next(number);) {
      if (make(number, task)) return true;
    }
    return false;
  }

 private:
  bool make(std::int64_t number, FilterTask& task) const {
    TaskDigits digits(number);
    const std::int64_t mIdx = digits.take(mParts_), nIdx = digits.take(nParts_), kd = digits.take(t_.dk),
                       od = digits.take(t_.dout), image = digits.take(t_.batch), kIdx = digits.take(kParts_),
                       group = digits.take(groups_);
    const std::int64_t din = od * t_.strideD - t_.padFront + kd * t_.dilationD;
    // Of the last real group the tensors may have fewer blocks.
    const std::int64_t out = group * t_.cout1G + mIdx * t_.singleCoreCout / c0_,
                       in = group * t_.cin1G + nIdx * static_cast<std::int64_t>(t_.singleCoreCin) / c0_;
    if (din < 0 || din >= t_.di || out >= cout1_ || in >= cin1_) return false;
    const std::int64_t cin = static_cast<std::int64_t>(t_.singleCoreCin), taps = std::int64_t{t_.hk} * t_.wk;
    const std::int64_t first = kIdx * t_.singleCoreHo, row = std::max<std::int64_t>(first * t_.strideH - t_.padUp, 0);
    task.m = static_cast<std::uint64_t>(
        std::min({std::int64_t{t_.singleCoreCout}, coutG_ - mIdx * t_.singleCoreCout, (cout1_ - out) * c0_}));
    task.n = static_cast<std::uint64_t>(std::min({cin, t_.cin1G * c0_ - nIdx * cin, (cin1_ - in) * c0_}) * taps);
    task.k = static_cast<std::uint64_t>(std::min<std::int64_t>(t_.singleCoreHo, t_.ho - first) * t_.wo);
    task.ho = static_cast<std::uint32_t>(first);
    task.offsetA = static_cast<std::uint64_t>((((image * t_.dout + od) * cout1_ + out) * t_.ho + first) * t_.wo * c0_);
    task.offsetB = static_cast<std::uint64_t>((((image * t_.di + din) * cin1_ + in) * t_.hi + row) * t_.wi * c0_);
    task.offsetC = static_cast<std::uint64_t>((group * t_.dk + kd) * t_.cin1G * c0_ * coutG_ * taps +
                                              nIdx * cin * taps * coutG_ + mIdx * t_.singleCoreCout * c0_);
    return true;
  }

  const Tiling& t_;
  std::int64_t c0_, coutG_, cin1_, cout1_, groups_, mParts_, nParts_, kParts_;
  FollowedTasks run_;
};

}  // namespace cubejit
