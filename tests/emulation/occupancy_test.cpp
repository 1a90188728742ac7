// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: is what events say of buffers true? Every byte that a program touches is followed here, one by one: a fill is in use until the last
// instruction that reads a byte of it has ended, no byte is filled while it is in use, and no buffer holds more than it has.
#include "emulation/occupancy.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>

#include "algorithms/lower.h"
#include "codegen/tile/walk.h"
#include "cubejit/describe_counts.h"
#include "cubejit/machines.h"
#include "emulation/exact_touch.h"
#include "emulation/program_counts.h"
#include "runtime/chip/chip_report.h"
#include "runtime/verify/random_problem.h"
#include "tests/support/host.h"
#include "tests/support/most_held.h"
#include "tests/support/small_layer.h"
#include "tiling/check_problem.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

// Which event filled each byte of the buffers of a core.
class Bytes {
 public:
  Bytes(const TileProgram& program, const Machine& chip) : program_(program), touch_(program), exact_(program) {
    for (std::size_t b = 0; b < kCoreBuffers; ++b)
      owners_[b].assign(static_cast<std::size_t>(capacityOf(chip.buffers, static_cast<CoreBuffer>(b))), -1);
  }

  /// An event for each instruction of these calls, in their order.
  void follow(const Phase& phase, const std::vector<Node>& nodes, const Window& window,
              const std::vector<TraceEvent>& events) {
    std::ptrdiff_t next = -1;
    for (int i = window.begin; i < window.end; ++i) {
      const Call& call = nodes[static_cast<std::size_t>(i)].call;
      if (call.issues || next < 0) {
        ++next;
        ASSERT_LT(next, std::ssize(events)) << "more instructions than events";
        events_.push_back(events[static_cast<std::size_t>(next)]);
        readUntil_.push_back(events_.back().end);
      }
      for (const CallAccess& access : accessesOf(touch_, phase, call)) use(phase, call, access);
    }
    ASSERT_EQ(next + 1, std::ssize(events)) << "more events than instructions";
  }

  void expectTrue(const Machine& chip) {
    std::vector<bool> fills(events_.size());
    for (const auto& [key, bytes] : filled_) {
      const auto i = static_cast<std::size_t>(key.first);
      const TraceEvent& e = events_[i];
      fills[i] = true;
      EXPECT_EQ(static_cast<std::size_t>(e.buffer), key.second) << i << " " << e.name;
      EXPECT_GE(e.held, bytes) << i << " " << e.name << " of " << toString(e.buffer);
      EXPECT_EQ(e.until, readUntil_[i]) << i << " " << e.name << " of " << toString(e.buffer);
    }
    for (std::size_t i = 0; i < events_.size(); ++i) EXPECT_EQ(events_[i].held > 0, fills[i]) << i << events_[i].name;
    const auto most = mostHeld(events_);
    for (std::size_t b = 0; b < kCoreBuffers; ++b)
      EXPECT_LE(most[b], capacityOf(chip.buffers, static_cast<CoreBuffer>(b))) << toString(static_cast<CoreBuffer>(b));
    EXPECT_EQ(early_, "") << "filled before it was read";
  }
  std::size_t events() const { return events_.size(); }

 private:
  void use(const Phase& phase, const Call& call, const CallAccess& access) {
    const std::string& name = program_.buffers[static_cast<std::size_t>(access.buffer)].name;
    std::size_t b = 0;
    while (b < kCoreBuffers && name != toString(static_cast<CoreBuffer>(b))) ++b;
    if (b == kCoreBuffers) return;
    const std::array<int, 4> streams{call.a, call.b, call.c, call.d};
    const std::int64_t at =
        phase.streams[static_cast<std::size_t>(streams.at(static_cast<std::size_t>(access.operand)))].offset;
    const auto self = std::ssize(events_) - 1;
    const TraceEvent& event = events_.back();
    exact_.visit(call, access.operand, at, [&](ByteRange r) {
      for (std::int64_t byte = r.begin; byte < r.end; ++byte) {
        std::int64_t& owner = owners_.at(b).at(static_cast<std::size_t>(byte));
        if (access.reads && owner >= 0) {
          double& until = readUntil_[static_cast<std::size_t>(owner)];
          until = std::max(until, event.end);
        }
        if (!access.writes || access.reads || owner == self) continue;
        if (owner >= 0 && readUntil_[static_cast<std::size_t>(owner)] > event.start && early_.empty())
          early_ = name + " byte " + std::to_string(byte) + ", which " + events_[static_cast<std::size_t>(owner)].name +
                   " filled, by " + event.name + " " + std::to_string(self);
        owner = self;
        ++filled_[{self, b}];
      }
      return true;
    });
  }

