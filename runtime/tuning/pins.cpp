// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how pin files are read and appended to.
#include "runtime/tuning/pins.h"

#include <unistd.h>

#include <fstream>

#include "runtime/json_record.h"
#include "runtime/tuning/seen_problem.h"
#include "runtime/whole_file.h"

namespace cubejit {

Result<std::optional<TilingPlan>> findPin(const std::string& path, const Problem& problem, Pass pass,
                                          const std::string& isa) {
  const Error unreadable{ErrorCode::kIo, Stage::kPlan, "cannot read the pin file " + path};
  std::ifstream file(path);
  if (!file && access(path.c_str(), F_OK) == 0) return unreadable;
  const Problem seen = seenProblem(problem, pass);
  std::string line;
  for (int number = 1; file && std::getline(file, line); ++number) {
    if (line.empty()) continue;
    const auto pin = pinFromJson(line);
    if (!pin.ok())
      return Error{ErrorCode::kInvalidProblem, Stage::kPlan,
                   path + ":" + std::to_string(number) + ": " + pin.error().message};
    if (pin->plan.pass == pass && pin->isa == isa && seenProblem(pin->problem, pass) == seen)
      return std::optional<TilingPlan>(pin->plan);
  }
  if (file.bad()) return unreadable;  // a pin may be among what was not read
  return std::optional<TilingPlan>();
}

Status addPin(const std::string& path, const Problem& problem, const TilingPlan& plan, const std::string& isa) {
  return appendWhole(path, pinToJson({problem, plan, isa}) + "\n", 0644, Links::kFollow);
}

}  // namespace cubejit
