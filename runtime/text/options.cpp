// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which words options have, and that an unknown one is answered with those there are.
#include "cubejit/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <utility>
#include <vector>

#include "algorithms/algorithm.h"
#include "cubejit/cubejit.hpp"
#include "tiling/no_throw.h"
#include "tiling/words.h"

namespace cubejit {
namespace {

template <class Values>
auto spelled(const std::string& what, const std::string& name, const Values& values) {
  return withoutThrowing(Stage::kProblem, [&] { return parseWord(what, name, values); });
}

}  // namespace

Result<IsaLevel> parseIsa(const std::string& name) { return spelled("ISA", name, kAllIsaLevels); }
Result<BackendKind> parseBackend(const std::string& name) { return spelled("backend", name, kAllBackends); }
Result<MathMode> parseMathMode(const std::string& name) { return spelled("math mode", name, kAllMathModes); }

Result<TuneMode> parseTuneMode(const std::string& name) {
  return spelled("tune mode", name, std::array{TuneMode::kOff, TuneMode::kUse, TuneMode::kMissing, TuneMode::kAlways});
}

Result<TuneGoal> parseTuneGoal(const std::string& name) {
  return spelled("goal of tuning (--for, CUBEJIT_TUNE_FOR)", name, std::array{TuneGoal::kCycles, TuneGoal::kHostTime});
}

Result<std::string> parseAlgorithm(const std::string& name) {
  return withoutThrowing(Stage::kPlan, [&]() -> Result<std::string> {
    std::vector<std::string> known;
    for (const Algorithm* algorithm : algorithms()) {
      if (algorithm->pass == Pass::kDb) continue;
      if (name == algorithm->name) return name;
      if (std::find(known.begin(), known.end(), algorithm->name) == known.end()) known.emplace_back(algorithm->name);
    }
    return unknownWord("algorithm", name, known, Stage::kPlan);
  });
}

Result<std::int64_t> parseBytes(const std::string& text) {
  return withoutThrowing(Stage::kProblem, [&]() -> Result<std::int64_t> {
    constexpr std::int64_t kMost = std::int64_t{1} << 50;
    std::int64_t count = 0, unit = 1;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, count);
    const std::string suffix(rest, end);
    if (suffix == "K") unit = std::int64_t{1} << 10;
    if (suffix == "M") unit = std::int64_t{1} << 20;
    if (suffix == "G") unit = std::int64_t{1} << 30;
    if (error == std::errc() && (suffix.empty() || unit > 1) && count >= 1 && count <= kMost / unit)
      return count * unit;
    return invalidInput("'" + text + "' must be a whole number of bytes, or of K, M or G, from 1 to 1048576G");
  });
}

namespace {

// Reads a list of names: each sets the flag of that name.
Status parseFlags(const std::string& what, const std::string& text,
                  std::initializer_list<std::pair<const char*, bool*>> flags) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    begin = end + 1;
    bool known = name == "all";
    std::vector<std::string> names;
    for (const auto& [flagName, flag] : flags) {
      if (name == "all" || name == flagName) *flag = known = true;
      names.emplace_back(flagName);
    }
    names.emplace_back("all");
    if (!known) return unknownWord(what, name, names);
  }
  return Unit{};
}

}  // namespace

Result<JitProfile> parseJitProfile(const std::string& text) {
  return withoutThrowing(Stage::kProblem, [&]() -> Result<JitProfile> {
    JitProfile p;
    CUBEJIT_TRY(read,
                parseFlags("profiler", text,
                           {{"perfmap", &p.perfMap}, {"jitdump", &p.jitDump}, {"gdb", &p.gdb}, {"vtune", &p.vtune}}));
    static_cast<void>(read);
    return p;
  });
}

Result<VerboseTopics> parseVerboseTopics(const std::string& text) {
  return withoutThrowing(Stage::kProblem, [&]() -> Result<VerboseTopics> {
    VerboseTopics t;
    CUBEJIT_TRY(
        read, parseFlags("topic", text,
                         {{"plan", &t.plan}, {"dispatch", &t.dispatch}, {"cache", &t.cache}, {"profile", &t.profile}}));
    static_cast<void>(read);
    return t;
  });
}

}  // namespace cubejit
