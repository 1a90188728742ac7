// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the small steps of a core.
#include "emulation/core_state.h"

#include <algorithm>

namespace cubejit {
namespace {

struct Destination {
  CoreBuffer buffer;
  std::int64_t begin, bytes;
  bool overlaps(const Destination& other) const {
    return buffer == other.buffer && begin < other.begin + other.bytes && other.begin < begin + bytes;
  }
};

bool isLoad(const UnitInstruction& i) {
  return std::holds_alternative<LoadImage>(i) || std::holds_alternative<LoadWeights>(i) ||
         std::holds_alternative<LoadPixels>(i);
}

Destination destinationOf(const UnitInstruction& instruction, const UnitContext& c) {
  if (const auto* i = std::get_if<LoadImage>(&instruction)) return {CoreBuffer::kL1, i->l1, bytesOf(*i, c)};
  if (const auto* i = std::get_if<LoadWeights>(&instruction)) return {CoreBuffer::kL1, i->l1, bytesOf(*i, c)};
  if (const auto* i = std::get_if<LoadPixels>(&instruction)) return {CoreBuffer::kL1, i->l1, bytesOf(*i, c)};
  const auto l0 = [](L0Side side) { return side == L0Side::kA ? CoreBuffer::kL0a : CoreBuffer::kL0b; };
  if (const auto* i = std::get_if<Unfold>(&instruction)) return {l0(i->side), i->l0, bytesOf(*i, c)};
  if (const auto* i = std::get_if<LoadFractals>(&instruction)) return {l0(i->side), i->l0, bytesOf(*i, c)};
  const auto& i = *std::get_if<Mmad>(&instruction);
  return {CoreBuffer::kL0c, i.l0c, bytesOf(i, c)};
}

}  // namespace

void CubeCore::State::note(CoreBuffer buffer, std::int64_t end) {
  std::int64_t& most = counts.highWater[static_cast<std::size_t>(buffer)];
  most = std::max(most, end);
}

Status CubeCore::State::claim(const UnitInstruction& instruction, const UnitContext& context) {
  const Destination to = destinationOf(instruction, context);
  const std::int64_t end = to.buffer == CoreBuffer::kL1 ? std::min(stream.endInL1(to.begin), memory.bytes(to.buffer))
                                                        : memory.bytes(to.buffer);
  if (to.begin < 0 || to.begin + to.bytes > end)
    return Error{ErrorCode::kInternal, Stage::kRun,
                 std::string(cubejit::toString(to.buffer)) + " ends at " + std::to_string(end) + " there, but '" +
                     cubejit::toString(instruction) + "' writes up to " + std::to_string(to.begin + to.bytes)};
  note(to.buffer, to.begin + to.bytes);
  return Unit{};
}

void CubeCore::State::execute(const ForwardStep& step, const UnitContext& context) {
  const UnitInstruction& instruction = step.instruction;
  if (code == nullptr || code->operand != context.work.type) {
    std::visit([&](const auto& i) { cubejit::execute(i, context, memory); }, instruction);
    return;
  }
  const auto* mmad = std::get_if<Mmad>(&instruction);
  const bool seenOnly = inOrder && step.forwarded && step.onlyReader;
  if (seenOnly) {
    const auto* unfold = std::get_if<Unfold>(&instruction);
    if (unfold != nullptr) findSeen(*unfold, context.work, panels.seen);
    if (panels.seen.count == 0 && (mmad == nullptr || !mmad->first)) return;
  }
  if (isLoad(instruction)) {
    if (!lazy()) return load(instruction, context);
    const Destination to = destinationOf(instruction, context);
    const auto overwritten = [&](const UnitInstruction& w) { return destinationOf(w, context).overlaps(to); };
    std::erase_if(waiting, overwritten);
    std::erase_if(inL1, overwritten);
    waiting.push_back(instruction);
    inL1.push_back(instruction);
    return;
  }
  const bool adds = !seenOnly || panels.seen.count > 0;
  // Which operands may be multiplied as pairs is known when both are in L1.
  if (adds && !waiting.empty() && !(step.apart && (keeps.a || keeps.b))) {
    loadWaiting(step.aL1, context);
    loadWaiting(step.bL1, context);
  }
  const ForwardWay way{pairs(step), seenOnly, step.rows, step.along};
  const auto* i = mmad;
  if (i == nullptr) return move(step, way, context);
  addedSingly = addedSingly || (adds && !way.pairs);
  CubeOperands operands = step.forwarded ? forwardedOperands(*i, context, way, panels)
                                         : readOperands(*code, *i, context, way.pairs, panels, memory);
  if (a != nullptr) operands.a = a;
  if (b != nullptr) operands.b = b;
  multiply(*code, *i, operands, panels, memory);
}

void CubeCore::State::move(const ForwardStep& step, const ForwardWay& way, const UnitContext& context) {
  const UnitInstruction& instruction = step.instruction;
  const auto* unfold = std::get_if<Unfold>(&instruction);
  const auto* fractals = std::get_if<LoadFractals>(&instruction);
  const bool toA = (unfold != nullptr ? unfold->side : fractals->side) == L0Side::kA;
  const std::int64_t l1 = toA ? step.aL1 : step.bL1;
  float* panel = nullptr;
  if (step.forwarded && step.apart && (toA ? keeps.a : keeps.b)) {
    const auto load = std::find_if(inL1.begin(), inL1.end(),
                                   [&](const UnitInstruction& w) { return destinationOf(w, context).begin == l1; });
    const PanelKey key = keyOf(*load, instruction, task, way);
    KeptPanels& kept = toA ? keptA : keptB;
    panel = kept.find(key);
    if (panel != nullptr) {
      (toA ? a : b) = panel;
      return;
    }
    constexpr std::int64_t kRun = 32;
    const std::int64_t words = way.pairs ? context.work.c0 / 2 : context.work.c0;
    panel = kept.add(key, destinationOf(instruction, context).bytes / kRun * words);
  }
  (toA ? a : b) = panel;
  if (step.apart && !waiting.empty()) loadWaiting(l1, context);
  ForwardWay there = way;
  there.to = panel;
  const auto by = [&](const auto& i) {
    step.forwarded ? cubejit::forward(*code, i, context, there, panels, memory)
                   : cubejit::execute(*code, i, context, memory);
  };
  unfold != nullptr ? by(*unfold) : by(*fractals);
}

void CubeCore::State::load(const UnitInstruction& instruction, const UnitContext& context) {
  const auto by = [&](const auto& i) {
    loads != nullptr ? cubejit::execute(*code, *loads, i, context, memory) : cubejit::execute(i, context, memory);
  };
  if (const auto* i = std::get_if<LoadImage>(&instruction)) by(*i);
  if (const auto* i = std::get_if<LoadPixels>(&instruction)) by(*i);
  if (const auto* i = std::get_if<LoadWeights>(&instruction)) by(*i);
  noteRange(instruction, context);
}

void CubeCore::State::loadWaiting(std::int64_t l1, const UnitContext& context) {
  std::erase_if(waiting, [&](const UnitInstruction& w) {
    if (l1 >= 0 && destinationOf(w, context).begin != l1) return false;
    load(w, context);
    return true;
  });
}

void CubeCore::State::prepareForwarding(const GlobalOperands& operands) {
  waiting.clear();
  inL1.clear();
  a = b = nullptr;
  onlySeen = allPairs = false;
  keeps = {};
  if (code == nullptr || code->operand != job->work.type) return;
  const auto &dy = operands.dy.range, &other = (job->work.gradient == Gradient::kDx ? operands.w : operands.x).range;
  if (dy.has_value() && other.has_value()) {
    allPairs = code->dots && pairsAreExact(*dy, *other);
    onlySeen = forwarding && leavesFractalsUnseen(job->work) && zerosAddNothing(job->work.type, *dy, *other);
  }
  if (forwarding && operandsHold && (!code->dots || allPairs)) keeps = reuseOf(*job, allPairs);
}

bool CubeCore::State::seenInOrder(const ForwardedProgram& program) const {
  return onlySeen && std::all_of(program.begin(), program.end(), [](const ForwardStep& step) {
           return isLoad(step.instruction) || (step.forwarded && step.onlyReader);
         });
}

void CubeCore::State::noteRange(const UnitInstruction& load, const UnitContext& context) {
  if (!code->dots || allPairs) return;
  const Destination to = destinationOf(load, context);
  const ExponentRange range = rangeOf(memory.at(CoreBuffer::kL1, to.begin), to.bytes / 2, DType::kBf16);
  for (auto& [begin, known] : ranges) {
    if (begin != to.begin) continue;
    known = range;
    return;
  }
  ranges.emplace_back(to.begin, range);
}

bool CubeCore::State::pairs(const ForwardStep& step) const {
  if (!code->dots || addedSingly || step.aL1 < 0) return false;
  if (allPairs) return true;
  const auto find = [&](std::int64_t l1) {
    return std::find_if(ranges.begin(), ranges.end(), [&](const auto& r) { return r.first == l1; });
  };
  const auto a = find(step.aL1), b = find(step.bL1);
  return a != ranges.end() && b != ranges.end() && pairsAreExact(a->second, b->second);
}

ForwardedProgram CubeCore::State::steps(const UnitContext& context) const {
  ForwardedProgram steps;
  auto forwarded = forwardProgram(program, context);
  if (forwarded.ok()) {
    steps = std::move(*forwarded);
  } else {
    for (const UnitInstruction& instruction : program) steps.push_back({instruction});
  }
  if (forwarding && code != nullptr && code->operand == context.work.type) return steps;
  for (ForwardStep& step : steps) step.forwarded = false;
  return steps;
}

void CubeCore::State::prepareLoads() {
  if (code == nullptr || code->loads == nullptr || code->operand != job->work.type) return;
  const LoadShape shape = loadShapeOf(job->work, tables);
  if (loads == nullptr || !(loads->shape == shape)) loads = code->loads(code->user, shape);
}

void CubeCore::State::endTask() {
  if (job == nullptr || !taskOpen) return;
  counts.cycles += clock.now();
  taskOpen = false;
}

}  // namespace cubejit