  const TileProgram& program_;
  ProgramTouch touch_;
  ExactTouch exact_;
  std::array<std::vector<std::int64_t>, kCoreBuffers> owners_;
  std::map<std::pair<std::int64_t, std::size_t>, std::int64_t> filled_;
  std::vector<TraceEvent> events_;
  std::vector<double> readUntil_;
  std::string early_;
};

// Every task of every phase that differs from others, from empty buffers. Returns how many events there were.
std::size_t expectTrueTasks(const TileProgram& tile, const Machine& chip, DType operand) {
  std::size_t events = 0;
  for (const Phase& phase : tile.phases) {
    const PhaseCounts counts(tile, phase, chip, operand);
    const Node* choice = &phase.body.front();
    while (choice->axis >= 0) choice = &choice->body.front();
    std::set<std::pair<int, int>> seen;
    for (const Window& window : choice->windows) {
      if (window.begin == window.end || !seen.emplace(window.begin, window.end).second) continue;
      Bytes bytes(tile, chip);
      bytes.follow(phase, choice->body, window, counts.classes()[seen.size() - 1].events);
      bytes.expectTrue(chip);
      events += bytes.events();
      if (testing::Test::HasFailure()) return events;
    }
  }
  return events;
}

// What is in use at once lies below the highest byte that was ever filled, and reaches it if all of it was in use.
void expectTrueReport(const EmulationReport& report) {
  std::vector<std::vector<TraceEvent>> cores(report.cores.size());
  for (const TraceEvent& e : report.trace) cores.at(static_cast<std::size_t>(e.core)).push_back(e);
  for (std::size_t core = 0; core < cores.size(); ++core) {
    const auto most = mostHeld(cores[core]);
    for (std::size_t b = 0; b < kCoreBuffers; ++b) {
      EXPECT_LE(most.at(b), report.cores[core].highWater.at(b)) << toString(static_cast<CoreBuffer>(b));
      EXPECT_EQ(most.at(b) > 0, report.cores[core].highWater.at(b) > 0) << toString(static_cast<CoreBuffer>(b));
    }
  }
}

// A load of L1, or a fill of L0A from it.
CoreInstruction instruction(CoreUnit unit, ByteRange l1, std::int64_t l0a = 0) {
  CoreInstruction i;
  i.unit = unit;
  i.name = "by hand";
  const CoreInstruction::Traffic traffic{l1.begin, l1.end, l1.end - l1.begin};
  (unit == CoreUnit::kGmToL1 ? i.written : i.read)[CoreBuffer::kL1] = traffic;
  if (unit == CoreUnit::kL1ToL0) i.written[CoreBuffer::kL0a] = {l0a, l0a + traffic.bytes, traffic.bytes};
  i.loaded = traffic.bytes;
  return i;
}

TEST(Occupancy, LastsAsLongAsWhoReadsSeveralFills) {
  CoreCounter counter(*machineByName("ascend910b2"), DType::kF16);
  counter.clock.keepEvents(true);
  counter.run(instruction(CoreUnit::kGmToL1, {0, 1000}));
  counter.run(instruction(CoreUnit::kGmToL1, {1000, 2000}));
  counter.run(instruction(CoreUnit::kL1ToL0, {0, 10}));
  counter.run(instruction(CoreUnit::kL1ToL0, {900, 1100}, 4096));  // of both
  counter.run(instruction(CoreUnit::kGmToL1, {1500, 2500}));       // in place of the second
  counter.run(instruction(CoreUnit::kL1ToL0, {2000, 2400}));
  const std::vector<TraceEvent>& e = counter.clock.events();
  EXPECT_EQ(e[0].until, e[3].end);
  EXPECT_EQ(e[1].until, e[3].end);
  EXPECT_EQ(e[4].until, e[5].end);
  EXPECT_EQ(e[2].until, e[2].end) << "nobody reads it";
  EXPECT_EQ(e[4].held, 1000);
  EXPECT_EQ(e[3].buffer, CoreBuffer::kL0a);
}

