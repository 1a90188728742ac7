// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the kernels themselves.
#include "emulation/unit_code.h"

#include <algorithm>

namespace cubejit {
namespace {

constexpr std::int64_t kSide = 16, kRun = 32;

// Sums of `rows` x 16 in registers; each step is one k: 16 weights, and one value a row. For dot products each is a pair of them.
Contract mmadContract(DType operand, bool dots, std::int64_t most, const HostIsa& isa) {
  const auto lanes = static_cast<std::int64_t>(isa.lanes());
  const std::int64_t rows = std::min(most, mmadRows(isa)), vectors = kSide / lanes, c0 = kRun / byteSize(operand);
  const std::int64_t words = dots ? c0 / 2 : c0;
  Contract c;
  c.lanes = static_cast<int>(lanes);
  c.dotProducts = dots;
  c.label = "mmad_" + std::to_string(rows) + "x" + std::to_string(c0) + "x16" + (dots ? "_dots" : "");
  const auto stepAt = [&](std::int64_t i) {
    const std::int64_t k = dots ? i : kOfStep(i, operand);
    Step step;
    for (std::int64_t v = 0; v < vectors; ++v)
      step.b.push_back({static_cast<std::int32_t>((k * kSide + v * lanes) * 4), LaneRange{}});
    for (std::int64_t r = 0; r < rows; ++r) {
      AOperand a;
      a.offset = static_cast<std::int32_t>((r * words + k) * 4);
      for (std::int64_t v = 0; v < vectors; ++v)
        a.uses.push_back({static_cast<std::int16_t>(r * vectors + v), static_cast<std::int16_t>(v)});
      step.a.push_back(a);
    }
    return step;
  };
  // Whole fractals, then what begins one.
  Section whole, part;
  whole.aOuterStep = whole.bOuterStep = kSide * words * 4;
  for (std::int64_t i = 0; i < words; ++i) whole.steps.push_back(stepAt(i));
  const std::int64_t atOnce = mmadWords(dots);
  part.aOuterStep = atOnce * 4;
  part.bOuterStep = atOnce * kSide * 4;
  for (std::int64_t i = 0; i < atOnce; ++i) part.steps.push_back(stepAt(i));
  c.sections = {whole, part};
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t v = 0; v < vectors; ++v)
      c.accumulators.push_back({static_cast<std::int32_t>((r * kSide + v * lanes) * 4), LaneRange{}});
  }
  return c;
}

Move moveOf(MoveKind kind, const HostIsa& isa, std::int64_t rows, std::int64_t cols, std::int64_t srcPitch,
            std::int64_t dstPitch, Element from, Element to, const char* label) {
  Move m;
  m.kind = kind;
  m.lanes = isa.lanes();
  m.rows = rows;
  m.cols = cols;
  m.srcPitch = srcPitch;
  m.dstPitch = dstPitch;
  m.from = from;
  m.to = to;
  m.label = label;
  return m;
}

}  // namespace

bool multipliesPairs(DType operand, const HostIsa& isa) { return operand == DType::kBf16 && isa.bf16Dot; }

