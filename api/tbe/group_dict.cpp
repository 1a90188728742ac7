// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of channels and groups before the formula is applied. The formula itself is index_map.h's.
#include "cubejit_tbe/group_dict.h"

#include <string>

#include "cubejit/index_map.h"

namespace cubejit::tbe {

Result<GroupDict> groupDict(std::int64_t fmap_c, std::int64_t cout, std::int64_t groups, std::int64_t cout0,
                            std::int64_t cin0) {
  std::string broken;
  const auto require = [&](bool holds, const std::string& rule) {
    if (!holds) broken += (broken.empty() ? "" : "\n") + rule;
  };
  bool inRange = true;
  const auto range = [&](const char* name, std::int64_t value) {
    const bool holds = value >= 1 && value <= 1000000;
    inRange = inRange && holds;
    require(holds, std::string(name) + " = " + std::to_string(value) + " must be 1 to 1000000");
  };
  range("fmap_c", fmap_c), range("cout", cout), range("groups", groups), range("cout0", cout0), range("cin0", cin0);
  if (inRange) {
    const std::string by = " is not divisible by groups = " + std::to_string(groups);
    require(fmap_c % groups == 0, "fmap_c = " + std::to_string(fmap_c) + by);
    require(cout % groups == 0, "cout = " + std::to_string(cout) + by);
    require(cout0 == kC0Size, "cout0 = " + std::to_string(cout0) + " must be 16, the rows of a fractal");
  }
  if (!broken.empty()) return invalidInput(broken);
  const RealGroups r = realGroups(fmap_c / groups, cout / groups, groups, cin0);
  return GroupDict{r.count, r.together, r.blocksC, r.blocksN * kC0Size, fmap_c, cout};
}

}  // namespace cubejit::tbe
