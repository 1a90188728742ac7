// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a TileProgram reads: buffers, kernels, then each phase as a loop nest.
#include "codegen/tile/print.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace cubejit {
namespace {

const char* toString(BufferRole role) {
  static constexpr const char* kNames[] = {"dy", "x", "w", "dx", "dw", "db", "shared", "private", "constant"};
  return kNames[static_cast<int>(role)];
}

const char* toString(MoveKind kind) {
  static constexpr const char* kNames[] = {"copy", "transpose", "zero", "accumulate"};
  return kNames[static_cast<int>(kind)];
}

std::string lanesText(const LaneRange& r) {
  return r.all() ? "" : "[" + std::to_string(r.lo) + ".." + std::to_string(r.hi) + ")";
}

void printStep(std::ostream& out, const Step& step) {
  for (std::size_t i = 0; i < step.b.size(); ++i)
    out << "        b" << i << " = load b" << std::showpos << step.b[i].offset << std::noshowpos
        << lanesText(step.b[i].lanes) << "\n";
  static constexpr const char* kKinds[] = {"bcast", "load", "perm", "perm2"};
  for (const AOperand& a : step.a) {
    out << "        " << kKinds[static_cast<int>(a.kind)] << " a" << std::showpos << a.offset << std::noshowpos
        << lanesText(a.lanes);
    if (a.table >= 0) out << " table" << a.table;
    out << " ->" << lanesText(a.useLanes);
    for (const Use& use : a.uses) out << " acc" << use.acc << "*b" << use.b;
    out << "\n";
  }
}

void printKernel(std::ostream& out, const Contract& c, bool full) {
  out << "contract " << c.label << ": " << c.accumulators.size() << " accumulators of " << c.lanes << " lanes, "
      << c.sections.size() << " sections" << (c.streamingStore ? ", streaming store" : "") << "\n";
  for (std::size_t s = 0; s < c.sections.size(); ++s) {
    const Section& section = c.sections[s];
    std::size_t fmas = 0, loads = 0;
    for (const Step& step : section.steps) {
      loads += step.b.size() + step.a.size();
      for (const AOperand& a : step.a) fmas += a.uses.size();
    }
    out << "    section " << s << ": " << section.steps.size() << " steps, " << fmas << " fmas, " << loads
        << " loads; a += " << section.aOuterStep << ", b += " << section.bOuterStep << "\n";
    if (!full) continue;
    for (const Step& step : section.steps) {
      out << "      step\n";
      printStep(out, step);
    }
  }
  if (!full) return;
  for (std::size_t i = 0; i < c.accumulators.size(); ++i)
    out << "    acc" << i << " at c" << std::showpos << c.accumulators[i].cOffset << std::noshowpos
        << lanesText(c.accumulators[i].lanes) << "\n";
}

void printKernel(std::ostream& out, const Move& m, bool) {
  out << toString(m.kind) << " " << m.label << ": " << m.rows << " x " << m.cols << ", pitch " << m.srcPitch << " -> "
      << m.dstPitch;
  if (m.padCols > 0) out << ", " << m.padCols << " zeros behind";
  out << "\n";
}

void printNodes(std::ostream& out, const Phase& phase, const std::vector<Node>& nodes, int depth) {
  const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
  for (const Node& node : nodes) {
    if (node.axis >= 0) {
      const Axis& axis = phase.axes[static_cast<std::size_t>(node.axis)];
      std::int64_t iterations = 0;
      for (const AxisStep& step : axis.steps) iterations += step.repeat;
      out << indent << "for " << axis.name << " in " << axis.steps.size() << " steps";
      if (iterations != static_cast<std::int64_t>(axis.steps.size()))
        out << " (" << iterations << " iterations, repeated inside the kernel)";
      if (axis.windowAxis >= 0) out << " dealt by " << phase.axes[static_cast<std::size_t>(axis.windowAxis)].name;
      out << "\n";
      printNodes(out, phase, node.body, depth + 1);
      continue;
    }
    const auto stream = [&](int s) {
      return s < 0 ? std::string("-") : phase.streams[static_cast<std::size_t>(s)].name;
    };
    out << indent << node.call.name << "(" << stream(node.call.a) << ", " << stream(node.call.b) << ", "
        << stream(node.call.c) << ") ->";
    std::set<int> kernels;
    for (const Variant& v : node.call.variants) {
      if (v.kernel >= 0) kernels.insert(v.kernel);
    }
    for (const int k : kernels) out << " k" << k;
    out << "; " << node.call.variants.size() << " variants\n";
  }
}

}  // namespace

std::string print(const TileProgram& program, bool full) {
  std::ostringstream out;
  out << "tile program " << program.name << "\n\nbuffers\n";
  for (const Buffer& b : program.buffers)
    out << "  " << b.name << " (" << toString(b.role) << "): " << b.bytes << " bytes\n";
  out << "\nkernels\n";
  for (std::size_t i = 0; i < program.kernels.size(); ++i) {
    out << "  k" << i << " ";
    std::visit([&](const auto& k) { printKernel(out, k, full); }, program.kernels[i]);
  }
  out << "\nlists: " << program.lists.size() << "\n";
  for (std::size_t i = 0; i < program.lists.size() && (full || i < 4); ++i) {
    out << "  l" << i;
    for (std::size_t s = 0; s < program.lists[i].size(); ++s) {
      out << " s" << s << ":";
      for (std::size_t n = 0; n < program.lists[i][s].size() && (full || n < 3); ++n) {
        const Segment& g = program.lists[i][s][n];
        out << " (a" << std::showpos << g.aOffset << " b" << g.bOffset << std::noshowpos << " x" << g.outer << ")";
      }
      if (!full && program.lists[i][s].size() > 3) out << " ... " << program.lists[i][s].size();
    }
    out << "\n";
  }
  for (const Phase& phase : program.phases) {
    out << "\nphase " << phase.name << ": " << taskCount(phase) << " tasks";
    for (const int axis : phase.parallelAxes)
      out << (axis == phase.parallelAxes.front() ? " over " : " x ") << phase.axes[static_cast<std::size_t>(axis)].name;
    out << "\n";
    for (const Stream& s : phase.streams)
      out << "  stream " << s.name << " = " << program.buffers[static_cast<std::size_t>(s.buffer)].name << std::showpos
          << s.offset << std::noshowpos << "\n";
    printNodes(out, phase, phase.body, 1);
  }
  return out.str();
}

}  // namespace cubejit
