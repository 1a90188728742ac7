// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does the sanitiser find what is wrong with a chip's program, by its kind and its place? Programs of the lowering are broken in one
// place each, as people break them. That programs which are right have no findings is asked by every_chip_test.
#include "cubejit/sanitizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <random>
#include <set>

#include "algorithms/lower.h"
#include "codegen/tile/unit_flags.h"
#include "cubejit/cubejit.hpp"
#include "cubejit/machines.h"
#include "emulation/program_sanitizer.h"
#include "emulation/unit_order.h"
#include "runtime/chip/chip_sanitizer.h"
#include "tests/support/small_layer.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

using Kind = UnitFlag::Kind;

struct Given {
  Problem problem;
  Machine chip;
  TilingPlan plan;
  TileProgram tile;

  SanitizerReport report() const { return sanitizeChip(problem, plan, chip, tile); }
};

// Base blocks so small that blocks, k-steps and both halves of buffers are there.
Given programOf(const char* chip, Pass pass, DType type, std::int64_t stride) {
  Given g;
  g.problem = convolution(Layout::kNdhwc);
  g.problem.cin = 48;
  g.problem.cout = 40;
  g.problem.in = {1, 12, 14};
  g.problem.stride = {1, stride, stride};
  g.problem.out = {1, (12 - 1) / stride + 1, (14 - 1) / stride + 1};
  g.problem.dtype = type;
  g.chip = *machineByName(chip);
  g.chip.isa = kAvx2.isa;
  g.plan = choosePlan(g.problem, pass, g.chip, false)->plan;
  if (pass != Pass::kDb) {
    CubeTile& tile = g.plan.cube().tile;
    tile.base = {32, 32, 32};
    tile.stepM = tile.stepN = tile.stepKa = tile.stepKb = 1;
    tile.buffersA1 = tile.buffersB1 = tile.buffersL0a = tile.buffersL0b = tile.buffersL0c = 2;
  }
  EXPECT_TRUE(checkPlan(g.problem, g.plan, g.chip).empty()) << checkPlan(g.problem, g.plan, g.chip).front();
  g.tile = *lower(g.problem, g.plan, g.chip);
  return g;
}

std::vector<Call*> callsOf(TileProgram& tile, const std::function<bool(const Call&)>& wanted) {
  std::vector<Call*> calls;
  for (Phase& phase : tile.phases) {
    eachUnitRun(phase.body, [&](std::vector<Node>& nodes, const Window& run) {
      for (int i = run.begin; i < run.end; ++i) {
        Call& call = nodes[static_cast<std::size_t>(i)].call;
        if (wanted(call)) calls.push_back(&call);
      }
    });
  }
  return calls;
}

bool has(const Call& call, Kind kind) {
  return std::any_of(call.flags.begin(), call.flags.end(), [&](const UnitFlag& f) { return f.kind == kind; });
}

// What a mutation did: whom findings are to name, by unit or buffer. Nothing: there is no such place in the program.
struct Broken {
  bool done = false;
  std::set<std::string> names;
};

struct Mutation {
  const char* name;
  std::set<FindingKind> kinds;  ///< one of them is to be found
  std::function<Broken(TileProgram&, std::mt19937_64&)> apply;
};

Call* anyOf(const std::vector<Call*>& calls, std::mt19937_64& random) {
  return calls.empty() ? nullptr : calls[random() % calls.size()];
}

Broken of(const Call* call) {
  return {call != nullptr,
          call == nullptr ? std::set<std::string>{} : std::set<std::string>{toString(CoreUnit(call->unit))}};
}

// What does not leave a core is missed where it stays, or where it was to go.
Broken orResults(Broken broken) {
  broken.names.insert({"cube", "dx", "dw", "db", "sums"});
  return broken;
}

Broken dropFlag(TileProgram& tile, Kind kind, std::mt19937_64& random) {
  Call* const call = anyOf(callsOf(tile, [&](const Call& c) { return has(c, kind); }), random);
  if (call == nullptr) return {};
  const auto flag =
      std::find_if(call->flags.begin(), call->flags.end(), [&](const UnitFlag& f) { return f.kind == kind; });
  Broken broken = of(call);
  broken.names.insert(std::string(toString(UnitPipe(flag->from))) + "_" + toString(UnitPipe(flag->to)));
  call->flags.erase(flag);
  return broken;
}

