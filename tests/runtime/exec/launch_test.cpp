// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does the lean walk make exactly the calls a plain reading of tile/program.h makes, for any number of threads?
#include "runtime/exec/launch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <tuple>

namespace cubejit {
namespace {

constexpr double kWorthWaking = 1e9;

using Record = std::tuple<int, const void*, const void*, const void*, std::vector<std::int64_t>, std::int64_t,
                          std::array<std::int64_t, 4>>;

// What a run calls, in order of arrival.
struct Log {
  std::mutex mutex;
  std::vector<Record> records;

  static void note(const void* user, int kernel, const KernelArgs& args) {
    auto& log = *static_cast<Log*>(const_cast<void*>(user));
    std::vector<std::int64_t> list;
    if (args.list != nullptr)
      list.assign(args.list, args.list + 1 + 3 * args.list[0]);  // programs here have one section
    const std::array<std::int64_t, 4> repeat{args.repeat, args.repeat > 1 ? args.aRepeat : 0,
                                             args.repeat > 1 ? args.bRepeat : 0, args.repeat > 1 ? args.cRepeat : 0};
    const std::lock_guard<std::mutex> lock(log.mutex);
    log.records.emplace_back(kernel, args.a, args.b, args.c, std::move(list), args.accumulate, repeat);
  }
  KernelRunner runner(const TileProgram& program) {
    KernelRunner r;
    r.functions.assign(program.kernels.size(), nullptr);
    r.interpret = &note;
    r.user = this;
    return r;
  }
};

// The plain reading: every address is added up from scratch at every call.
class PlainReading {
 public:
  PlainReading(const TileProgram& program, const std::map<int, const char*>& bases)
      : program_(program), bases_(bases) {}

  std::vector<Record> calls(const Phase& phase) {
    phase_ = &phase;
    tasks(0);
    return std::move(records_);
  }

 private:
  void tasks(std::size_t depth) {
    if (depth == phase_->parallelAxes.size()) return nodes(phase_->body);
    const int axis = phase_->parallelAxes[depth];
    for (const AxisStep& step : phase_->axes[static_cast<std::size_t>(axis)].steps) {
      current_[axis] = &step;
      tasks(depth + 1);
    }
    current_.erase(axis);
  }

  std::size_t number(const std::vector<int>& classAxes) const {
    std::size_t index = 0;
    for (const int axis : classAxes) {
      index = index * static_cast<std::size_t>(phase_->axes[static_cast<std::size_t>(axis)].classes) +
              static_cast<std::size_t>(current_.at(axis)->cls);
    }
    return index;
  }

  void nodes(const std::vector<Node>& body) {
    for (const Node& node : body) {
      if (!node.windows.empty()) {
        const Window& w = node.windows[number(node.classAxes)];
        nodes({node.body.begin() + w.begin, node.body.begin() + w.end});
        continue;
      }
      if (node.axis < 0) {
        call(node.call);
        continue;
      }
      const Axis& axis = phase_->axes[static_cast<std::size_t>(node.axis)];
      std::size_t begin = 0, end = axis.steps.size();
      if (axis.windowAxis >= 0) {
        const Window& w = axis.windows[static_cast<std::size_t>(current_.at(axis.windowAxis)->cls)];
        begin = static_cast<std::size_t>(w.begin);
        end = static_cast<std::size_t>(w.end);
      }
      for (std::size_t i = begin; i < end; ++i) {
        current_[node.axis] = &axis.steps[i];
        nodes(node.body);
      }
      current_.erase(node.axis);
    }
  }

  void call(const Call& call) {
    const Variant& v = call.variants[number(call.classAxes)];
    if (v.kernel < 0) return;
    std::vector<std::int64_t> list;
    if (v.list >= 0) {
      const auto& section = program_.lists[static_cast<std::size_t>(v.list)].front();
      list.push_back(static_cast<std::int64_t>(section.size()));
      for (const Segment& s : section) list.insert(list.end(), {s.aOffset, s.bOffset, s.outer});
    }
    std::int64_t repeat = call.place.repeat;
    for (const auto& [axis, step] : current_) repeat = std::max(repeat, step->repeat);
    std::array<std::int64_t, 4> repeats{repeat, 0, 0, 0};
    const std::array<int, 3> streams{call.a, call.b, call.c};
    if (repeat > 1) {
      for (std::size_t i = 0; i < 3; ++i) {
        if (call.place.repeat > 1) repeats[i + 1] = call.place.repeatStep[i];
        for (const auto& [axis, step] : current_) {
          if (step->repeat > 1 && streams[i] >= 0)
            repeats[i + 1] = step->repeatDelta[static_cast<std::size_t>(streams[i])];
        }
      }
    }
    const auto& at = call.place.offset;
    records_.emplace_back(v.kernel, address(call.a, at[0]), address(call.b, at[1]), address(call.c, at[2]),
                          std::move(list), v.accumulate ? 1 : 0, repeats);
  }

