// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing beyond contract.h, moves.h and map.h: their operations, counted.
#include "codegen/tile/work.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "codegen/tile/touch.h"
#include "codegen/tile/walk.h"

namespace cubejit {
namespace {

// Each byte once.
std::int64_t bytesOf(const Kernel& kernel, const SegmentList* list, CallOperand operand) {
  std::vector<ByteRange> ranges;
  visitTouched(kernel, list, operand, [&](ByteRange r) {
    if (!r.empty()) ranges.push_back(r);
    return true;
  });
  std::sort(ranges.begin(), ranges.end(), [](const ByteRange& x, const ByteRange& y) { return x.begin < y.begin; });
  std::int64_t bytes = 0, end = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const std::int64_t begin = i == 0 ? ranges[i].begin : std::max(ranges[i].begin, end);
    bytes += std::max<std::int64_t>(0, ranges[i].end - begin);
    end = i == 0 ? ranges[i].end : std::max(end, ranges[i].end);
  }
  return bytes;
}

std::int64_t stepsOf(const Expression& f) {
  std::int64_t flops = 0;
  for (const ExpressionStep& step : f.steps)
    flops += step.op == ExpressionOp::kDot ? 4 : step.op == ExpressionOp::kFma ? 2 : 1;
  return flops;
}

std::int64_t lanesIn(const LaneRange& range, int lanes) { return range.all() ? lanes : range.hi - range.lo; }

std::int64_t productsOf(const SegmentList& list, std::size_t section) {
  std::int64_t products = 0;
  for (const Segment& segment : list[section]) products += segment.outer;
  return products;
}

std::int64_t flopsOf(const Contract& c, const SegmentList* list) {
  std::int64_t flops = 0;
  for (std::size_t s = 0; s < c.sections.size(); ++s) {
    std::int64_t iteration = 0;
    for (const Step& step : c.sections[s].steps) {
      for (const AOperand& a : step.a) {
        const std::int64_t each = a.kind == AKind::kOne ? 1 : 2 * (step.firstMembers ? 1 : membersOf(c.products));
        for (const Use& use : a.uses) {
          const std::int64_t live = lanesIn(c.accumulators[static_cast<std::size_t>(use.acc)].live(), c.lanes);
          iteration += std::min(live, lanesIn(a.useLanes, c.lanes)) * each;
        }
      }
    }
    flops += iteration * productsOf(*list, s);
  }
  for (const Accumulator& acc : c.accumulators) flops += stepsOf(c.epilogue) * lanesIn(acc.live(), c.lanes);
  return flops;
}
std::int64_t flopsOf(const TileProduct& p, const SegmentList* list) {
  return 2 * p.rows * p.cols * p.pairs * 2 * productsOf(*list, 0);
}
std::int64_t flopsOf(const Map& m, const SegmentList* /*list*/) {
  return m.rows * m.cols * (stepsOf(m.f) + (m.combine == Combine::kNone ? 0 : 1));
}
std::int64_t flopsOf(const LaneReduce& m, const SegmentList* /*list*/) { return m.rows * (m.lanes - 1); }
std::int64_t flopsOf(const Accumulate& m, const SegmentList* list) {
  return m.rows * m.cols * (list == nullptr ? 1 : productsOf(*list, 0));
}
std::int64_t flopsOf(const OneOf<Copy, Transpose, Fill> auto&, const SegmentList* /*list*/) { return 0; }

// Bytes that calls of a kernel touch of each buffer that several tasks or runs see.
class SharedTouches {
 public:
  explicit SharedTouches(const TileProgram& program) : program_(program), touch_(program) {}

  void add(const Phase& phase, const CallSite& site) {
    const std::array<int, 4> streams = streamsOf(*site.call);
    for (std::size_t s = 0; s < streams.size(); ++s) {
      if (streams[s] < 0) continue;
      const int buffer = phase.streams[static_cast<std::size_t>(streams[s])].buffer;
      if (program_.buffers[static_cast<std::size_t>(buffer)].use == Buffer::Use::kPrivate) continue;
      bytes_[{site.variant->kernel, buffer}] +=
          touch_.bytesOf(*site.variant, static_cast<CallOperand>(s)) * site.repeat;
    }
  }
  void addTo(std::vector<KernelWork>& all) const {
    for (const auto& [of, bytes] : bytes_)
      all[static_cast<std::size_t>(of.first)].sharedBytes +=
          std::min(bytes, program_.buffers[static_cast<std::size_t>(of.second)].bytes);
  }

 private:
  const TileProgram& program_;
  ProgramTouch touch_;
  std::map<std::pair<int, int>, std::int64_t> bytes_;  // by kernel and buffer
};

void add(KernelWork& sum, const KernelWork& one, std::int64_t times) {
  sum.calls += times * one.calls;
  sum.flops += times * one.flops;
  sum.readBytes += times * one.readBytes;
  sum.writtenBytes += times * one.writtenBytes;
  sum.pairs |= one.pairs;
  sum.quads |= one.quads;
}

}  // namespace

KernelWork workOf(const Kernel& kernel, const SegmentList* list, bool accumulates) {
  KernelWork work{1, std::visit([&](const auto& k) { return flopsOf(k, list); }, kernel)};
  const auto touched = [&](CallOperand operand) { return bytesOf(kernel, list, operand); };
  const std::int64_t results = touched(CallOperand::kC), besides = touched(CallOperand::kD);
  const Expression* const f = expressionOf(kernel);
  work.readBytes = touched(CallOperand::kA) + touched(CallOperand::kB);
  work.writtenBytes = results;
  (readsD(kernel) ? work.readBytes : work.writtenBytes) += besides;
  if (accumulates || std::holds_alternative<Accumulate>(kernel)) work.readBytes += results;
  if (f != nullptr && f->readsE()) work.readBytes += results;
  if (const auto* contract = std::get_if<Contract>(&kernel)) {
    work.pairs = membersOf(contract->products) == 2;
    work.quads = membersOf(contract->products) == 4;
  }
  work.pairs |= std::holds_alternative<TileProduct>(kernel);
  return work;
}

std::vector<KernelWork> workOf(const TileProgram& program) {
  std::map<std::tuple<int, int, bool>, std::int64_t> calls;
  SharedTouches shared(program);
  for (const Phase& phase : program.phases) {
    walkCalls(phase, [&](const CallSite& site) {
      calls[{site.variant->kernel, site.variant->list, site.variant->accumulate}] += site.repeat;
      shared.add(phase, site);
      return true;
    });
  }
  std::vector<KernelWork> all(program.kernels.size());
  for (const auto& [what, times] : calls) {
    const auto& [kernel, list, accumulates] = what;
    const SegmentList* const segments = list < 0 ? nullptr : &program.lists[static_cast<std::size_t>(list)];
    add(all[static_cast<std::size_t>(kernel)],
        workOf(program.kernels[static_cast<std::size_t>(kernel)], segments, accumulates), times);
  }
  shared.addTo(all);
  return all;
}

}  // namespace cubejit