// The set of a flag, and the wait that comes for it.
Broken dropPair(TileProgram& tile, std::mt19937_64& random) {
  struct Pair {
    Call *set, *wait;
    UnitFlag flag;
  };
  std::vector<Pair> pairs;
  for (Phase& phase : tile.phases) {
    eachUnitRun(phase.body, [&](std::vector<Node>& nodes, const Window& run) {
      for (int i = run.begin; i < run.end; ++i) {
        Call& call = nodes[static_cast<std::size_t>(i)].call;
        for (const UnitFlag& f : call.flags) {
          for (int j = i + 1; f.kind == Kind::kSet && j < run.end; ++j) {
            Call& later = nodes[static_cast<std::size_t>(j)].call;
            const UnitFlag wait{Kind::kWait, f.from, f.to, f.id};
            if (std::find(later.flags.begin(), later.flags.end(), wait) == later.flags.end()) continue;
            pairs.push_back({&call, &later, f});
            break;
          }
        }
      }
    });
  }
  if (pairs.empty()) return {};
  const Pair p = pairs[random() % pairs.size()];
  std::erase(p.set->flags, p.flag);
  std::erase(p.wait->flags, UnitFlag{Kind::kWait, p.flag.from, p.flag.to, p.flag.id});
  return {true, {toString(CoreUnit(p.set->unit)), toString(CoreUnit(p.wait->unit))}};
}

template <class Change>
Broken change(TileProgram& tile, std::mt19937_64& random, const std::function<bool(const Call&)>& wanted,
              const Change& how) {
  Call* const call = anyOf(callsOf(tile, wanted), random);
  if (call != nullptr) how(*call);
  return of(call);
}

// All calls of an mmad: `first` begins its sums, or adds.
Broken changeMmad(TileProgram& tile, bool accumulates, std::mt19937_64& random) {
  std::vector<std::vector<Call*>> mmads;
  for (Call* call : callsOf(tile, [](const Call& c) { return CoreUnit(c.unit) == CoreUnit::kCube; })) {
    if (call->issues) mmads.emplace_back();
    if (call->name == "mmad" && call->variants.front().accumulate == accumulates) mmads.back().push_back(call);
  }
  std::erase_if(mmads, [](const auto& calls) { return calls.empty(); });
  if (mmads.empty()) return {};
  const auto& chosen = mmads[random() % mmads.size()];
  for (Call* call : chosen) call->variants.front().accumulate = !accumulates;
  return of(chosen.front());
}

Accumulate* accumulateOf(TileProgram& tile, const Call& call) {
  return std::get_if<Accumulate>(&tile.kernels[static_cast<std::size_t>(call.variants.front().kernel)]);
}

// The last segment of a listed move does one matrix less.
bool shorten(TileProgram& tile, Call& call) {
  Variant& v = call.variants.front();
  SegmentList list = tile.lists[static_cast<std::size_t>(v.list)];
  if (list.front().empty()) return false;
  if (--list.front().back().outer == 0) list.front().pop_back();
  v.list = static_cast<int>(tile.lists.size());
  tile.lists.push_back(list);
  return true;
}