  const void* address(int stream, std::int64_t offset) const {
    if (stream < 0) return nullptr;
    const Stream& s = phase_->streams[static_cast<std::size_t>(stream)];
    std::int64_t at = s.offset + offset;
    for (const auto& [axis, step] : current_) {
      if (static_cast<std::size_t>(stream) < step->delta.size()) at += step->delta[static_cast<std::size_t>(stream)];
    }
    return bases_.at(s.buffer) + at;
  }

  const TileProgram& program_;
  std::map<int, const char*> bases_;
  const Phase* phase_ = nullptr;
  std::map<int, const AxisStep*> current_;
  std::vector<Record> records_;
};

// Random phases over dy, w and dx: nests of up to five axes, one of them parallel, classes, windows, repeats, missing deltas, choices, calls
// with places of their own.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {}

  TileProgram make() {
    TileProgram program;
    program.buffers = {Buffer{"dy", Buffer::Use::kInput, 1 << 20, {}}, Buffer{"w", Buffer::Use::kInput, 1 << 20, {}},
                       Buffer{"dx", Buffer::Use::kOutput, 1 << 20, {}}};
    program.kernels.resize(3);
    for (int i = 0; i < 3; ++i) program.lists.push_back({{Segment{i, 2 * i, 1}, Segment{3 * i, 0, 4}}});
    const int phases = upTo(1, 3);
    for (int i = 0; i < phases; ++i) program.phases.push_back(phase());
    return program;
  }

 private:
  int upTo(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random_); }

  Phase phase() {
    Phase phase;
    phase.workCycles = kWorthWaking;
    for (int s = 0; s < 4; ++s) phase.streams.push_back(Stream{"s" + std::to_string(s), upTo(0, 2), 8 * upTo(0, 9)});
    const int axes = upTo(2, 5);
    for (int i = 0; i < axes; ++i) phase.axes.push_back(axis());
    phase.parallelAxes = {0};
    if (axes > 3 && upTo(0, 1) == 1) phase.parallelAxes.push_back(1);
    const int firstSerial = static_cast<int>(phase.parallelAxes.size());
    const int last = axes - 1;
    if (last > firstSerial && upTo(0, 1) == 1) {
      Axis& windowed = phase.axes[static_cast<std::size_t>(last)];
      windowed.windowAxis = 0;
      const int steps = static_cast<int>(windowed.steps.size());
      for (int c = 0; c < phase.axes[0].classes; ++c) {
        const int begin = upTo(0, steps);
        windowed.windows.push_back(Window{begin, upTo(begin, steps)});
      }
    } else if (last >= firstSerial && upTo(0, 1) == 1) {
      for (AxisStep& step : phase.axes[static_cast<std::size_t>(last)].steps) {
        step.repeat = upTo(1, 3);
        for (int s = 0; s < 4; ++s) step.repeatDelta.push_back(4 * upTo(0, 9));
      }
    }
    std::vector<Node> body{call(phase, axes)};
    for (int i = last; i >= firstSerial; --i) {
      Node loop;
      loop.axis = i;
      loop.body = std::move(body);
      body = {std::move(loop)};
      if (i != last && upTo(0, 2) == 0) body.push_back(call(phase, i, true));
      if (upTo(0, 2) == 0) body = {choice(phase, i, std::move(body))};
    }
    phase.body = std::move(body);
    return phase;
  }

  Axis axis() {
    Axis axis;
    axis.classes = upTo(1, 3);
    const int steps = upTo(1, 6);
    for (int i = 0; i < steps; ++i) {
      AxisStep step;
      step.cls = upTo(0, axis.classes - 1);
      const int deltas = upTo(0, 4);
      for (int s = 0; s < deltas; ++s) step.delta.push_back(4 * upTo(-50, 1000));
      axis.steps.push_back(std::move(step));
    }
    return axis;
  }

