// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of any text that is to be a problem: it is refused, or what is printed of it reads back as the same.
#include "runtime/text/json_problem.h"

#include "runtime/pipeline/problem_key.h"
#include "runtime/tuning/json_record.h"
#include "tests/fuzz/json_mutator.h"
#include "tiling/check_problem.h"

using namespace cubejit;

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  return fuzz::mutateJsonText(data, size, most, seed,
                              {"strict", "relaxed", "f32", "f16", "bf16", "hf32", "hf32_low", "ncdhw", "ndhwc",
                               "ndc1hwc0", "fractal_z_3d", "", "name"});
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::textOf(data, size);
  if (const auto problem = problemFromJson(text); problem.ok()) {
    const auto again = problemFromJson(problemToJson(*problem));
    fuzz::hold(again.ok(), "a printed problem is read", problemToJson(*problem));
    fuzz::hold(*again == *problem && again->name == problem->name, "as the same", problemToJson(*problem));
    static_cast<void>(checkProblem(*problem));
  }
  // An identity holds formats, too.
  if (const auto problem = problemFromIdentity(text); problem.ok()) {
    const std::string identity = problemIdentity(*problem);
    const auto again = problemFromIdentity(identity);
    fuzz::hold(again.ok() && *again == *problem, "an identity is read as the same problem", identity);
    fuzz::hold(problemIdentity(*again) == identity, "and has one spelling", identity);
    if (checkProblem(*problem).ok()) static_cast<void>(problemKey(*problem, {true, true, true, true}));
  }
  return 0;
}