const std::vector<Mutation>& mutations() {
  using K = FindingKind;
  static const std::vector<Mutation> kAll{
      {"dropped wait", {K::kRace, K::kSync}, [](auto& t, auto& r) { return dropFlag(t, Kind::kWait, r); }},
      {"dropped set", {K::kSync}, [](auto& t, auto& r) { return dropFlag(t, Kind::kSet, r); }},
      {"dropped pair", {K::kRace}, [](auto& t, auto& r) { return dropPair(t, r); }},
      {"another flag awaited",
       {K::kSync},
       [](auto& t, auto& r) {
         return change(
             t, r, [](const Call& c) { return has(c, Kind::kWait); },
             [](Call& c) {
               for (UnitFlag& f : c.flags) {
                 if (f.kind != Kind::kWait) continue;
                 f.id = static_cast<std::uint8_t>((f.id + 3) % kUnitFlags);
                 return;
               }
             });
       }},
      {"unpaired set",
       {K::kSync},
       [](auto& t, auto& r) {
         return change(
             t, r, [](const Call& c) { return CoreUnit(c.unit) != CoreUnit::kNone; },
             [](Call& c) {
               const UnitPipe pipe = pipeOf(CoreUnit(c.unit));
               c.flags.push_back({Kind::kSet, static_cast<int>(pipe),
                                  static_cast<int>(pipe == UnitPipe::kM ? UnitPipe::kMte2 : UnitPipe::kM), 7});
             });
       }},
      {"unpaired wait",
       {K::kSync},
       [](auto& t, auto& r) {
         return change(
             t, r, [](const Call& c) { return CoreUnit(c.unit) != CoreUnit::kNone && c.issues; },
             [](Call& c) {
               const UnitPipe pipe = pipeOf(CoreUnit(c.unit));
               c.flags.push_back({Kind::kWait, static_cast<int>(pipe == UnitPipe::kM ? UnitPipe::kMte2 : UnitPipe::kM),
                                  static_cast<int>(pipe), 7});
             });
       }},
      {"wrong ping-pong buffer of L0",
       {K::kRace, K::kInit},
       [](auto& t, auto& r) {
         return change(
             t, r,
             [](const Call& c) {
               return CoreUnit(c.unit) == CoreUnit::kL1ToL0 && c.issues && c.place.offset[2] > 0 && c.name != "turn";
             },
             [](Call& c) { c.place.offset[2] = 0; });
       }},
      {"wrong ping-pong buffer of L0C",
       {K::kRace, K::kInit, K::kOverwrite},
       [](auto& t, auto& r) {
         return orResults(change(
             t, r, [](const Call& c) { return CoreUnit(c.unit) == CoreUnit::kFixpipe && c.issues; },
             [](Call& c) { c.place.offset[0] = c.place.offset[0] > 0 ? 0 : 4096; }));
       }},
      {"rows not loaded",
       {K::kInit},
       [](auto& t, auto& r) {
         return change(
             t, r,
             [&](const Call& c) {
               return (CoreUnit(c.unit) == CoreUnit::kGmToL1 || CoreUnit(c.unit) == CoreUnit::kL1ToL0) &&
                      c.variants.front().list >= 0;
             },
             [&](Call& c) { shorten(t, c); });
       }},
      {"rows not written",
       {K::kInit, K::kOverwrite},
       [](auto& t, auto& r) {
         return orResults(change(
             t, r,
             [&](const Call& c) {
               return (CoreUnit(c.unit) == CoreUnit::kFixpipe || CoreUnit(c.unit) == CoreUnit::kUbToGm) &&
                      c.variants.front().list >= 0;
             },
             [&](Call& c) { shorten(t, c); }));
       }},
      {"window off by one",
       {K::kInit, K::kBounds},
       [](auto& t, auto& r) {
         return change(
             t, r, [](const Call& c) { return CoreUnit(c.unit) == CoreUnit::kL1ToL0 && c.a >= 0 && c.name != "turn"; },
             [&](Call& c) { c.place.offset[0] += 32 * 1024; });
       }},
      {"behind the buffer",
       {K::kBounds},
       [](auto& t, auto& r) {
         return change(
             t, r, [](const Call& c) { return CoreUnit(c.unit) == CoreUnit::kL1ToL0 && c.issues && c.name != "turn"; },
             [&](Call& c) { c.place.offset[2] += 64 * 1024 - 32; });
       }},
      {"behind the tensor",
       {K::kBounds},
       [](auto& t, auto& r) {
         return change(
             t, r, [](const Call& c) { return CoreUnit(c.unit) == CoreUnit::kGmToL1 && c.a >= 0; },
             [&](Call& c) { c.place.offset[0] += 1 << 20; });
       }},
      {"missing atomic addition",
       {K::kRace, K::kOverwrite},
       [](auto& t, auto& r) {
         const auto adds = [&](const Call& c) {
           return CoreUnit(c.unit) == CoreUnit::kFixpipe && accumulateOf(t, c) != nullptr;
         };
         Call* const call = anyOf(callsOf(t, adds), r);
         if (call == nullptr) return Broken{};
         const Accumulate m = *accumulateOf(t, *call);
         t.kernels[static_cast<std::size_t>(call->variants.front().kernel)] = Copy{.lanes = m.lanes,
                                                                                   .rows = m.rows,
                                                                                   .cols = m.cols,
                                                                                   .srcPitch = m.srcPitch,
                                                                                   .dstPitch = m.dstPitch,
                                                                                   .list = m.list};
         return of(call);
       }},
      {"addition to what is not zero", {K::kInit}, [](auto& t, auto& r) { return changeMmad(t, false, r); }},
      {"sums begun anew", {K::kOverwrite}, [](auto& t, auto& r) { return changeMmad(t, true, r); }},
      {"two cores on one block",
       {K::kRace, K::kOverwrite},
       [](TileProgram& t, auto& r) {
         for (Phase& phase : t.phases) {
           if (phase.name != "cube" && phase.name != "bias" && phase.name != "cast") continue;
           std::vector<std::pair<int, std::size_t>> places;
           for (const int axis : phase.parallelAxes) {
             const auto& steps = phase.axes[static_cast<std::size_t>(axis)].steps;
             for (std::size_t i = 1; i < steps.size(); ++i) {
               if (steps[i].cls == steps[i - 1].cls && steps[i].delta != steps[i - 1].delta)
                 places.emplace_back(axis, i);
             }
           }
           if (places.empty()) continue;
           const auto [axis, step] = places[r() % places.size()];
           auto& steps = phase.axes[static_cast<std::size_t>(axis)].steps;
           steps[step].delta = steps[step - 1].delta;
           return orResults({true, {"fixpipe", "ub_to_gm", ""}});
         }
         return Broken{};
       }},
      {"a block that does not leave",
       {K::kOverwrite, K::kInit},
       [](TileProgram& t, auto& r) {
         Call* const call = anyOf(
             callsOf(
                 t,
                 [](const Call& c) { return CoreUnit(c.unit) == CoreUnit::kFixpipe && c.variants.front().list >= 0; }),
             r);
         if (call == nullptr) return Broken{};
         t.lists.push_back({{}});
         call->variants.front().list = static_cast<int>(t.lists.size()) - 1;
         return orResults(of(call));
       }},
  };
  return kAll;
}

