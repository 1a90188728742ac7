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
};

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

void CubeCore::State::execute(const UnitInstruction& instruction, const UnitContext& context) {
  if (code != nullptr && code->operand == context.work.type) {
    if (forwarding) {
      if (const auto* i = std::get_if<Mmad>(&instruction)) return multiplyForwarded(*code, *i, context, panels, memory);
      if (const auto* i = std::get_if<Unfold>(&instruction))
        return cubejit::forward(*code, *i, context, panels, memory);
      if (const auto* i = std::get_if<LoadFractals>(&instruction))
        return cubejit::forward(*code, *i, context, panels, memory);
    }
    if (const auto* i = std::get_if<Mmad>(&instruction)) return cubejit::execute(*code, *i, context, panels, memory);
    if (const auto* i = std::get_if<Unfold>(&instruction)) return cubejit::execute(*code, *i, context, memory);
    if (const auto* i = std::get_if<LoadFractals>(&instruction)) return cubejit::execute(*code, *i, context, memory);
  }
  std::visit([&](const auto& i) { cubejit::execute(i, context, memory); }, instruction);
}

void CubeCore::State::endTask() {
  if (job == nullptr || !taskOpen) return;
  counts.cycles += clock.now();
  taskOpen = false;
}

}  // namespace cubejit
