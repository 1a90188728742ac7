// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing beyond contract.h, moves.h and map.h: their loads and stores as byte ranges.
#include "codegen/tile/touch.h"

#include <algorithm>
#include <optional>

#include "codegen/tile/copies.h"
#include "codegen/tile/matrix.h"
#include "codegen/tile/walk.h"

namespace cubejit {
namespace {

constexpr std::int64_t kWord = 4;

ByteRange shifted(const ByteRange& r, std::int64_t by) { return {r.begin + by, r.end + by}; }

void include(ByteRange& whole, const ByteRange& r) {
  if (r.empty()) return;
  whole = whole.empty() ? r : ByteRange{std::min(whole.begin, r.begin), std::max(whole.end, r.end)};
}

// The range swept when `r` moves `count` times by `step`.
ByteRange swept(ByteRange r, std::int64_t count, std::int64_t step) {
  if (r.empty() || count <= 0) return {};
  ByteRange whole = r;
  include(whole, shifted(r, (count - 1) * step));
  return whole;
}

ByteRange vectorAt(std::int64_t offset, const LaneRange& lanes, int count, std::int64_t element = kWord) {
  return lanes.all() ? ByteRange{offset, offset + count * element}
                     : ByteRange{offset + lanes.lo * element, offset + lanes.hi * element};
}

bool visitStep(const Contract& c, const Step& step, CallOperand operand, const std::function<bool(ByteRange)>& visit) {
  if (operand == CallOperand::kB)
    return std::all_of(step.b.begin(), step.b.end(), [&](const VectorLoad& b) {
      const ByteRange at = vectorAt(b.offset, b.lanes, c.lanes, elementBytes(c.vectorsB));
      const bool second = c.vectorsB == Element::kPair && !step.firstMembers;
      return visit(at) && (!second || visit(shifted(at, c.pairPitchB)));
    });
  return std::all_of(step.a.begin(), step.a.end(), [&](const AOperand& a) {
    if (a.kind == AKind::kOne) return true;
    if (a.kind == AKind::kBroadcast) return visit({a.offset, a.offset + kWord});
    const std::int64_t element = elementBytes(c.vectorsA);
    if (!visit(vectorAt(a.offset, a.lanes, c.lanes, element))) return false;
    return a.kind != AKind::kPermute2 || visit(vectorAt(a.offset2, a.lanes2, c.lanes, element));
  });
}

bool visitKernel(const Contract& c, const SegmentList* list, CallOperand operand,
                 const std::function<bool(ByteRange)>& visit) {
  if (operand == CallOperand::kC)
    return std::all_of(c.accumulators.begin(), c.accumulators.end(), [&](const Accumulator& acc) {
      return visit(vectorAt(acc.cOffset, acc.lanes, c.lanes, elementBytes(c.result)));
    });
  if (operand == CallOperand::kD && c.epilogue.readsD())
    return std::all_of(c.accumulators.begin(), c.accumulators.end(),
                       [&](const Accumulator& acc) { return visit(vectorAt(acc.dOffset, {}, c.lanes)); });
  if (operand == CallOperand::kD)
    return visitCopies(c, *list, [&](std::int64_t at, const LaneRange& r) { return visit(vectorAt(at, r, c.lanes)); });
  for (std::size_t s = 0; s < c.sections.size(); ++s) {
    const Section& section = c.sections[s];
    for (const Segment& segment : (*list)[s]) {
      std::int64_t at = operand == CallOperand::kA ? segment.aOffset : segment.bOffset;
      for (std::int64_t i = 0; i < segment.outer; ++i) {
        for (const Step& step : section.steps) {
          if (!visitStep(c, step, operand, [&](ByteRange r) { return visit(shifted(r, at)); })) return false;
        }
        at += operand == CallOperand::kA ? section.aOuterStep : section.bOuterStep;
      }
    }
  }
  return true;
}

// The tiles of one product that lie through an operand: rows of the block in A and C, columns in B.
struct OperandTiles {
  std::int64_t count = 0, apart = 0;
  std::int64_t step = 0;  // from one of a segment's products to the next
};
OperandTiles tilesOf(const TileProduct& p, CallOperand operand) {
  switch (operand) {
    case CallOperand::kA: return {p.rowTiles(), p.aTile, p.aStep};
    case CallOperand::kB: return {p.columnTiles(), p.bTile, p.bStep};
    case CallOperand::kC: return {p.rowTiles(), p.cTile, 0};
    case CallOperand::kD: break;
  }
  return {};
}
MatrixLines tileOf(const TileProduct& p, CallOperand operand, std::int64_t tile) {
  if (operand == CallOperand::kA) return {p.rowsOf(tile), p.pairs, p.aPitch};
  if (operand == CallOperand::kB) return {p.pairs, p.colsOf(tile), p.bPitch};
  return {p.rowsOf(tile), p.cols, p.cPitch};
}

// What is read through d, and through b: a line for each row.
MatrixLines readThroughD(const Map& m) {
  if (m.cols <= 0 || !m.f.readsD()) return {};
  return {m.rows, m.dColumn == 0 ? 1 : m.cols, m.dRow, elementBytes(m.d)};
}
MatrixLines readThroughB(const Map& m) {
  if (m.cols <= 0 || !m.f.readsB()) return {};
  return {m.rows, m.bColumn == 0 ? 1 : m.cols, m.bRow, elementBytes(m.b)};
}
MatrixLines readThroughD(const OneOf<Copy, Transpose, Fill, Accumulate, LaneReduce> auto&) { return {}; }
MatrixLines readThroughB(const OneOf<Copy, Transpose, Fill, Accumulate, LaneReduce> auto&) { return {}; }

// Calls visit(lines, offset) for what is read through A: the source, and beside it, where elements have several places. It says whether to go on.
bool visitSources(const MatrixKernel auto& m, const std::function<bool(const MatrixLines&, std::int64_t)>& visit) {
  if (!visit(sourceOf(m), 0)) return false;
  if constexpr (OneOf<std::decay_t<decltype(m)>, Copy, Transpose>) {
    for (int member = 1; member <= furtherMembers(m); ++member) {
      if (!visit(membersBehind(m, member), member * m.pairPitch)) return false;
    }
  }
  return true;
}

bool visitLines(const MatrixLines& m, std::int64_t from, const std::function<bool(ByteRange)>& visit) {
  for (std::int64_t line = 0; line < m.lines && m.columns > 0; ++line) {
    if (!visit({from + line * m.pitch, from + line * m.pitch + m.lineBytes()})) return false;
  }
  return true;
}

bool visitKernel(const TileProduct& p, const SegmentList* list, CallOperand operand,
                 const std::function<bool(ByteRange)>& visit) {
  const OperandTiles tiles = tilesOf(p, operand);
  const auto at = [&](std::int64_t from) {
    for (std::int64_t t = 0; t < tiles.count; ++t) {
      if (!visitLines(tileOf(p, operand, t), from + t * tiles.apart, visit)) return false;
    }
    return true;
  };
  if (operand == CallOperand::kC || operand == CallOperand::kD) return at(0);
  for (const Segment& segment : list->front()) {
    const std::int64_t from = operand == CallOperand::kA ? segment.aOffset : segment.bOffset;
    for (std::int64_t i = 0; i < segment.outer; ++i) {
      if (!at(from + i * tiles.step)) return false;
    }
  }
  return true;
}

bool visitMatrix(const MatrixKernel auto& m, CallOperand operand, std::int64_t from,
                 const std::function<bool(ByteRange)>& visit) {
  switch (operand) {
    case CallOperand::kA:
      return visitSources(
          m, [&](const MatrixLines& lines, std::int64_t at) { return visitLines(lines, from + at, visit); });
    case CallOperand::kB: return visitLines(readThroughB(m), from, visit);
    case CallOperand::kC: return visitLines(targetOf(m), from, visit);
    case CallOperand::kD: return visitLines(readThroughD(m), from, visit);
  }
  return true;
}

bool visitKernel(const MatrixKernel auto& m, const SegmentList* list, CallOperand operand,
                 const std::function<bool(ByteRange)>& visit) {
  const std::optional<ListSteps> steps = listSteps(m);
  if (!steps) return visitMatrix(m, operand, 0, visit);
  for (const Segment& segment : list->front()) {
    const bool target = operand == CallOperand::kC;
    for (std::int64_t i = 0; i < segment.outer; ++i) {
      if (!visitMatrix(m, operand, target ? segment.bOffset + i * steps->c : segment.aOffset + i * steps->a, visit))
        return false;
    }
  }
  return true;
}

std::array<ByteRange, 4> extentsOf(const Contract& c, const SegmentList* list) {
  std::array<ByteRange, 4> whole;
  for (const Accumulator& acc : c.accumulators)
    include(whole[2], vectorAt(acc.cOffset, acc.lanes, c.lanes, elementBytes(c.result)));
  for (const Accumulator& acc : c.accumulators) {
    if (c.epilogue.readsD()) include(whole[3], vectorAt(acc.dOffset, {}, c.lanes));
  }
  visitCopies(c, *list, [&](std::int64_t at, const LaneRange& r) {
    include(whole[3], vectorAt(at, r, c.lanes));
    return true;
  });
  for (std::size_t s = 0; s < c.sections.size(); ++s) {
    const Section& section = c.sections[s];
    ByteRange a, b;
    const auto grow = [](ByteRange& r) {
      return [&r](ByteRange touched) {
        include(r, touched);
        return true;
      };
    };
    for (const Step& step : section.steps) {
      visitStep(c, step, CallOperand::kA, grow(a));
      visitStep(c, step, CallOperand::kB, grow(b));
    }
    for (const Segment& segment : (*list)[s]) {
      include(whole[0], shifted(swept(a, segment.outer, section.aOuterStep), segment.aOffset));
      include(whole[1], shifted(swept(b, segment.outer, section.bOuterStep), segment.bOffset));
    }
  }
  return whole;
}

ByteRange hullOf(const MatrixLines& m) { return swept({0, m.lineBytes()}, m.lines, m.pitch); }

std::array<ByteRange, 4> extentsOf(const TileProduct& p, const SegmentList* list) {
  const auto block = [&](CallOperand operand) {
    const OperandTiles tiles = tilesOf(p, operand);
    ByteRange whole;
    for (std::int64_t t = 0; t < tiles.count; ++t)
      include(whole, shifted(hullOf(tileOf(p, operand, t)), t * tiles.apart));
    return whole;
  };
  std::array<ByteRange, 4> whole;
  whole[2] = block(CallOperand::kC);
  const ByteRange a = block(CallOperand::kA), b = block(CallOperand::kB);
  for (const Segment& segment : list->front()) {
    include(whole[0], shifted(swept(a, segment.outer, p.aStep), segment.aOffset));
    include(whole[1], shifted(swept(b, segment.outer, p.bStep), segment.bOffset));
  }
  return whole;
}

std::array<ByteRange, 4> extentsOf(const MatrixKernel auto& m, const SegmentList* list) {
  std::array<ByteRange, 4> matrix{ByteRange{}, hullOf(readThroughB(m)), hullOf(targetOf(m)), hullOf(readThroughD(m))};
  visitSources(m, [&](const MatrixLines& lines, std::int64_t at) {
    if (!lines.empty()) include(matrix[0], shifted(hullOf(lines), at));
    return true;
  });
  const std::optional<ListSteps> steps = listSteps(m);
  if (!steps) return matrix;
  std::array<ByteRange, 4> whole;
  for (const Segment& segment : list->front()) {
    include(whole[0], shifted(swept(matrix[0], segment.outer, steps->a), segment.aOffset));
    include(whole[2], shifted(swept(matrix[2], segment.outer, steps->c), segment.bOffset));
  }
  return whole;
}

}  // namespace

std::array<ByteRange, 4> extents(const Kernel& kernel, const SegmentList* list) {
  return std::visit([&](const auto& k) { return extentsOf(k, list); }, kernel);
}

bool visitTouched(const Kernel& kernel, const SegmentList* list, CallOperand operand,
                  const std::function<bool(ByteRange)>& visit) {
  return std::visit([&](const auto& k) { return visitKernel(k, list, operand, visit); }, kernel);
}

namespace {

const SegmentList* listOf(const TileProgram& program, const Variant& v) {
  return v.list < 0 ? nullptr : &program.lists[static_cast<std::size_t>(v.list)];
}

}  // namespace

ProgramTouch::Touched& ProgramTouch::touched(const Variant& v) {
  const auto [known, fresh] = known_.try_emplace({v.kernel, v.list});
  if (fresh)
    known->second.extents = extents(program_->kernels[static_cast<std::size_t>(v.kernel)], listOf(*program_, v));
  return known->second;
}

const std::array<ByteRange, 4>& ProgramTouch::extentsOf(const Variant& variant) { return touched(variant).extents; }

std::int64_t ProgramTouch::bytesOf(const Variant& v, CallOperand operand) {
  std::int64_t& bytes = touched(v).bytes[static_cast<std::size_t>(operand)];
  if (bytes >= 0) return bytes;
  bytes = 0;
  visitTouched(program_->kernels[static_cast<std::size_t>(v.kernel)], listOf(*program_, v), operand,
               [&](ByteRange range) {
                 bytes += range.end - range.begin;
                 return true;
               });
  return bytes;
}

std::vector<CallAccess> accessesOf(ProgramTouch& touch, const Phase& phase, const Call& call) {
  const Variant& v = call.variants.front();
  const TileProgram& program = touch.program();
  const Kernel& kernel = program.kernels[static_cast<std::size_t>(v.kernel)];
  const bool adds = v.accumulate || std::holds_alternative<Accumulate>(kernel);
  const std::array<int, 4> streams = streamsOf(call);
  std::vector<CallAccess> accesses;
  for (std::size_t s = 0; s < streams.size(); ++s) {
    const ByteRange range = streams[s] < 0 ? ByteRange{} : touch.extentsOf(v)[s];
    if (range.empty()) continue;
    const Stream& stream = phase.streams[static_cast<std::size_t>(streams[s])];
    const auto [low, high] = call.place.reach(s);
    const auto operand = static_cast<CallOperand>(s);
    const bool writes = operand == CallOperand::kC || (operand == CallOperand::kD && !readsD(kernel));
    accesses.push_back({streams[s],
                        stream.buffer,
                        operand,
                        {stream.offset + low + range.begin, stream.offset + high + range.end},
                        !writes || (adds && operand == CallOperand::kC),
                        writes});
  }
  return accesses;
}

}  // namespace cubejit
