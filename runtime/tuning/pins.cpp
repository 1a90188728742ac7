// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how pin files are read and appended to.
#include "runtime/tuning/pins.h"

#include <unistd.h>

#include "runtime/text/text_file.h"
#include "runtime/text/whole_file.h"
#include "runtime/tuning/json_record.h"
#include "runtime/tuning/seen_problem.h"
#include "tiling/no_throw.h"

namespace cubejit {

Result<std::optional<TilingPlan>> findPin(const std::string& path, const Problem& problem, Pass pass,
                                          const std::string& isa) {
  const std::optional<TilingPlan> none;
  if (access(path.c_str(), F_OK) != 0) return none;  // pins will be added to it
  CUBEJIT_TRY(file, TextLines::open(path, "pins as JSON objects, one a line", Stage::kPlan));
  const Problem seen = seenProblem(problem, pass);
  for (std::string line;;) {
    CUBEJIT_TRY(more, file.next(line));
    if (!more) return none;
    const auto pin = pinFromJson(line);
    if (!pin.ok()) return invalidInput(file.place() + ": " + toReword(pin.error()).message, Stage::kPlan);
    if (pin->plan.pass == pass && pin->isa == isa && seenProblem(pin->problem, pass) == seen)
      return std::optional<TilingPlan>(pin->plan);
  }
}

Status addPin(const std::string& path, const Problem& problem, const TilingPlan& plan, const std::string& isa) {
  return appendWhole(path, pinToJson({problem, plan, isa}) + "\n", 0644, Links::kFollow);
}

}  // namespace cubejit
