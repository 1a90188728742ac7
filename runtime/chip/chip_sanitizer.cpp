// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing beyond the header.
#include "runtime/chip/chip_sanitizer.h"

#include <string>

#include "emulation/program_sanitizer.h"
#include "runtime/chip/chip_report.h"
#include "tiling/rule_lines.h"

namespace cubejit {

SanitizerReport sanitizeChip(const Problem& problem, const TilingPlan& plan, const Machine& chip,
                             const TileProgram& tile) {
  return sanitizeProgram(problem, tile, [&](const Phase& phase) { return coresOfVisits(problem, plan, chip, phase); });
}

Status sanitizeEach(const std::vector<TileProgram>& tiles, const Problem& problem, const std::vector<TilingPlan>& plans,
                    const Machine& machine, const Options& options) {
  if (!options.sanitize || !machine.isEmulated()) return Unit{};
  std::vector<std::string> all;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const SanitizerReport report = sanitizeChip(problem, plans[i], machine, tiles[i]);
    for (const Finding& finding : report.findings)
      all.push_back(std::string(toString(plans[i].pass)) + ": " + describe(finding));
    if (report.dropped > 0) all.push_back("and " + std::to_string(report.dropped) + " more");
  }
  if (all.empty()) return Unit{};
  return Error{ErrorCode::kInternal, Stage::kTile, inLines(all)};
}

}  // namespace cubejit
