// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the algorithms of this build are found.
#include "algorithms/table.h"

namespace cubejit {

const std::vector<const Algorithm*>& algorithms() {
  static const std::vector<const Algorithm*> all{
#define CUBEJIT_PLAN(Plan) &algorithm<Plan>(),
#include "algorithms/table.def"
#undef CUBEJIT_PLAN
  };
  return all;
}

const Algorithm* algorithmOf(const TilingPlan& plan) {
  for (const Algorithm* candidate : algorithms()) {
    if (candidate->owns(plan)) return candidate;
  }
  return nullptr;
}

std::string algorithmNames() {
  std::string all;
  for (const Algorithm* algorithm : algorithms()) {
    if (algorithm->pass == Pass::kDb) continue;  // it has but one
    if ((", " + all + ",").find(std::string(", ") + algorithm->name + ",") == std::string::npos)
      all += (all.empty() ? "" : ", ") + std::string(algorithm->name);
  }
  return all;
}

const Algorithm* algorithmNamed(std::string_view name, Pass pass) {
  for (const Algorithm* candidate : algorithms()) {
    if (candidate->name == name && candidate->pass == pass) return candidate;
  }
  return nullptr;
}

}  // namespace cubejit
