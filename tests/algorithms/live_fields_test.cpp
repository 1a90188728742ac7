// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does every field of every plan mean something? Changing it must be refused, or somewhere give another program.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "algorithms/lower.h"
#include "runtime/text/json_problem.h"
#include "runtime/verify/random_problem.h"
#include "tests/support/host.h"
#include "tests/support/plan_fields.h"
#include "tests/support/verify_plan.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

// Values next to the one it has; all others of a choice.
std::vector<TilingPlan> changesOf(const TilingPlan& plan, const std::string& field) {
  std::vector<TilingPlan> changes;
  describePlan(plan, [&](const char* name, const auto& value) {
    using Field = std::decay_t<decltype(value)>;
    if (field != name) return;
    const auto now = static_cast<std::int64_t>(value);
    if constexpr (std::is_enum_v<Field>) {
      for (const Field other : allValues(Field{})) {
        if (other != value) changes.push_back(with(plan, field, static_cast<std::int64_t>(other)));
      }
    } else if constexpr (std::is_same_v<Field, bool>) {
      changes.push_back(with(plan, field, 1 - now));
    } else {
      for (const std::int64_t other : {now + 1, now - 1, now * 2, now / 2, now * 4})
        if (other != now) changes.push_back(with(plan, field, other));
    }
  });
  return changes;
}

TEST(LiveFields, EveryFieldOfEveryPlanChangesThePrograms) {
  struct Seen {
    bool changes = false, isIgnored = false;
  };
  std::map<std::string, Seen> fieldsSeen;  // by algorithm, gradient and field
  std::mt19937_64 random(17);
  const IsaLevel levels[] = {IsaLevel::kAvx2, IsaLevel::kAvx512Bf16};
  for (int i = 0; i < 240; ++i) {
    Problem p = randomProblem(random, 2e5);
    p.batch += 1;
    if (i % 3 == 0) fitRelaxedMath(random, p);
    if (i % 5 == 1) p.dtype = DType::kBf16;
    if (i % 7 == 2) {  // what space to depth takes
      p.transposed = false;
      p.groups = 1;
      p.kernel.w = p.stride.w = 3;
      p.dilation.w = 1;
      p.padBefore.w = p.padAfter.w = 0;
      p.in.w = 3 * p.out.w;
    }
    const Machine machine = machineOfSmallL2(levels[i % 2]);
    for (const Pass pass : {Pass::kDx, Pass::kDw, Pass::kDb}) {
      const auto choice = choosePlan(p, pass, machine, true);
      if (!choice.ok()) continue;
      std::map<std::string, int> started;
      for (const Candidate& candidate : choice->considered) {
        if (!candidate.refusedBy.empty()) break;
        const std::string key = planFamily(candidate.plan) + (fieldOf(candidate.plan, "buffer_c") == 1 ? "c" : "") +
                                (fieldOf(candidate.plan, "pack_a") == 1 ? "a" : "") +
                                std::to_string(fieldOf(candidate.plan, "pack_b"));
        if (++started[key] > 4) continue;
        std::vector<std::string> fields;
        describePlan(candidate.plan, [&](const char* name, const auto&) { fields.emplace_back(name); });
        const auto program = lower(p, candidate.plan, machine);
        ASSERT_TRUE(program.ok()) << program.error().message;
        for (const std::string& field : fields) {
          if (field == "backend") continue;  // what spells the program
          Seen& of = fieldsSeen[std::string(algorithmName(candidate.plan)) + " " + toString(pass) + " " + field];
          for (const TilingPlan& changed : of.changes ? std::vector<TilingPlan>{} : changesOf(candidate.plan, field)) {
            if (of.changes || !checkPlan(p, changed, machine).empty()) continue;
            const auto other = lower(p, changed, machine);
            (other.ok() && *other == *program ? of.isIgnored : of.changes) = true;
          }
        }
      }
    }
  }
  EXPECT_GT(fieldsSeen.size(), 5 * algorithms().size());
  for (const auto& [field, of] : fieldsSeen) EXPECT_TRUE(of.changes || !of.isIgnored) << field << " changes nothing";
}

}  // namespace
}  // namespace cubejit
