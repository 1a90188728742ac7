// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of any flags that are to be a problem: they are refused, or what is printed of the problem reads back as the same. An input is a
// command line: "--flag value" in any order.
#include <map>
#include <sstream>

#include "cubejit/cubejit.hpp"
#include "runtime/text/problem_text.h"
#include "tests/fuzz/target.h"
#include "tiling/check_problem.h"

using namespace cubejit;

namespace {

using Flags = std::map<std::string, std::string>;

Flags flagsOf(const std::string& line) {
  std::istringstream words(line);
  Flags flags;
  for (std::string word, flag; words >> word;) {
    if (word.compare(0, 2, "--") == 0)
      flags[flag = word];
    else
      flags[flag] = word;
  }
  return flags;
}

Result<Problem> problemOf(const Flags& flags) {
  const auto get = [&](const char* name) {
    const auto found = flags.find(name);
    return found == flags.end() ? std::string() : found->second;
  };
  ProblemFlags typed;
  typed.input = get("--input");
  typed.weight = get("--weight");
  typed.stride = get("--stride");
  typed.padding = get("--padding");
  typed.dilation = get("--dilation");
  typed.outputPadding = get("--output-padding");
  typed.transposed = flags.count("--transposed") > 0;
  if (flags.count("--groups") > 0) typed.groups = std::strtoll(get("--groups").c_str(), nullptr, 10);
  CUBEJIT_TRY(problem, flags.count("--prb") > 0 ? parsePrb(get("--prb")) : parseProblemFlags(typed));
  CUBEJIT_RETURN_IF_ERROR(applyFormats(problem, get("--dtype"), get("--layout")));
  if (flags.count("--math") > 0) {
    CUBEJIT_TRY(math, parseMathMode(get("--math")));
    problem.math = math;
  }
  static_cast<void>(parsePasses(get("--passes")));
  return problem;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto problem = problemOf(flagsOf(fuzz::textOf(data, size)));
  if (!problem.ok() || !checkProblem(*problem).ok()) return 0;
  const std::string printed = toFlags(*problem);
  const auto again = problemOf(flagsOf(printed));
  fuzz::hold(again.ok(), "printed flags are read", printed + (again.ok() ? "" : "\n" + again.error().message));
  fuzz::hold(toFlags(*again) == printed, "as the same problem", printed + "\n" + toFlags(*again));
  for (const TensorId t : kTensorIds)
    fuzz::hold(formatOf(*again, t) == formatOf(*problem, t), "with the same formats", printed);
  Problem bare = *problem, other = *again;  // two spellings of one format are equal
  bare.formats = other.formats = {};
  fuzz::hold(bare == other, "with the same extents", printed);
  return 0;
}
