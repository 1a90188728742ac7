// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how tests of the command run a shell line and what they see of it.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace cubejit {

struct Outcome {
  int code = -1;  ///< the exit code, or 1000 + status if a signal ended it
  std::string out, err;
};

inline std::string slurp(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

/// Runs a line that writes its output and errors to these files.
inline Outcome outcomeOf(const std::string& line, const std::filesystem::path& out, const std::filesystem::path& err) {
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status, slurp(out), slurp(err)};
}

}  // namespace cubejit
