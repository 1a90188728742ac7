// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how JSON is read and written. The only file of the library that knows a JSON library.
#include "runtime/text/json_problem.h"

#include <unistd.h>

#include <limits>
#include <type_traits>

#include "algorithms/algorithm.h"
#include "algorithms/kit/adjoint.h"
#include "cubejit/options.h"
#include "runtime/text/json_object.h"
#include "runtime/text/json_value.h"
#include "runtime/text/printable.h"
#include "runtime/text/problem_text.h"
#include "runtime/text/text_file.h"
#include "tiling/no_throw.h"
#include "tiling/words.h"

namespace cubejit {
namespace {

constexpr const char* kProblems = "problems as JSON objects, one a line";

void readPadding(ObjectReader& reader, Problem& p) {
  std::int64_t pads[6] = {};
  if (!reader.six("pad", "[front, back, up, down, left, right]", pads)) return;
  for (int a = 0; a < 3; ++a) {
    p.padBefore[a] = pads[2 * a];
    p.padAfter[a] = pads[2 * a + 1];
  }
}

Json axesToJson(const Dhw& v) { return Json::array({v.d, v.h, v.w}); }

}  // namespace

Result<Problem> problemFromJson(const std::string& text) {
  CUBEJIT_TRY(json, parseObject(text, "the problem", Stage::kProblem));
  rename(json, kPassesOfOld, "passes");
  Problem p;
  ObjectReader reader(json);
  std::int64_t rank = 3;
  reader.string("name", p.name);
  reader.integer("rank", rank, false);
  reader.integer("n", p.batch);
  reader.integer("ci", p.cin);
  reader.integer("co", p.cout);
  reader.integer("groups", p.groups, false);
  reader.axes("input", p.in);
  reader.axes("output", p.out);
  reader.axes("kernel", p.kernel);
  reader.axes("stride", p.stride, false);
  reader.axes("dilation", p.dilation, false);
  readPadding(reader, p);
  reader.boolean("transposed", p.transposed);
  const auto wrong = [&](const std::string& what) {
    return invalidInput((p.name.empty() ? "" : "problem " + p.name + ":\n") + what);
  };
  std::string mathName = toString(p.math);
  reader.string("math", mathName);
  const auto math = parseMathMode(mathName);
  if (!math.ok()) return wrong(toReword(math.error()).message);
  p.math = *math;
  std::string postOps;
  reader.string("post_ops", postOps);
  const auto post = parsePostOps(postOps);
  if (!post.ok()) return wrong(toReword(post.error()).message);
  p.postOps = *post;
  std::string dtypes, layouts;
  reader.string("dtype", dtypes);
  reader.string("layout", layouts);
  const Status formatted = applyFormats(p, dtypes, layouts);
  if (!formatted.ok()) return wrong(toReword(formatted.error()).message);
  for (const char* key : {"passes", "dtypes", "gflop"}) reader.note(key);
  using Rank = std::numeric_limits<int>;
  if (rank < Rank::min() || rank > Rank::max()) reader.fail("'rank' = " + std::to_string(rank) + " must be 1, 2 or 3");
  const std::string broken = reader.broken();
  if (!broken.empty()) return wrong(broken);
  p.rank = static_cast<int>(rank);
  return p;
}

std::string problemToJson(const Problem& p) {
  Json json;
  json["name"] = p.name;
  json["rank"] = p.rank;
  json["n"] = p.batch;
  json["ci"] = p.cin;
  json["co"] = p.cout;
  json["groups"] = p.groups;
  json["input"] = axesToJson(p.in);
  json["output"] = axesToJson(p.out);
  json["kernel"] = axesToJson(p.kernel);
  json["stride"] = axesToJson(p.stride);
  json["pad"] = Json::array({p.padBefore.d, p.padAfter.d, p.padBefore.h, p.padAfter.h, p.padBefore.w, p.padAfter.w});
  json["dilation"] = axesToJson(p.dilation);
  if (p.transposed) json["transposed"] = true;
  if (p.math != MathMode::kStrict) json["math"] = toString(p.math);
  if (p.postOps.any()) json["post_ops"] = toString(p.postOps);
  const auto unusual = [&](const char* key, const std::string& text, const std::string& usual) {
    if (text != usual) json[key] = text;
  };
  unusual("dtype", dtypeText(p), dtypeText(Problem{}));
  unusual("layout", layoutText(p), layoutText(Problem{}));
  return oneLine(json);  // a name may not be UTF-8
}

Result<std::vector<Problem>> readSuite(const std::string& path) {
  CUBEJIT_TRY(file, TextLines::open(path, kProblems, Stage::kProblem));
  std::vector<Problem> problems;
  for (std::string line;;) {
    CUBEJIT_TRY(more, file.next(line));
    if (!more) break;
    Result<Problem> problem = problemFromJson(line);
    if (!problem.ok())
      return Error{problem.error().code, Stage::kProblem, file.place() + ": " + problem.error().message};
    problems.push_back(*problem);
  }
  if (problems.empty()) return invalidInput(printable(path) + " holds no problem");
  return problems;
}

Result<Problem> readProblem(const std::string& where) {
  if (where == "-") {
    std::string line;
    CUBEJIT_TRY(any, TextLines::ofStandardInput(kProblems, Stage::kProblem).next(line));
    if (!any) return Error{ErrorCode::kIo, Stage::kProblem, "standard input holds no line"};
    return problemFromJson(line);
  }
  // Names may hold colons (3d_unet:conv_1) and so may paths: the file is the shortest part before a colon that can be read.
  // It is not opened to see: a pipe's writer would take that for its reader.
  const auto readable = [](const std::string& path) { return access(path.c_str(), R_OK) == 0; };
  std::size_t colon = where.find(':');
  while (colon != std::string::npos && !readable(where.substr(0, colon))) colon = where.find(':', colon + 1);
  if (colon == std::string::npos) colon = where.rfind(':');
  if (readable(where) || colon == std::string::npos) {
    CUBEJIT_TRY(suite, readSuite(where));
    if (suite.size() == 1) return suite.front();
    return invalidInput(printable(where) + " holds " + std::to_string(suite.size()) + " problems; name one as " +
                        printable(where) + ":NAME");
  }
  CUBEJIT_TRY(suite, readSuite(where.substr(0, colon)));
  const std::string name = where.substr(colon + 1);
  for (const Problem& problem : suite) {
    if (problem.name == name) return problem;
  }
  return invalidInput(printable(where.substr(0, colon)) + " holds no problem named '" + printable(name) + "'");
}

std::string planToJson(const TilingPlan& plan) {
  Json json;
  json["version"] = kPlanVersion;
  json["pass"] = toString(plan.pass);
  json["algorithm"] = algorithmName(plan);
  describePlan(plan, [&](const char* name, const auto& field) {
    if constexpr (std::is_enum_v<std::decay_t<decltype(field)>>)
      json[name] = toString(field);
    else
      json[name] = field;
  });
  return json.dump();
}

namespace {

// A plan of the algorithm with all decisions at their defaults.
Result<TilingPlan> emptyPlan(Pass pass, const std::string& algorithm) {
  if (algorithm == CubePlan::kName) return TilingPlan(pass, CubePlan{});
  if (const Algorithm* a = algorithmNamed(algorithm, solvedAs(pass))) {
    TilingPlan plan = a->plan();
    plan.pass = pass;
    return plan;
  }
  std::vector<std::string> known;
  for (const Algorithm* a : algorithms()) {
    if (a->pass == solvedAs(pass)) known.emplace_back(a->name);
  }
  known.emplace_back(CubePlan::kName);
  return invalidInput("of " + std::string(toString(pass)) + ": 'algorithm' = '" + algorithm +
                      "' is not part of this build" + wordsInstead(algorithm, known));
}

}  // namespace

Result<TilingPlan> planFromJson(const std::string& text) {
  CUBEJIT_TRY(json, parseObject(text, "the plan", Stage::kProblem));
  rename(json, kPassOfOld, "pass");
  ObjectReader reader(json);
  const bool hasVersion = json.contains("version");
  std::int64_t version = 1;
  std::string passName, algorithm;
  if (hasVersion) reader.integer("version", version);
  if (!reader.wrong().empty() || version != kPlanVersion)
    return invalidInput((!reader.wrong().empty() ? reader.wrong()
                                                 : "the plan is of version " + std::to_string(version) +
                                                       (hasVersion ? "" : " (it has no 'version')")) +
                        ", this library reads version " + std::to_string(kPlanVersion) + "; plan or tune again");
  reader.string("pass", passName, true);
  reader.string("algorithm", algorithm, true);
  if (!reader.wrong().empty()) return invalidInput("of the plan: " + reader.wrong());
  const auto pass = parsePass(passName);
  if (!pass.ok()) return invalidInput("of the plan: 'pass': " + toReword(pass.error()).message);
  CUBEJIT_TRY(plan, emptyPlan(*pass, algorithm));
  std::string broken;
  describePlan(plan, [&](const char* name, auto& field) {
    using Field = std::decay_t<decltype(field)>;
    if constexpr (std::is_same_v<Field, bool>) {
      reader.boolean(name, field);
    } else if constexpr (std::is_same_v<Field, std::int64_t>) {
      reader.integer(name, field, false);
    } else {
      std::string value = toString(field);
      reader.string(name, value);
      const auto known = parseWord(name, value, allValues(Field{}));
      if (known.ok())
        field = *known;
      else
        broken += (broken.empty() ? "" : "\n") + known.error().message;
    }
  });
  const std::string rest = reader.broken();
  if (!rest.empty()) broken += (broken.empty() ? "" : "\n") + rest;
  if (!broken.empty())
    return invalidInput("of a plan of the " + algorithm + " algorithm of " + toString(*pass) + ":\n" + broken);
  return plan;
}

}  // namespace cubejit
