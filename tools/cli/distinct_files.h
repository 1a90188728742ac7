// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides when two files of a command are one: whatever their spellings, links included. What would write over another is refused before
// anything is computed.
#pragma once

#include <string>
#include <vector>

#include "cubejit/result.h"

namespace cubejit::cli {

struct NamedFile {
  std::string flag, path;  ///< "--out dx"; an empty path is no file
};

/// kInvalidProblem if a file to be written is also another one of these. Devices may be named as often as one likes.
Status distinctFiles(const std::vector<NamedFile>& written, const std::vector<NamedFile>& read);

}  // namespace cubejit::cli
