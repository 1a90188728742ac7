// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the names.
#include "runtime/dump/stages.h"

#include <algorithm>

#include "tiling/words.h"

namespace cubejit {

const std::vector<std::string>& dumpStageNames() {
  static const std::vector<std::string> kNames{"problem", "plan", "tile", "vector",   "ll",  "ll.opt",
                                               "asm",     "bin",  "obj",  "c-header", "mca", "html"};
  return kNames;
}

Result<std::vector<DumpStage>> parseDumpStages(const std::string& text) {
  const std::vector<std::string>& names = dumpStageNames();
  std::vector<DumpStage> out;
  std::string unknown;
  std::vector<std::string> known = names;
  known.emplace_back("all (every one)");
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    begin = end + 1;
    const auto at = std::find(names.begin(), names.end(), name);
    if (name == "all") {
      for (std::size_t s = 0; s < names.size(); ++s) out.push_back(static_cast<DumpStage>(s));
    } else if (at != names.end()) {
      out.push_back(static_cast<DumpStage>(at - names.begin()));
    } else {
      unknown += (unknown.empty() ? "" : "\n") + unknownWord("stage", name, known).message;
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  if (!unknown.empty()) return invalidInput(unknown);
  return out;
}

bool contains(const std::vector<DumpStage>& stages, DumpStage stage) {
  return std::find(stages.begin(), stages.end(), stage) != stages.end();
}

}  // namespace cubejit
