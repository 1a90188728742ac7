// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how one tile instruction reads: its kind, its label, the words of its fields (tile/kernel_fields.h), and a line for each run of a
// contract's parts. Operands are written as contract.h names them: a, b and c with byte offsets.
#include <optional>
#include <type_traits>

#include "codegen/text/text_stream.h"
#include "codegen/text/writer.h"
#include "codegen/tile/kernel_fields.h"
#include "codegen/tile/print.h"
#include "codegen/tile/run_text.h"

namespace cubejit {
namespace {

// What a run must save to be worth its words, where entries stand in one line.
constexpr std::size_t kLeastInLine = 3;

std::string valueText(const std::optional<ListSteps>& list) {
  return list ? " " + signedText(list->a) + " " + signedText(list->c) : "";
}
std::string valueText(const ExpressionValue& value) {
  switch (value.kind) {
    case ExpressionValue::Kind::kElement: return "v";
    case ExpressionValue::Kind::kD: return "d";
    case ExpressionValue::Kind::kB: return "b";
    case ExpressionValue::Kind::kE: return "e";
    case ExpressionValue::Kind::kStep: return "t" + std::to_string(value.word);
    case ExpressionValue::Kind::kConstant: return floatText(std::bit_cast<float>(value.word));
    case ExpressionValue::Kind::kWord: return "w" + std::to_string(value.word);
  }
  return "";
}
// Steps one behind another; tN is what step N gives.
std::string valueText(const Expression& f) {
  std::string text;
  for (const ExpressionStep& step : f.steps) {
    text += std::string(" ") + toString(step.op);
    for (std::size_t i = 0; i < arity(step.op); ++i) text += (i == 0 ? "(" : ", ") + valueText(step.operands[i]);
    text += ")";
  }
  return text;
}
// Pairs of bf16, unless it is said which ones.
std::string valueText(Products products) {
  return products == Products::kQuads ? " i8" : products == Products::kF32 ? " none" : "";
}
template <class T>
std::string valueText(const T& value) {
  if constexpr (std::is_enum_v<T>)
    return std::string(" ") + toString(value);
  else if constexpr (std::is_same_v<T, bool>)
    return "";
  else
    return " " + std::to_string(value);
}

template <class K>
void fields(std::ostream& out, const K& kernel) {
  static const K kDefault;
  const auto one = [&](const auto& field) {
    if constexpr (std::is_invocable_v<decltype(field.get), const K&>) {
      const std::string text = valueText(field.get(kernel));
      const bool flag = std::is_same_v<std::decay_t<decltype(field.get(kernel))>, bool>;
      if (flag ? field.get(kernel) != field.get(kDefault) : text != valueText(field.get(kDefault)))
        out << " " << field.word << text;
    }
  };
  std::apply([&](const auto&... field) { (one(field), ...); }, kKernelFields);
}

std::string lanesText(const LaneRange& r) {
  return r == LaneRange{} ? "" : "[" + std::to_string(r.lo) + ".." + std::to_string(r.hi) + ")";
}
std::string place(const char* base, std::int64_t offset, const LaneRange& lanes = {}) {
  return base + signedText(offset) + lanesText(lanes);
}

std::string text(const AOperand& a) {
  switch (a.kind) {
    case AKind::kBroadcast: return "bcast " + place("a", a.offset, a.lanes);
    case AKind::kVector: return "vector " + place("a", a.offset, a.lanes);
    case AKind::kPermute: return "perm t" + std::to_string(a.table) + " " + place("a", a.offset, a.lanes);
    case AKind::kPermute2:
      return "perm2 t" + std::to_string(a.table) + " " + place("a", a.offset, a.lanes) + " " +
             place("a", a.offset2, a.lanes2);
    case AKind::kOne: return "one";
  }
  return {};
}

std::string usesText(const std::vector<Use>& uses) {
  std::string text;
  eachRun(uses, kLeastInLine, uses.size(), [&](const Use& use, const std::string& more) {
    text += " acc" + std::to_string(use.acc) + "*b" + std::to_string(use.b) + more;
  });
  return text;
}

void printStep(std::ostream& out, const Step& step, const std::string& repeat) {
  out << "    step" << (step.firstMembers ? " first_members" : "");
  if (step.prefetchAhead != 0) out << " prefetch_ahead " << step.prefetchAhead;
  if (step.prefetchB != 0) out << " prefetch_b " << step.prefetchB;
  out << repeat << "\n";
  eachRun(step.b, 1, step.b.size(), [&](const VectorLoad& b, const std::string& more) {
    out << "      load " << place("b", b.offset, b.lanes) << more << "\n";
  });
  eachRun(step.a, 1, step.a.size(), [&](const AOperand& a, const std::string& more) {
    out << "      " << text(a) << more << " ->" << lanesText(a.useLanes) << usesText(a.uses) << "\n";
  });
}

// What a contract makes of products with one.
const char* operationsOf(Combine how) {
  return how == Combine::kSum ? " additions, " : how == Combine::kMin ? " minima, " : " maxima, ";
}

void printSection(std::ostream& out, const Section& section, Combine how, Detail detail) {
  std::size_t fmas = 0, ones = 0, loads = 0;
  for (const Step& step : section.steps) {
    loads += step.b.size();
    for (const AOperand& a : step.a) {
      loads += a.kind == AKind::kOne ? 0 : a.kind == AKind::kPermute2 ? 2 : 1;
      (a.kind == AKind::kOne ? ones : fmas) += a.uses.size();
    }
  }
  out << "  section " << place("a", section.aOuterStep) << " " << place("b", section.bOuterStep)
      << (detail == Detail::kFull ? "  ; " : " ... ") << section.steps.size() << " steps, ";
  if (fmas > 0 || ones == 0) out << fmas << " fmas, ";
  if (ones > 0) out << ones << operationsOf(how);
  out << loads << " loads\n";
  if (detail == Detail::kSummary) return;
  eachRun(section.steps, 1, section.steps.size(),
          [&](const Step& step, const std::string& more) { printStep(out, step, more); });
}

void printParts(std::ostream& out, const Contract& c, Detail detail) {
  if (detail == Detail::kFull) {
    eachRun(c.accumulators, 1, c.accumulators.size(), [&](const Accumulator& acc, const std::string& more) {
      out << "  acc " << place("c", acc.cOffset, acc.lanes) << (acc.dOffset != 0 ? " " + place("d", acc.dOffset) : "")
          << (acc.sums == LaneRange{} ? "" : " sums" + lanesText(acc.sums)) << more << "\n";
    });
    for (const std::vector<std::int32_t>& table : c.tables) {
      out << "  table";
      for (const std::int32_t pick : table) out << " " << pick;
      out << "\n";
    }
  } else {
    out << "  acc ... " << c.accumulators.size() << "\n";
  }
  for (const Section& section : c.sections) printSection(out, section, c.combine, detail);
}

}  // namespace

std::string print(const Kernel& kernel, Detail detail) {
  TextStream out;
  out << kKernelWords[kernel.index()] << " ";
  std::visit(
      [&](const auto& k) {
        out << nameText(k.label.text);
        fields(out, k);
      },
      kernel);
  out << "\n";
  if (const auto* contract = std::get_if<Contract>(&kernel)) printParts(out, *contract, detail);
  return out.str();
}

}  // namespace cubejit
