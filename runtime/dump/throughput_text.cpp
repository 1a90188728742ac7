// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the columns. A model that LLVM lacks is named with the reason instead of left out.
#include "runtime/dump/throughput_text.h"

#include <algorithm>
#include <cstdio>

namespace cubejit {

std::vector<CpuThroughput> innerLoopThroughput(const Code& code, const std::vector<MachineLine>& instructions,
                                               const BinaryTools& tools) {
  std::vector<CodeBlock> blocks;
  for (const auto& [begin, end] : innerLoops(instructions)) blocks.push_back({begin, end});
  std::vector<CpuThroughput> out;
  for (const std::string& cpu : tools.throughputCpus(code.isa)) {
    auto measured = tools.throughput(code, blocks, cpu);
    if (measured.ok())
      out.push_back({cpu, "", std::move(*measured)});
    else
      out.push_back({cpu, measured.error().message, {}});
  }
  return out;
}

Result<std::string> throughputText(const Code& code, const std::vector<MachineLine>& instructions,
                                   const BinaryTools& tools) {
  std::string text =
      code.name + " for " + toString(code.isa.level) +
      ": cycles of one iteration of each inner loop, simulated by LLVM's machine-code analyser\n"
      "(loads hit the L1 cache, jumps are foreseen; what the CPU really does is measured by cubejit bench)\n";
  for (const CpuThroughput& cpu : innerLoopThroughput(code, instructions, tools)) {
    text += "\n" + cpu.cpu + "\n";
    if (!cpu.problem.empty()) text += "  not simulated: " + cpu.problem + "\n";
    if (cpu.problem.empty() && cpu.blocks.empty()) text += "  no loops\n";
    for (const BlockThroughput& b : cpu.blocks) {
      char line[160];
      std::snprintf(
          line, sizeof line,
          "  %05x..%05x  %4d instructions  %4d micro-ops  %8.2f cycles (units alone: %.2f)  %5.2f a cycle  busy:",
          static_cast<unsigned>(b.block.begin), static_cast<unsigned>(b.block.end), b.instructions, b.microOps,
          b.cycles, b.bound, b.cycles > 0 ? b.instructions / b.cycles : 0);
      text += line;
      for (std::size_t i = 0; i < std::min<std::size_t>(b.busy.size(), 4); ++i) {
        std::snprintf(line, sizeof line, " %s %.0f%%", b.busy[i].first.c_str(), b.busy[i].second * 100);
        text += line;
      }
      text += "\n";
    }
  }
  return text;
}

}  // namespace cubejit
