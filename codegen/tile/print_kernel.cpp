// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how one contract or move reads. Operands are written as contract.h names them: a, b and c with byte offsets.
#include <sstream>

#include "codegen/tile/print.h"

namespace cubejit {
namespace {

std::string lanesText(const LaneRange& r) {
  return r.all() ? "" : "[" + std::to_string(r.lo) + ".." + std::to_string(r.hi) + ")";
}

// What follows the sums, in the order in which it is done.
std::string postText(const PostOps& p) {
  std::string text;
  const auto then = [&](const std::string& what) { text += (text.empty() ? ", then " : ", ") + what; };
  if (p.bias) then("+ bias");
  if (p.add) then("+ z");
  if (p.activation != Activation::kNone) then(toString(p.activation));
  if (p.activation == Activation::kLeakyRelu || p.activation == Activation::kClip)
    text += " " + std::to_string(p.alpha);
  if (p.activation == Activation::kClip) text += " to " + std::to_string(p.beta);
  return text;
}

std::string place(const char* base, std::int64_t offset, const LaneRange& lanes = {}) {
  return base + std::string(offset < 0 ? "" : "+") + std::to_string(offset) + lanesText(lanes);
}

std::string text(const AOperand& a) {
  switch (a.kind) {
    case AKind::kBroadcast: return "bcast " + place("a", a.offset);
    case AKind::kVector: return "load " + place("a", a.offset, a.lanes);
    case AKind::kPermute: return "perm t" + std::to_string(a.table) + " " + place("a", a.offset, a.lanes);
    case AKind::kPermute2:
      return "perm2 t" + std::to_string(a.table) + " " + place("a", a.offset, a.lanes) + " " +
             place("a", a.offset2, a.lanes2);
  }
  return {};
}

void printSteps(std::ostream& out, const Section& section) {
  for (std::size_t n = 0; n < section.steps.size(); ++n) {
    const Step& step = section.steps[n];
    out << "      step " << n << "\n";
    for (std::size_t i = 0; i < step.b.size(); ++i) {
      out << "        b" << i << " = load " << place("b", step.b[i].offset, step.b[i].lanes) << "\n";
    }
    for (const AOperand& a : step.a) {
      out << "        " << text(a) << " ->" << lanesText(a.useLanes);
      for (const Use& use : a.uses) out << " acc" << use.acc << "*b" << use.b;
      out << "\n";
    }
  }
}

std::string printContract(const Contract& c, Detail detail) {
  std::ostringstream out;
  out << "contract " << c.label << ": " << (c.sets > 1 ? std::to_string(c.sets) + " sets of " : "")
      << c.accumulators.size() << " accumulators of " << c.lanes << " lanes, " << c.sections.size() << " sections"
      << (c.streamingStore ? ", streaming store" : "")
      << (c.vectorsA != Element::kF32 ? std::string(", a of ") + toString(c.vectorsA) : "")
      << (c.vectorsB != Element::kF32 ? std::string(", b of ") + toString(c.vectorsB) : "")
      << (c.vectorsB == Element::kPair ? " " + std::to_string(c.pairPitchB) + " apart" : "")
      << (c.addsToC ? ", adds to c" : "") << (c.copiesB ? ", copies b to d" : "")
      << (c.prefetchResults ? ", prefetches results" : "") << postText(c.post) << "\n";
  for (std::size_t s = 0; s < c.sections.size(); ++s) {
    const Section& section = c.sections[s];
    std::size_t fmas = 0, loads = 0;
    for (const Step& step : section.steps) {
      loads += step.b.size();
      for (const AOperand& a : step.a) {
        loads += a.kind == AKind::kPermute2 ? 2 : 1;
        fmas += a.uses.size();
      }
    }
    out << "    section " << s << ": " << section.steps.size() << " steps, " << fmas << " fmas, " << loads
        << " loads; a += " << section.aOuterStep << ", b += " << section.bOuterStep << "\n";
    if (detail == Detail::kFull) printSteps(out, section);
  }
  if (detail == Detail::kSummary) return out.str();
  for (std::size_t t = 0; t < c.tables.size(); ++t) {
    out << "    t" << t << " =";
    for (const std::int32_t pick : c.tables[t]) out << " " << pick;
    out << "\n";
  }
  for (std::size_t i = 0; i < c.accumulators.size(); ++i) {
    const Accumulator& acc = c.accumulators[i];
    out << "    acc" << i << " at " << place("c", acc.cOffset, acc.lanes)
        << (c.post.bias ? ", bias at " + place("d", acc.biasOffset) : "")
        << (c.post.add && !acc.sums.all() ? ", addends in " + lanesText(acc.sums) : "") << "\n";
  }
  return out.str();
}

std::string printMove(const Move& m) {
  static constexpr const char* kNames[] = {"copy", "transpose", "zero", "accumulate", "lane sums"};
  std::ostringstream out;
  out << kNames[static_cast<int>(m.kind)] << " " << m.label << ": " << m.rows << " x " << m.cols << ", pitch ";
  if (m.kind != MoveKind::kZero) out << m.srcPitch << " -> ";
  out << m.dstPitch;
  if (m.from != Element::kF32 || m.to != Element::kF32) out << ", " << toString(m.from) << " to " << toString(m.to);
  if (m.pairPitch != 0) out << " " << m.pairPitch << " apart";
  if (m.pairsCut != 0) out << ", the last " << m.pairsCut << " without a second member";
  if (m.listed) out << "; of a list, a += " << m.aOuterStep << ", c += " << m.cOuterStep;
  if (m.padCols > 0) out << ", " << m.padCols << " zeros behind";
  out << ", " << m.lanes << " lanes" << (m.streamingStore ? ", streaming store" : "")
      << (m.prefetchAhead > 0 ? ", prefetches " + std::to_string(m.prefetchAhead) + " ahead" : "")
      << (m.backward ? std::string(", times the slope of ") + toString(m.post.activation) : postText(m.post));
  if (m.post.bias) out << ", biases " << m.biasRow << " a row, " << m.biasColumn << " a column";
  out << "\n";
  return out.str();
}

}  // namespace

std::string print(const Kernel& kernel, Detail detail) {
  if (const auto* contract = std::get_if<Contract>(&kernel)) return printContract(*contract, detail);
  return printMove(std::get<Move>(kernel));
}

}  // namespace cubejit