TEST(Occupancy, IsWhatTheProgramsOfRandomProblemsRead) {
  std::mt19937_64 random(36);
  std::size_t events = 0;
  for (int i = 0; i < 24; ++i) {
    Problem p = randomProblem(random, 4e4);
    for (const auto& [name, type] : {std::pair{"ascend910b2", DType::kF16},
                                     {"ascend910a", DType::kF16},
                                     {"ascend910b2", DType::kF32},
                                     {"toy", DType::kBf16}}) {
      Machine chip = *machineByName(name);
      chip.isa = kAvx2.isa;
      p.dtype = type;
      if (!checkProblem(p).ok()) continue;
      for (const Pass pass : {Pass::kDx, Pass::kDw}) {
        const auto choice = choosePlan(p, pass, chip, false);
        if (!choice.ok()) continue;
        TilingPlan plan = choice->plan;
        for (const bool small : {false, true}) {
          if (small) {
            plan.cube().tile.base = {32, 32, 32};
            plan.cube().tile.stepM = plan.cube().tile.stepN = plan.cube().tile.stepKa = plan.cube().tile.stepKb = 1;
          }
          if (!checkPlan(p, plan, chip).empty()) continue;
          const TileProgram tile = *lower(p, plan, chip);
          events += expectTrueTasks(tile, chip, type);
          expectTrueReport(chipReport(p, plan, chip, tile, true, 1'000'000));
          ASSERT_FALSE(HasFailure()) << i << " " << tile.name << " on " << name << " " << toString(pass) << small;
        }
      }
    }
  }
  EXPECT_GT(events, 10000U);
}

// Sums in UB outlive strips: a fill is read in later iterations of its task.
TEST(Occupancy, OfSumsLastsUntilTheLastStripOfTheirTask) {
  for (const DType type : {DType::kF16, DType::kF32}) {
    Problem p = convolution(Layout::kNdhwc);
    p.dtype = type;
    Machine chip = *machineByName("ascend910b2");
    chip.isa = kAvx2.isa;
    chip.cores = 3;  // some have several tasks
    chip.buffers.ubBytes = 1024;
    const TilingPlan plan = choosePlan(p, Pass::kDb, chip, false)->plan;
    const TileProgram tile = *lower(p, plan, chip);
    const EmulationReport report = chipReport(p, plan, chip, tile, true, 1'000'000);
    const Phase& phase = tile.phases.front();
    const std::vector<int> cores = coresOfVisits(p, plan, chip, phase);
    std::map<int, Bytes> followed;
    std::size_t visit = 0, longest = 0;
    std::map<int, std::int64_t> tasks;                                       // of each core, the one it is at
    std::map<std::pair<int, std::int32_t>, std::vector<TraceEvent>> events;  // by core and visit of it
    for (const TraceEvent& e : report.trace) events[{e.core, e.task}].push_back(e);
    std::map<int, std::int32_t> visits;
    const auto check = [&](int core) {
      followed.at(core).expectTrue(chip);
      longest = std::max(longest, followed.at(core).events());
      followed.erase(core);
    };
    walkChoices(phase, [&](const ChoiceSite& site) {
      const int core = cores[visit++];
      if (followed.count(core) > 0 && tasks[core] != site.task) check(core);
      tasks[core] = site.task;
      followed.try_emplace(core, tile, chip)
          .first->second.follow(phase, site.choice->body, site.choice->windows[site.number],
                                events[{core, visits[core]++}]);
      return true;
    });
    while (!followed.empty()) check(followed.begin()->first);
    EXPECT_GT(longest, 14U);
  }
}

}  // namespace
}  // namespace cubejit
