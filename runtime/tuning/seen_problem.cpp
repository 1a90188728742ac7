// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which tensors a pass touches, and what the common type and layout are.
#include "runtime/tuning/seen_problem.h"

#include "algorithms/kit/adjoint.h"
#include "runtime/text/problem_text.h"

namespace cubejit {

Problem seenProblem(const Problem& problem, Pass pass) {
  Problem seen = problem;
  if (pass != Pass::kY) seen.postOps.bias = seen.postOps.add = false;
  const TensorFormat input = formatOf(problem, inputOf(pass));
  seen.dtype = input.dtype;
  seen.layout = input.layout;
  seen.formats = {};
  for (const TensorId t : kTensorIds) {
    if (t == resultOf(pass) || passesRead(seen, maskOf(pass), t))
      seen.formats[static_cast<std::size_t>(t)] = formatOf(problem, t);
  }
  dropUsualFormats(seen);
  return seen;
}

Problem modelledProblem(const Problem& problem, Pass pass) {
  Problem seen = problem;
  seen.rank = 3;
  seen.dtype = formatOf(problem, inputOf(pass)).dtype;
  seen.layout = Problem{}.layout;
  seen.formats = {};
  seen.math = MathMode::kStrict;
  for (int a = 0; a < 3; ++a) {
    if (seen.kernel[a] == 1) seen.dilation[a] = 1;
  }
  TensorFormat result = formatOf(seen, resultOf(pass));
  result.dtype = formatOf(problem, resultOf(pass)).dtype;
  if (pass != Pass::kDw && result != formatOf(seen, resultOf(pass)))
    seen.formats[static_cast<std::size_t>(resultOf(pass))] = result;
  return seen;
}

}  // namespace cubejit