  // Of parts of `body`, and calls, by the classes of the first axes of [0, enclosing).
  Node choice(const Phase& phase, int enclosing, std::vector<Node> body) {
    Node node;
    for (int i = upTo(0, 3); i > 0; --i) body.push_back(call(phase, enclosing, true));
    node.body = std::move(body);
    std::size_t windows = 1;
    for (int axis = 0; axis < std::min(2, enclosing); ++axis) {
      node.classAxes.push_back(axis);
      windows *= static_cast<std::size_t>(phase.axes[static_cast<std::size_t>(axis)].classes);
    }
    const int nodes = static_cast<int>(node.body.size());
    for (std::size_t i = 0; i < windows; ++i) {
      const int begin = upTo(0, nodes);
      node.windows.push_back(Window{begin, upTo(begin, nodes)});
    }
    return node;
  }

  // A call under the axes [0, enclosing). `repeats`: none of their steps does, so it may itself.
  Node call(const Phase& phase, int enclosing, bool repeats = false) {
    Node node;
    node.call = Call{"call", upTo(0, 3), upTo(-1, 3), upTo(0, 3), {}, {}};
    const int streams[] = {node.call.a, node.call.b, node.call.c};
    for (std::size_t s = 0; upTo(0, 1) == 0 && s < 3; ++s) {
      if (streams[s] >= 0) node.call.place.offset[s] = 4 * upTo(-9, 9);
    }
    if (repeats && upTo(0, 1) == 0) {
      node.call.place.repeat = upTo(2, 4);
      for (std::size_t s = 0; s < 3; ++s) node.call.place.repeatStep[s] = 4 * upTo(0, 9);
    }
    std::size_t variants = 1;
    for (int axis = 0; axis < enclosing; ++axis) {
      if (upTo(0, 1) == 0) continue;
      node.call.classAxes.push_back(axis);
      variants *= static_cast<std::size_t>(phase.axes[static_cast<std::size_t>(axis)].classes);
    }
    for (std::size_t i = 0; i < variants; ++i)
      node.call.variants.push_back(Variant{upTo(-1, 2), upTo(-1, 2), upTo(0, 1) == 1});
    return node;
  }

  std::mt19937 random_;
};

void runInTurn(void*, int count, void (*body)(void*, int), void* context) {
  for (int i = 0; i < count; ++i) body(context, i);
}

Team teamOf(int slots, const ParallelFor& parallelFor = {}) {
  return {slots, parallelFor, false, Options{}.wakeCycles};
}

TEST(Launch, MakesTheCallsOfThePlainReading) {
  static float dy[4], w[4], dx[4];
  const std::map<int, const char*> bases{{0, reinterpret_cast<const char*>(dy)},
                                         {1, reinterpret_cast<const char*>(w)},
                                         {2, reinterpret_cast<const char*>(dx)}};
  std::size_t calls = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const TileProgram program = RandomProgram(seed).make();
    std::vector<std::vector<Record>> want;
    for (const Phase& phase : program.phases) want.push_back(PlainReading(program, bases).calls(phase));
    for (const int slots : {1, 2, 3, -4}) {  // -4: four slots of the caller's
      Log log;
      ASSERT_TRUE(launchable(program).ok());
      const LaunchProgram launch(program, log.runner(program));
      launch.run({dy, w, dx}, nullptr, nullptr,
                 teamOf(std::abs(slots), slots < 0 ? ParallelFor{&runInTurn, nullptr} : ParallelFor{}));
      // Phases come one after the other; within one, tasks come in any order unless one thread runs them.
      auto at = log.records.begin();
      for (std::size_t phase = 0; phase < want.size(); ++phase) {
        ASSERT_GE(static_cast<std::size_t>(log.records.end() - at), want[phase].size()) << "seed " << seed;
        std::vector<Record> got(at, at + static_cast<std::ptrdiff_t>(want[phase].size()));
        at += static_cast<std::ptrdiff_t>(want[phase].size());
        std::vector<Record> expected = want[phase];
        calls += expected.size();
        if (slots != 1) {
          std::sort(got.begin(), got.end());
          std::sort(expected.begin(), expected.end());
        }
        ASSERT_EQ(got, expected) << "seed " << seed << ", phase " << phase << ", slots " << slots;
      }
      ASSERT_EQ(at, log.records.end()) << "seed " << seed;
    }
  }
  EXPECT_GT(calls, 10000U);
}