bool names(const SanitizerReport& report, const Mutation& mutation, const Broken& broken) {
  return std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& f) {
    return mutation.kinds.count(f.kind) > 0 &&
           (broken.names.count(f.party.unit) > 0 || broken.names.count(f.other.unit) > 0 ||
            broken.names.count(f.buffer) > 0 ||
            std::any_of(broken.names.begin(), broken.names.end(), [&](const std::string& name) {
              return name.find('_') != std::string::npos && f.what.find(name) != std::string::npos;
            }));
  });
}

TEST(Sanitizer, FindsMutantsOfPrograms) {
  std::vector<Given> given;
  for (const char* chip : {"ascend910b2", "ascend310p3"}) {
    for (const Pass g : {Pass::kDx, Pass::kDw, Pass::kDb}) {
      for (const std::int64_t stride : {1, 2}) given.push_back(programOf(chip, g, DType::kF16, stride));
    }
  }
  given.push_back(programOf("ascend910b2", Pass::kDw, DType::kF32, 1));
  for (const Given& g : given) {
    const SanitizerReport clean = g.report();
    EXPECT_TRUE(clean.ok()) << g.tile.name << ": " << describe(clean.findings.front());
  }
  std::mt19937_64 random(5);
  int mutants = 0, caught = 0;
  std::string escaped;
  for (const Mutation& mutation : mutations()) {
    int here = 0;
    for (const Given& right : given) {
      for (int turn = 0; turn < 2; ++turn) {
        Given wrong = right;
        const Broken broken = mutation.apply(wrong.tile, random);
        if (!broken.done || wrong.tile == right.tile) continue;
        ++mutants;
        ++here;
        const SanitizerReport report = wrong.report();
        if (names(report, mutation, broken)) {
          ++caught;
          continue;
        }
        escaped += std::string(mutation.name) + " in " + right.tile.name + " (";
        for (const std::string& name : broken.names) escaped += name + " ";
        escaped += "):";
        for (const Finding& f : report.findings) escaped += " " + describe(f) + ";";
        escaped += "\n";
      }
    }
    EXPECT_GT(here, 0) << mutation.name;
  }
  std::cout << mutants << " mutants, " << caught << " caught\n" << escaped;
  RecordProperty("mutants", mutants);
  RecordProperty("caught", caught);
  EXPECT_GE(mutants, 250);
  EXPECT_GE(caught * 100, mutants * 95) << escaped;
}

// Two cores, each of which moves a vector to the same place.
bool isRace(const Kernel& first, const Kernel& second) {
  const Problem p = convolution(Layout::kNdhwc);
  TileProgram tile;
  tile.buffers = {{"UB", Buffer::Use::kPrivate, 64, {}},
                  {"dw", Buffer::Use::kOutput, formatBytes(p, TensorId::kDw), {}}};
  Phase phase;
  phase.streams = {{"ub", 0, 0}, {"dw", 1, 0}};
  phase.axes = {Axis{"task", 2, {{{}, 0, 1, {}}, {{}, 1, 1, {}}}}};
  phase.parallelAxes = {0};
  Node choice;
  choice.classAxes = {0};
  choice.windows = {{0, 1}, {1, 2}};
  for (const Kernel& move : {first, second}) {
    Node node;
    node.call = Call{"out", 0, -1, 1, {}, {Variant{static_cast<int>(tile.kernels.size()), -1, false}}};
    node.call.unit = static_cast<int>(CoreUnit::kFixpipe);
    node.call.issues = true;
    choice.body.push_back(node);
    tile.kernels.emplace_back(move);
  }
  phase.body = {choice};
  tile.phases = {phase};
  const SanitizerReport report = sanitizeProgram(p, tile, [](const Phase&) { return std::vector<int>{0, 1}; });
  return std::any_of(report.findings.begin(), report.findings.end(),
                     [](const Finding& f) { return f.kind == FindingKind::kRace && f.buffer == "dw"; });
}

TEST(Sanitizer, OnlyAdditionsMayMeet) {
  const Accumulate add{.rows = 1, .cols = 16};
  const Copy copy{.rows = 1, .cols = 16};
  EXPECT_FALSE(isRace(add, add));
  EXPECT_TRUE(isRace(add, copy));
  EXPECT_TRUE(isRace(copy, add));
  EXPECT_TRUE(isRace(copy, copy));
}

}  // namespace
}  // namespace cubejit
