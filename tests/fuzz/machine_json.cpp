// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of any text that is to be an NPU: it is refused, or what is printed of it reads back as the same, and what is planned for it is legal
// and, on the chip emulated, right.
#include "runtime/text/json_machine.h"

#include "cubejit/npu.h"
#include "runtime/text/json_problem.h"
#include "runtime/verify/verify_problem.h"
#include "tests/fuzz/json_mutator.h"
#include "tests/support/layers.h"

using namespace cubejit;

namespace {

// Strides, remainders and groups, in little.
Problem smallProblem(DType type) {
  return ofType(type, ofGroups(2, planeProblem(1, 6, 10, {1, 7, 9}, {1, 3, 3}, {0, 1, 1}, {1, 2, 2})));
}

// A host's memory and time: emulating more cores, or larger buffers, shows nothing else.
bool isSmall(const Machine& m) {
  const Buffers& b = m.buffers;
  return m.cores <= 64 && b.l1Bytes <= 1 << 22 && b.ubBytes <= 1 << 22 &&
         b.l0aBytes + b.l0bBytes + b.l0cBytes <= 1 << 22;
}

void plansAreRight(const Machine& machine) {
  const Problem problem = smallProblem(machine.npu.cube.products.front().operand);
  for (const Pass pass : {Pass::kDx, Pass::kDw}) {
    const auto report = planOnNpu(problem, pass, machine);
    if (!report.ok()) continue;
    const auto broken = checkOnNpu(problem, report->plan, machine);
    fuzz::hold(broken.empty(), "what is planned is legal", broken.empty() ? "" : broken.front());
    if (!isSmall(machine)) continue;
    const VerifyRequest request{problem, maskOf(pass), {1}, 1, false, {report->plan}};
    Options options;
    options.verify = true;
    const VerifyOutcome outcome = verifyOnNpu(machine, options, request);
    fuzz::hold(outcome.verdict != VerifyOutcome::Verdict::kFailed, "and right",
               outcome.message + "\n" + planToJson(report->plan));
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  return fuzz::mutateJsonText(data, size, most, seed,
                              {"cubejit.machine/1", "f16", "bf16", "f32", "hf32", "hf32_low", ""});
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto machine = machineFromJson(fuzz::textOf(data, size));
  if (!machine.ok()) return 0;
  const std::string printed = machineToJson(*machine);
  const auto again = machineFromJson(printed);
  fuzz::hold(again.ok(), "a printed machine is read", printed + (again.ok() ? "" : "\n" + again.error().message));
  fuzz::hold(machineToJson(*again) == printed, "as the same", printed);
  plansAreRight(*machine);
  return 0;
}