// One phase of `tasks` tasks; each calls kernel 0 once on (private, shared, dx + 4 * task).
TileProgram workspaceProgram(int tasks, double workCycles) {
  TileProgram program;
  program.buffers = {
      Buffer{"dx", Buffer::Use::kOutput, 4 * tasks, {}}, Buffer{"p", Buffer::Use::kPrivate, 200, {}},
      Buffer{"q", Buffer::Use::kPrivate, 4096, {}},      Buffer{"s", Buffer::Use::kShared, 100, {}},
      Buffer{"t", Buffer::Use::kShared, 4096, {}},       Buffer{"c", Buffer::Use::kConstant, 8, {1.5F, 2.5F}}};
  program.kernels.resize(1);
  Phase phase;
  phase.workCycles = workCycles;
  phase.streams = {Stream{"p", 1, 0}, Stream{"s", 3, 0}, Stream{"dx", 0, 0}, Stream{"c", 5, 4}};
  Axis axis;
  for (int i = 0; i < tasks; ++i) {
    AxisStep step;
    step.delta = {0, 0, 4 * i};
    axis.steps.push_back(step);
  }
  phase.axes = {axis};
  phase.parallelAxes = {0};
  Node node;
  node.call = Call{"call", 0, 1, 2, {}, {Variant{0, -1, false}}};
  phase.body = {node};
  program.phases = {phase};
  return program;
}

TEST(Launch, WorkspaceHoldsSharedBuffersOnceAndPrivateOnesPerSlot) {
  const TileProgram program = workspaceProgram(8, kWorthWaking);
  Log log;
  const LaunchProgram launch(program, log.runner(program));
  const std::size_t one = launch.workspaceBytes(1), two = launch.workspaceBytes(2), five = launch.workspaceBytes(5);
  EXPECT_GE(one, 200U + 4096U + 100U + 4096U);
  EXPECT_EQ(five - one, 4 * (two - one));
  EXPECT_GE(two - one, 200U + 4096U);
  EXPECT_LT(two - one, 200U + 4096U + 512U) << "private buffers only";
  alignas(64) static char workspace[1 << 16];
  ASSERT_LE(five, sizeof(workspace));
  float dx[8];
  // A pool that gives each slot one task: bodies that arrive later find the work of their turn.
  launch.run({dx}, nullptr, workspace, teamOf(5, ParallelFor{&runInTurn, nullptr}));
  ASSERT_EQ(log.records.size(), 8U);
  for (const Record& record : log.records) {
    for (const void* pointer : {std::get<1>(record), std::get<2>(record)}) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % 64, 0U);
      EXPECT_GE(static_cast<const char*>(pointer), workspace);
      EXPECT_LT(static_cast<const char*>(pointer), workspace + five);
    }
  }
}

// Each task writes its number all over its private buffer, looks away, and finds it unchanged.
struct Exclusive {
  std::atomic<int> clashes{0};
  static void write(const void* user, int, const KernelArgs& args) {
    auto* const panel = static_cast<volatile int*>(const_cast<void*>(args.a));
    const int mine = static_cast<int>(reinterpret_cast<std::uintptr_t>(args.c));
    for (int i = 0; i < 50; ++i) panel[i] = mine;
    std::this_thread::yield();
    for (int i = 0; i < 50; ++i) {
      if (panel[i] != mine) ++static_cast<Exclusive*>(const_cast<void*>(user))->clashes;
    }
  }
};

TEST(Launch, ThreadsNeverShareAPrivateBuffer) {
  const TileProgram program = workspaceProgram(500, kWorthWaking);
  Exclusive exclusive;
  KernelRunner runner;
  runner.functions = {nullptr};
  runner.interpret = &Exclusive::write;
  runner.user = &exclusive;
  const LaunchProgram launch(program, runner);
  alignas(64) static char workspace[1 << 16];
  ASSERT_LE(launch.workspaceBytes(4), sizeof(workspace));
  const ParallelFor threads{[](void*, int count, void (*body)(void*, int), void* context) {
                              std::vector<std::thread> team;
                              for (int i = 0; i < count; ++i) team.emplace_back(body, context, i);
                              for (std::thread& t : team) t.join();
                            },
                            nullptr};
  static float dx[500];
  launch.run({dx}, nullptr, workspace, teamOf(4, threads));
  launch.run({dx}, nullptr, workspace, teamOf(2));
  EXPECT_EQ(exclusive.clashes, 0);
}