std::vector<Kernel> unitKernels(DType operand, const HostIsa& isa) {
  const std::int64_t c0 = kRun / byteSize(operand);
  const bool half = byteSize(operand) == 2;
  const Element from = half ? elementOf(operand) : Element::kF32, to = half ? Element::kF32 : elementOf(operand);
  const Element word = half ? Element::kHalf : Element::kF32;
  std::vector<Kernel> kernels;
  kernels.emplace_back(mmadContract(operand, false, kSide, isa));
  kernels.emplace_back(moveOf(MoveKind::kCopy, isa, 1, kSide * c0, 512, kSide * c0 * 4, from, to, "widen_a"));
  kernels.emplace_back(moveOf(MoveKind::kTranspose, isa, kSide, c0, kRun, kSide * 4, from, to, "widen_b"));
  kernels.emplace_back(moveOf(MoveKind::kTranspose, isa, c0, c0, kRun, kRun, word, word, "turn"));
  kernels.emplace_back(moveOf(MoveKind::kCopy, isa, 1, kRun / 4, kRun, kRun, Element::kF32, Element::kF32, "runs"));
  for (const Element result : {Element::kF32, Element::kF16, Element::kBf16}) {
    kernels.emplace_back(moveOf(MoveKind::kCopy, isa, 1, kSide, kSide * 4, kSide * elementBytes(result), Element::kF32,
                                result, "fixpipe"));
  }
  for (const Element result : {Element::kF32, Element::kF16, Element::kBf16}) {
    kernels.emplace_back(moveOf(MoveKind::kTranspose, isa, kSide, kSide, kSide * 4, kSide * elementBytes(result),
                                Element::kF32, result, "fixpipe_turned"));
  }
  kernels.emplace_back(moveOf(MoveKind::kAccumulate, isa, 1, kSide, 0, 0, Element::kF32, Element::kF32, "fixpipe_add"));
  kernels.emplace_back(moveOf(MoveKind::kCopy, isa, 1, c0, kRun, c0 * 4, from, to, "widen_runs"));
  kernels.emplace_back(moveOf(MoveKind::kTranspose, isa, c0, c0, kRun, c0 * 4, from, to, "widen_turned"));
  kernels.emplace_back(
      moveOf(MoveKind::kCopy, isa, 1, kSide * kRun / 4, 0, 0, Element::kF32, Element::kF32, "runs_16"));
  kernels.emplace_back(moveOf(MoveKind::kZero, isa, 1, kRun / 4, 0, 0, Element::kF32, Element::kF32, "zero_runs"));
  kernels.emplace_back(moveOf(MoveKind::kCopy, isa, 1, 1, 0, 0, word, word, "elements"));
  for (const Element result : {Element::kF32, Element::kF16, Element::kBf16})
    kernels.emplace_back(moveOf(MoveKind::kCopy, isa, 1, kRun / 4, 0, 0, Element::kF32, result, "fixpipe_run"));
  for (const Element result : {Element::kF32, Element::kF16, Element::kBf16})
    kernels.emplace_back(moveOf(MoveKind::kCopy, isa, 1, 1, 0, 0, Element::kF32, result, "fixpipe_one"));
  kernels.emplace_back(moveOf(MoveKind::kAccumulate, isa, 1, 1, 0, 0, Element::kF32, Element::kF32, "fixpipe_add_one"));
  kernels.emplace_back(
      moveOf(MoveKind::kAccumulate, isa, 1, kRun / 4, 0, 0, Element::kF32, Element::kF32, "fixpipe_add_run"));
  for (const std::int64_t columns : {kSide, kRun / 4})
    kernels.emplace_back(moveOf(MoveKind::kAccumulate, isa, kSide, columns, kSide * 4, kSide * 4, Element::kF32,
                                Element::kF32, "fixpipe_add_rows"));
  for (const std::int64_t columns : {kSide, kRun / 4}) {
    for (const Element result : {Element::kF32, Element::kF16, Element::kBf16})
      kernels.emplace_back(moveOf(MoveKind::kCopy, isa, kSide, columns, kSide * 4, columns * elementBytes(result),
                                  Element::kF32, result, "fixpipe_rows"));
  }
  for (const std::int64_t rows : {4, 8, 12}) kernels.emplace_back(mmadContract(operand, false, rows, isa));
  if (!multipliesPairs(operand, isa)) return kernels;
  kernels.emplace_back(mmadContract(operand, true, kSide, isa));
  Move pairs = moveOf(MoveKind::kCopy, isa, 1, kSide, 0, 0, Element::kPair, Element::kF32, "pairs");
  pairs.pairPitch = kRun;
  kernels.emplace_back(pairs);
  kernels.emplace_back(moveOf(MoveKind::kTranspose, isa, kSide, kRun / 4, kRun, kSide * 4, Element::kF32, Element::kF32,
                              "pairs_turned"));
  for (const std::int64_t rows : {4, 8, 12}) kernels.emplace_back(mmadContract(operand, true, rows, isa));
  return kernels;
}

}  // namespace cubejit
