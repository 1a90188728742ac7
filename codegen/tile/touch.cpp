// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing beyond contract.h and move.h: their loads and stores as byte ranges.
#include "codegen/tile/touch.h"

#include <algorithm>

#include "codegen/tile/copies.h"
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
  if (operand == CallOperand::kD && c.post.bias)
    return std::all_of(c.accumulators.begin(), c.accumulators.end(),
                       [&](const Accumulator& acc) { return visit(vectorAt(acc.biasOffset, {}, c.lanes)); });
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

// What one row reads through d. Biases: whole vectors.
std::int64_t biasBytesOfRow(const Move& m) {
  if (m.backward) return m.cols * elementBytes(m.result);
  if (m.biasColumn == 0) return kWord;
  return (m.cols - 1) / m.lanes * m.lanes * m.biasColumn + m.lanes * kWord;
}

bool visitMatrix(const Move& m, CallOperand operand, const std::function<bool(ByteRange)>& visit) {
  if (operand == CallOperand::kD && readsD(m)) {
    for (std::int64_t r = 0; r < m.rows && m.cols > 0; ++r) {
      if (!visit({r * m.biasRow, r * m.biasRow + biasBytesOfRow(m)})) return false;
    }
    return true;
  }
  if (operand == CallOperand::kB || operand == CallOperand::kD ||
      (operand == CallOperand::kA && m.kind == MoveKind::kZero))
    return true;
  if (operand == CallOperand::kC && m.kind == MoveKind::kLaneSums) return m.rows == 0 || visit({0, m.rows * kWord});
  const bool turned = operand == CallOperand::kC && m.kind == MoveKind::kTranspose;
  const std::int64_t lines = turned ? m.cols : m.rows,
                     length = (turned ? m.rows : m.cols) + (operand == CallOperand::kC ? m.padCols : 0);
  const std::int64_t pitch = operand == CallOperand::kC ? m.dstPitch : m.srcPitch;
  const std::int64_t element = elementBytes(operand == CallOperand::kC ? m.to : m.from);
  const auto visitLines = [&](std::int64_t from, std::int64_t count, std::int64_t columns) {
    for (std::int64_t line = 0; line < count && columns > 0; ++line) {
      if (!visit({from + line * pitch, from + line * pitch + columns * element})) return false;
    }
    return true;
  };
  if (!visitLines(0, lines, length)) return false;
  if (operand == CallOperand::kC || m.pairPitch == 0) return true;
  const bool cutColumns = m.kind == MoveKind::kTranspose;
  return visitLines(m.pairPitch, cutColumns ? lines : lines - m.pairsCut, cutColumns ? length - m.pairsCut : length);
}

bool visitKernel(const Move& m, const SegmentList* list, CallOperand operand,
                 const std::function<bool(ByteRange)>& visit) {
  if (!m.listed) return visitMatrix(m, operand, visit);
  for (const Segment& segment : list->front()) {
    std::int64_t at = operand == CallOperand::kC ? segment.bOffset : segment.aOffset;
    for (std::int64_t i = 0; i < segment.outer; ++i) {
      if (!visitMatrix(m, operand, [&](ByteRange r) { return visit(shifted(r, at)); })) return false;
      at += operand == CallOperand::kC ? m.cOuterStep : m.aOuterStep;
    }
  }
  return true;
}

std::array<ByteRange, 4> extentsOf(const Contract& c, const SegmentList* list) {
  std::array<ByteRange, 4> whole;
  for (const Accumulator& acc : c.accumulators)
    include(whole[2], vectorAt(acc.cOffset, acc.lanes, c.lanes, elementBytes(c.result)));
  for (const Accumulator& acc : c.accumulators) {
    if (c.post.bias) include(whole[3], vectorAt(acc.biasOffset, {}, c.lanes));
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

std::array<ByteRange, 4> extentsOfMatrix(const Move& m) {
  const bool turned = m.kind == MoveKind::kTranspose;
  std::array<ByteRange, 4> whole;
  if (m.kind != MoveKind::kZero) whole[0] = swept({0, m.cols * elementBytes(m.from)}, m.rows, m.srcPitch);
  if (m.pairPitch != 0) {
    const std::int64_t cutRows = turned ? 0 : m.pairsCut, cutColumns = turned ? m.pairsCut : 0;
    if (m.cols > cutColumns)
      include(whole[0], swept({m.pairPitch, m.pairPitch + (m.cols - cutColumns) * elementBytes(m.from)},
                              m.rows - cutRows, m.srcPitch));
  }
  if (readsD(m) && m.cols > 0) whole[3] = swept({0, biasBytesOfRow(m)}, m.rows, m.biasRow);
  if (m.kind == MoveKind::kLaneSums) {
    whole[2] = {0, m.rows * kWord};
    return whole;
  }
  whole[2] =
      swept({0, ((turned ? m.rows : m.cols) + m.padCols) * elementBytes(m.to)}, turned ? m.cols : m.rows, m.dstPitch);
  return whole;
}

std::array<ByteRange, 4> extentsOf(const Move& m, const SegmentList* list) {
  const std::array<ByteRange, 4> matrix = extentsOfMatrix(m);
  if (!m.listed) return matrix;
  std::array<ByteRange, 4> whole;
  for (const Segment& segment : list->front()) {
    include(whole[0], shifted(swept(matrix[0], segment.outer, m.aOuterStep), segment.aOffset));
    include(whole[2], shifted(swept(matrix[2], segment.outer, m.cOuterStep), segment.bOffset));
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
  const auto* move = std::get_if<Move>(&program.kernels[static_cast<std::size_t>(v.kernel)]);
  const bool adds = move == nullptr ? v.accumulate : move->kind == MoveKind::kAccumulate;
  const std::array<int, 4> streams = streamsOf(call);
  std::vector<CallAccess> accesses;
  for (std::size_t s = 0; s < streams.size(); ++s) {
    const ByteRange range = streams[s] < 0 ? ByteRange{} : touch.extentsOf(v)[s];
    if (range.empty()) continue;
    const Stream& stream = phase.streams[static_cast<std::size_t>(streams[s])];
    const auto [low, high] = call.place.reach(s);
    const auto operand = static_cast<CallOperand>(s);
    const bool writes = operand == CallOperand::kC ||
                        (operand == CallOperand::kD && !readsD(program.kernels[static_cast<std::size_t>(v.kernel)]));
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