int slotsAskedFor(const TileProgram& program, int slots) {
  Log log;
  const LaunchProgram launch(program, log.runner(program));
  alignas(64) static char workspace[1 << 16];
  static float dx[500];
  int asked = 0;
  const ParallelFor counting{[](void* user, int count, void (*body)(void*, int), void* context) {
                               *static_cast<int*>(user) = count;
                               runInTurn(nullptr, count, body, context);
                             },
                             &asked};
  launch.run({dx}, nullptr, workspace, teamOf(slots, counting));
  return asked;
}

TEST(Launch, SmallPhasesAndSingleTasksWakeNobody) {
  EXPECT_EQ(slotsAskedFor(workspaceProgram(8, 1000), 4), 0);
  EXPECT_EQ(slotsAskedFor(workspaceProgram(1, kWorthWaking), 4), 0);
  EXPECT_EQ(slotsAskedFor(workspaceProgram(3, kWorthWaking), 4), 3);
  EXPECT_EQ(slotsAskedFor(workspaceProgram(8, kWorthWaking), 4), 4);
  EXPECT_EQ(slotsAskedFor(workspaceProgram(0, kWorthWaking), 4), 0);
}

TEST(Launch, ConstantsAreReadWhereTheProgramHoldsThem) {
  TileProgram program = workspaceProgram(1, 0);
  program.phases[0].body[0].call.b = 3;
  Log log;
  const LaunchProgram launch(program, log.runner(program));
  alignas(64) static char workspace[1 << 16];
  float dx[1];
  launch.run({dx}, nullptr, workspace, teamOf(1));
  ASSERT_EQ(log.records.size(), 1U);
  EXPECT_EQ(*static_cast<const float*>(std::get<2>(log.records[0])), 2.5F);
}

// How often each of two kernels that mean the same was called.
int plainCalls = 0, alignedCalls = 0;

// The twin stores vectors past the caches, so all repetitions must lie at a vector's alignment.
TEST(Launch, TwinsTakeAlignedRepetitionsOnly) {
  TileProgram program = workspaceProgram(1, 0);
  Contract contract;
  contract.lanes = 16;
  program.kernels = {contract, contract};
  Call& call = program.phases[0].body[0].call;
  call.c = 1;  // shared, at a line of a cache
  call.variants[0].aligned = 1;
  KernelRunner runner;
  runner.functions = {[](const KernelArgs*) { ++plainCalls; }, [](const KernelArgs*) { ++alignedCalls; }};
  alignas(64) static char workspace[1 << 16];
  const auto ran = [&](std::int64_t offset, std::int64_t repeat, std::int64_t step) {
    call.place.offset[2] = offset;
    call.place.repeat = repeat;
    call.place.repeatStep[2] = step;
    plainCalls = alignedCalls = 0;
    LaunchProgram(program, runner).run({nullptr}, nullptr, workspace, teamOf(1));
    return std::pair{plainCalls, alignedCalls};
  };
  EXPECT_EQ(ran(0, 1, 0), (std::pair{0, 1}));
  EXPECT_EQ(ran(32, 1, 0), (std::pair{1, 0}));
  EXPECT_EQ(ran(0, 3, 64), (std::pair{0, 1}));
  EXPECT_EQ(ran(0, 3, 32), (std::pair{1, 0}));
  EXPECT_EQ(ran(0, 1, 32), (std::pair{0, 1})) << "the only one is aligned";
}

TEST(Launch, TooManyStreamsOrAxesAreRefused) {
  TileProgram program = workspaceProgram(1, 0);
  program.phases[0].streams.resize(65);
  const Status streams = launchable(program);
  ASSERT_FALSE(streams.ok());
  EXPECT_NE(streams.error().message.find("65 streams"), std::string::npos) << streams.error().message;
  program = workspaceProgram(1, 0);
  program.phases[0].axes.resize(193);
  EXPECT_FALSE(launchable(program).ok());
}

}  // namespace
}  // namespace cubejit
