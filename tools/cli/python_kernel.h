// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how `cubejit kernel` gets a kernel out of a Python file: a Python runs the file, and says the text of what cubejit.define made in it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cubejit/result.h"

namespace cubejit::cli {

struct PythonFile {
  std::string path;
  std::string name;  ///< of the function; empty: the only one
};
/// FILE.py and FILE.py:NAME are; nothing else is.
std::optional<PythonFile> pythonFileOf(const std::string& typed);

struct PythonKernel {
  std::string text;
  std::vector<std::string> places;  ///< which file and line made each line of the text: "gemm.py:14"
  /// What is said of the text, with the place before each line that names a line of it.
  std::string placed(const std::string& message) const;
};

/// Runs $CUBEJIT_PYTHON, or python3. What the file prints goes to standard error. Errors (kInvalidProblem): there is no such Python, it has no cubejit, the
/// file raises an exception, defines no kernel, several, or none of that name; kUnsupported: the Python ends without an answer.
Result<PythonKernel> readPythonKernel(const PythonFile& file);

}  // namespace cubejit::cli
