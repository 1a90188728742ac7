// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of any text that is to be a tile or vector program: it is refused with line and column, or it is a program whose own text reads back as the
// same, and which verify() accepts or refuses. Of a kernel: it is refused so, or there is a sound program of it.
#include "codegen/lang/lower.h"
#include "codegen/lang/parse.h"
#include "codegen/text/reader.h"
#include "codegen/tile/parse.h"
#include "codegen/tile/print.h"
#include "codegen/tile/verify.h"
#include "codegen/vector/parse.h"
#include "codegen/vector/print.h"
#include "codegen/vector/verify.h"
#include "tests/fuzz/target.h"

using namespace cubejit;

namespace {

// Walks that a verification would make take as long as loops say; what is asked here is whether it ends in order.
constexpr double kMostIterations = 1e5;

double iterations(const Phase& phase) {
  double all = 1;
  for (const Axis& a : phase.axes) {
    all *= static_cast<double>(std::max<std::size_t>(1, a.steps.size())) * std::max(1, a.classes);
    for (const AxisStep& step : a.steps) all *= static_cast<double>(std::max<std::int64_t>(1, step.repeat));
  }
  return all * static_cast<double>(phase.body.size() + 1);
}

bool quickToVerify(const TileProgram& program) {
  for (const SegmentList& list : program.lists) {
    for (const auto& section : list) {
      for (const Segment& s : section) {
        if (s.outer > 1000) return false;
      }
    }
  }
  for (const Kernel& kernel : program.kernels) {
    const auto large = [](std::int64_t extent) { return extent > 1000; };
    const bool slow = std::visit(overloaded{[](const OneOf<Contract, TileProduct> auto&) { return false; },
                                            [&](const LaneReduce& m) { return large(m.rows); },
                                            [&](const auto& m) { return large(m.rows) || large(m.cols); }},
                                 kernel);
    if (slow) return false;
  }
  double all = 0;
  for (const Phase& phase : program.phases) all += iterations(phase);
  return all < kMostIterations;
}

// Floats may be NaN, so programs are compared by their texts.
template <class Program, class Print, class Parse>
void readsBack(const Program& program, Print text, Parse parse) {
  const std::string first = text(program);
  const Result<Program> again = parse(first);
  fuzz::hold(again.ok(), "what is printed reads back", first);
  fuzz::hold(text(*again) == first, "as the same", first);
}

void refused(const Error& error) {
  fuzz::hold(error.message.rfind("line ", 0) == 0, "an error says where", error.message);
}

// Few and small enough for a verification at once.
bool quickToLower(const lang::Source& kernel) {
  double all = 1;
  for (const lang::Index& i : kernel.indices) all *= static_cast<double>(std::max<std::int64_t>(1, i.extent));
  return all < kMostIterations && kernel.tensors.size() < 20;
}

void lowers(const lang::Source& kernel) {
  const auto program = lang::lower(kernel, isaOf(IsaLevel::kAvx2));
  fuzz::hold(program.ok() || program.error().code != ErrorCode::kInternal, "what is accepted has a sound program",
             program.ok() ? "" : program.error().message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::textOf(data, size);
  const auto tile = parseTileProgram(text);
  const auto vector = parseVectorProgram(text);
  fuzz::hold(!tile.ok() || !vector.ok(), "a text is of one sort");
  if (!tile.ok()) refused(tile.error());
  if (!vector.ok()) refused(vector.error());
  const auto kernel = lang::parse(text, {});
  if (!kernel.ok()) refused(kernel.error());
  if (kernel.ok() && quickToLower(*kernel)) lowers(*kernel);
  if (tile.ok()) {
    readsBack(*tile, [](const TileProgram& p) { return print(p, Detail::kFull); }, parseTileProgram);
    static_cast<void>(print(*tile, Detail::kSummary));
    if (quickToVerify(*tile)) static_cast<void>(verify(*tile));
  }
  if (vector.ok()) {
    readsBack(*vector, [](const VectorProgram& p) { return print(p); }, parseVectorProgram);
    static_cast<void>(verify(*vector));
  }
  return 0;
}
