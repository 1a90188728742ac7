// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how pin files are read and appended to.
#include "runtime/tuning/pins.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "runtime/json_record.h"

namespace cubejit {

Result<std::optional<TilingPlan>> findPin(const std::string& path, const Problem& problem, Gradient gradient,
                                          const std::string& isa) {
  std::ifstream file(path);
  if (!file && access(path.c_str(), F_OK) == 0)
    return Error{ErrorCode::kIo, Stage::kPlan, "cannot read the pin file " + path};
  std::string line;
  for (int number = 1; file && std::getline(file, line); ++number) {
    if (line.empty()) continue;
    const auto pin = pinFromJson(line);
    if (!pin.ok())
      return Error{ErrorCode::kInvalidProblem, Stage::kPlan,
                   path + ":" + std::to_string(number) + ": " + pin.error().message};
    if (pin->problem == problem && pin->plan.gradient == gradient && pin->isa == isa)
      return std::optional<TilingPlan>(pin->plan);
  }
  return std::optional<TilingPlan>();
}

Status addPin(const std::string& path, const Problem& problem, const TilingPlan& plan, const std::string& isa) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const std::string line = pinToJson({problem, plan, isa}) + "\n";
  const bool written = file >= 0 && write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  const int error = errno;
  if (file >= 0) close(file);
  if (written) return Unit{};
  return Error{ErrorCode::kIo, Stage::kPlan, "cannot write the pin file " + path + ": " + std::strerror(error)};
}

}  // namespace cubejit
