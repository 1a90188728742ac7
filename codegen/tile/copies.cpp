// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the counting: a vector takes lanes * 4 bytes, whichever of its lanes exist.
#include "codegen/tile/copies.h"

#include <cstddef>

namespace cubejit {
namespace {

std::int64_t vectorBytes(const Contract& c) { return std::int64_t{c.lanes} * 4; }

// Vectors that one iteration loads.
std::int64_t vectorsOf(const Section& section) {
  std::int64_t vectors = 0;
  for (const Step& step : section.steps) vectors += static_cast<std::int64_t>(step.b.size());
  return vectors;
}

}  // namespace

std::int64_t copiedBytes(const Contract& contract, const SegmentList& list) {
  std::int64_t vectors = 0;
  for (std::size_t s = 0; s < contract.sections.size(); ++s) {
    for (const Segment& segment : list[s]) vectors += segment.outer * vectorsOf(contract.sections[s]);
  }
  return vectors * vectorBytes(contract);
}

bool visitCopies(const Contract& contract, const SegmentList& list,
                 const std::function<bool(std::int64_t, const LaneRange&)>& visit) {
  if (!contract.copiesB) return true;
  std::int64_t at = 0;
  for (std::size_t s = 0; s < contract.sections.size(); ++s) {
    for (const Segment& segment : list[s]) {
      for (std::int64_t i = 0; i < segment.outer; ++i) {
        for (const Step& step : contract.sections[s].steps) {
          for (const VectorLoad& b : step.b) {
            if (!visit(at, b.lanes)) return false;
            at += vectorBytes(contract);
          }
        }
      }
    }
  }
  return true;
}

std::optional<std::int64_t> copiedFrom(const Contract& contract, const SegmentList& list, std::int64_t offset) {
  if (!contract.copiesB || offset < 0) return std::nullopt;
  std::int64_t vector = offset / vectorBytes(contract);
  const std::int64_t lane = offset % vectorBytes(contract) / 4 * elementBytes(contract.vectorsB);
  for (std::size_t s = 0; s < contract.sections.size(); ++s) {
    const Section& section = contract.sections[s];
    const std::int64_t each = vectorsOf(section);
    for (const Segment& segment : list[s]) {
      if (vector >= segment.outer * each) {
        vector -= segment.outer * each;
        continue;
      }
      std::int64_t rest = vector % each;
      for (const Step& step : section.steps) {
        const auto count = static_cast<std::int64_t>(step.b.size());
        if (rest < count)
          return segment.bOffset + vector / each * section.bOuterStep + step.b[static_cast<std::size_t>(rest)].offset +
                 lane;
        rest -= count;
      }
    }
  }
  return std::nullopt;
}

Contract readingCopies(const Contract& contract) {
  Contract reader = contract;
  reader.copiesB = false;
  reader.vectorsB = Element::kF32;
  reader.pairPitchB = 0;
  for (Section& section : reader.sections) {
    std::int64_t at = 0;
    for (Step& step : section.steps) {
      for (VectorLoad& b : step.b) {
        b.offset = static_cast<std::int32_t>(at);
        at += vectorBytes(contract);
      }
    }
    section.bOuterStep = at;
  }
  return reader;
}

SegmentList readingCopies(const Contract& contract, const SegmentList& list) {
  SegmentList reader = list;
  std::int64_t at = 0;
  for (std::size_t s = 0; s < contract.sections.size(); ++s) {
    for (Segment& segment : reader[s]) {
      segment.bOffset = at;
      at += segment.outer * vectorsOf(contract.sections[s]) * vectorBytes(contract);
    }
  }
  return reader;
}

}  // namespace cubejit
