// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order of steps: of one row of LLVM's unwind table only what differs from the row before.
#include "codegen/llvm_backend/frame.h"

#include <llvm/DebugInfo/DWARF/DWARFDebugFrame.h>

#include <optional>

namespace cubejit {
namespace {

constexpr unsigned kDwarfRegisters =
    96;  // DWARF's numbers of what kernels save: below 17 on x86-64, up to 79 on AArch64

using Row = llvm::dwarf::UnwindRow;
using llvm::dwarf::UnwindLocation;

std::optional<std::int32_t> savedAt(const Row& row, unsigned reg) {
  const auto location = row.getRegisterLocations().getRegisterLocation(reg);
  if (!location || location->getLocation() != UnwindLocation::CFAPlusOffset) return std::nullopt;
  return location->getOffset();
}

void appendChanges(const Row& before, const Row& row, std::int32_t at, std::vector<FrameStep>& steps) {
  const UnwindLocation &was = before.getCFAValue(), &is = row.getCFAValue();
  if (is.getLocation() == UnwindLocation::RegPlusOffset && !(was == is))
    steps.push_back({at, FrameOp::kAddress, static_cast<std::int8_t>(is.getRegister()), is.getOffset()});
  for (unsigned reg = 0; reg < kDwarfRegisters; ++reg) {
    const auto old = savedAt(before, reg), now = savedAt(row, reg);
    if (old == now) continue;
    steps.push_back({at, now ? FrameOp::kSaved : FrameOp::kRestored, static_cast<std::int8_t>(reg), now.value_or(0)});
  }
}

}  // namespace

std::vector<FrameStep> frameOf(llvm::DWARFContext& object) {
  std::vector<FrameStep> steps;
  auto frames = object.getEHFrame();
  if (!frames) {
    llvm::consumeError(frames.takeError());
    return steps;
  }
  for (const llvm::dwarf::FrameEntry& entry : (*frames)->entries()) {
    const auto* function = llvm::dyn_cast<llvm::dwarf::FDE>(&entry);
    if (function == nullptr) continue;
    auto rows = llvm::dwarf::UnwindTable::create(function);
    if (!rows) {
      llvm::consumeError(rows.takeError());
      continue;
    }
    const Row* before = nullptr;
    for (const Row& row : *rows) {
      const std::uint64_t at = row.hasAddress() ? row.getAddress() - function->getInitialLocation() : 0;
      if (before != nullptr) appendChanges(*before, row, static_cast<std::int32_t>(at), steps);
      before = &row;
    }
  }
  return steps;
}

}  // namespace cubejit
