// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how people spell problems on a command line: PyTorch-like flags and benchdnn's one-token descriptor.
#pragma once

#include <optional>
#include <string>

#include "cubejit/problem.h"
#include "cubejit/result.h"
#include "cubejit/words.h"

namespace cubejit {

/// Problem flags as typed; lists are comma-separated. Empty = not given.
struct ProblemFlags {
  std::string input;   ///< N,C,spatial...
  std::string weight;  ///< O,I/groups,spatial... (transposed: I,O/groups,spatial...)
  std::string stride, padding, dilation,
      outputPadding;  ///< one value or one per axis; padding also before and after per axis
  std::int64_t groups = 1;
  bool transposed = false;
};

/// Reads flags and computes the output extent. Dilation 1 means none. Values are left to checkProblem; what flags alone can
/// get wrong is reported here, together with what checkProblem says about the rest.
Result<Problem> parseProblemFlags(const ProblemFlags& flags);

/// Reads benchdnn's descriptor, e.g. g1mb2ic64id16oc64kd3pd1n"name". Its dilation is counted from 0 (d0 = none).
Result<Problem> parsePrb(const std::string& text);

/// Flags that parseProblemFlags reads back to the same problem; for reproduction lines.
std::string toFlags(const Problem& problem);

/// Reads "dx,dw,db" in any order and selection.
Result<PassMask> parsePasses(const std::string& text);

/// Leaves out formats of single tensors that the common type and layout say as well; db, a value a channel, has no layout.
void dropUsualFormats(Problem& problem);
/// The two texts that applyFormats() (words.h) reads back to the same formats.
std::string dtypeText(const Problem& problem);
std::string layoutText(const Problem& problem);

}  // namespace cubejit
