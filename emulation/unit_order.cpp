// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides by vector clocks: a wait learns what the pipe that set the flag knew. Flags are paired in the order of their pipes' queues, so
// what is found does not depend on the order in which queues advance.
#include "emulation/unit_order.h"

#include <algorithm>
#include <string>
#include <utility>

namespace cubejit {
namespace {

constexpr std::size_t kUnitPipeCount = kUnitPipes.size();

std::size_t index(int pipe) { return static_cast<std::size_t>(pipe); }

// "set MTE1_M:0": as hardware events are called.
std::string text(const UnitFlag& flag) {
  if (flag.kind == UnitFlag::Kind::kBarrier) return "\"barrier\"";
  return std::string(flag.kind == UnitFlag::Kind::kSet ? "\"set " : "\"wait ") + toString(UnitPipe(flag.from)) + "_" +
         toString(UnitPipe(flag.to)) + ":" + std::to_string(flag.id) + "\"";
}

template <class Over>
void learn(Over& to, const Over& from) {
  for (std::size_t p = 0; p < to.size(); ++p) to[p] = std::max(to[p], from[p]);
}

}  // namespace

UnitOrder::UnitOrder(const std::vector<Node>& calls, const Window& run)
    : flags_(kUnitPipeCount * kUnitPipeCount * kUnitFlags), places_(static_cast<std::size_t>(run.end - run.begin)) {
  int barriers = 0;
  int pipe = 0;
  for (int i = 0; i < run.end - run.begin; ++i) {
    const Call& call = calls[static_cast<std::size_t>(run.begin + i)].call;
    if (call.unit >= 0) pipe = static_cast<int>(pipeOf(CoreUnit(call.unit)));
    for (const UnitFlag& f : call.flags) {
      if (f.id >= kUnitFlags) fault({i}, -1, text(f) + ": flags are 0 to " + std::to_string(kUnitFlags - 1));
      if (f.id >= kUnitFlags) continue;
      if (f.kind == UnitFlag::Kind::kWait) queues_[index(f.to)].push_back({i, &f});
      if (f.kind != UnitFlag::Kind::kBarrier) continue;
      for (auto& queue : queues_) queue.push_back({i, &f, barriers});
      ++barriers;
    }
    places_[static_cast<std::size_t>(i)].pipe = index(pipe);
    queues_[index(pipe)].push_back({i});
    for (const UnitFlag& f : call.flags) {
      if (f.kind == UnitFlag::Kind::kSet && f.id < kUnitFlags) queues_[index(f.from)].push_back({i, &f});
    }
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t p = 0; p < kUnitPipeCount; ++p) {
      while (advance(p)) moved = true;
    }
    const bool allAtBarrier = std::all_of(queues_.begin(), queues_.end(), [&](const auto& queue) {
      const std::size_t at = next_[static_cast<std::size_t>(&queue - queues_.data())];
      return at < queue.size() && queue[at].barrier >= 0;
    });
    if (!allAtBarrier) continue;
    barrier();
    moved = true;
  }
  explainDeadlock();
  for (std::size_t f = 0; f < flags_.size() && finishes_; ++f) {
    if (flags_[f].raised.empty()) continue;
    const UnitFlag name{UnitFlag::Kind::kSet, static_cast<int>(f / kUnitFlags / kUnitPipeCount),
                        static_cast<int>(f / kUnitFlags % kUnitPipeCount), static_cast<std::uint8_t>(f % kUnitFlags)};
    faults_.push_back({flags_[f].raised.front().call, -1, text(name) + " is never awaited"});
  }
}

UnitOrder::Flag& UnitOrder::flag(const UnitFlag& f) {
  return flags_[(index(f.from) * kUnitPipeCount + index(f.to)) * kUnitFlags + f.id];
}

void UnitOrder::fault(const Step& step, int other, std::string what) {
  faults_.push_back({step.call, other, std::move(what)});
}

bool UnitOrder::advance(std::size_t pipe) {
  if (next_[pipe] == queues_[pipe].size()) return false;
  const Step& step = queues_[pipe][next_[pipe]];
  if (step.barrier >= 0) return false;
  Over& over = over_[pipe];
  if (step.flag == nullptr) {
    Place& place = places_[static_cast<std::size_t>(step.call)];
    place.before = over;
    place.number = ++over[pipe];
  } else if (step.flag->kind == UnitFlag::Kind::kSet) {
    Flag& f = flag(*step.flag);
    if (!f.raised.empty())
      fault(step, f.raised.back().call, text(*step.flag) + " while it is set, for nothing says that its wait is over");
    else if (over[index(step.flag->to)] < f.lowered)
      fault(step, f.loweredBy, text(*step.flag) + " again, though nothing orders it behind the wait before");
    ++over[pipe];
    f.raised.push_back({over, step.call});
  } else {
    Flag& f = flag(*step.flag);
    if (f.raised.empty()) return false;
    learn(over, f.raised.front().over);
    f.raised.erase(f.raised.begin());
    f.lowered = ++over[pipe];
    f.loweredBy = step.call;
  }
  ++next_[pipe];
  return true;
}

void UnitOrder::barrier() {
  Over all{};
  for (const Over& over : over_) learn(all, over);
  for (std::size_t p = 0; p < kUnitPipeCount; ++p) {
    over_[p] = all;
    ++next_[p];
  }
}

void UnitOrder::explainDeadlock() {
  for (std::size_t p = 0; p < kUnitPipeCount; ++p) {
    if (next_[p] == queues_[p].size()) continue;
    finishes_ = false;
    const Step& step = queues_[p][next_[p]];
    if (step.barrier >= 0) continue;  // others hold it up
    int setBy = -1;                   // further back in a queue that stands
    const auto& sets = queues_[index(step.flag->from)];
    for (std::size_t s = next_[index(step.flag->from)]; s < sets.size() && setBy < 0; ++s) {
      if (sets[s].flag != nullptr && sets[s].flag->kind == UnitFlag::Kind::kSet && sets[s].flag->to == step.flag->to &&
          sets[s].flag->id == step.flag->id)
        setBy = sets[s].call;
    }
    fault(step, setBy,
          text(*step.flag) + " waits for ever: " +
              (setBy < 0 ? "the flag is never set" : "a deadlock, for what sets the flag waits, too"));
  }
}

bool UnitOrder::isBefore(int first, int second) const {
  const Place &a = places_[static_cast<std::size_t>(first)], &b = places_[static_cast<std::size_t>(second)];
  return a.pipe == b.pipe ? a.number < b.number : b.before[a.pipe] >= a.number;
}

}  // namespace cubejit
