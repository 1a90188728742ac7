// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides by vector clocks: an instruction waits for the last one of each queue that it must be behind, unless what it waited for before says
// that this one is done. A flag is used again only where its last wait is known to be over; where none is free, all queues wait.
#include "codegen/tile/unit_flags.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "codegen/tile/last_touches.h"

namespace cubejit {
namespace {

// By queue: how many of its instructions are known to be done.
using Done = std::array<std::int64_t, kMostUnitQueues>;

void learn(Done& to, const Done& from) {
  for (std::size_t p = 0; p < to.size(); ++p) to[p] = std::max(to[p], from[p]);
}

// The flags of one run.
class RunFlags {
 public:
  RunFlags(ProgramTouch& touch, const Phase& phase, std::vector<Node>& calls, const Window& run)
      : touch_(touch), phase_(phase), calls_(calls), run_(run) {}

  void set() {
    for (int i = run_.begin; i < run_.end;) {
      int end = i + 1;
      while (end < run_.end && !call(end).issues) ++end;
      if (call(i).unit >= 0) add(i, end);
      i = end;
    }
  }

 private:
  struct Instruction {
    int queue = 0;
    std::int64_t number = 0;  ///< of its queue, from 1
    int lastCall = -1;
    Done done{};  ///< when it is done
  };

  Call& call(int i) { return calls_[static_cast<std::size_t>(i)].call; }

  void add(int begin, int end) {
    const auto self = static_cast<int>(instructions_.size());
    const int queue = touch_.program().units[static_cast<std::size_t>(call(begin).unit)].queue;
    std::set<int> before;  // in other queues
    for (int i = begin; i < end; ++i) {
      for (const CallAccess& access : accessesOf(touch_, phase_, call(i))) {
        if (touch_.program().buffers[static_cast<std::size_t>(access.buffer)].use != Buffer::Use::kPrivate) continue;
        touched_[access.buffer].touch(access.bytes, access.writes, self, queue, [&](int other, bool) {
          if (other != self && instructions_[static_cast<std::size_t>(other)].queue != queue) before.insert(other);
        });
      }
    }
    Done& known = known_[static_cast<std::size_t>(queue)];
    // The latest knows most.
    for (auto other = before.rbegin(); other != before.rend(); ++other) {
      const Instruction& from = instructions_[static_cast<std::size_t>(*other)];
      if (known[static_cast<std::size_t>(from.queue)] < from.number) await(from, begin, queue, known);
    }
    Instruction made{queue, ++issued_[static_cast<std::size_t>(queue)], end - 1, {}};
    known[static_cast<std::size_t>(queue)] = made.number;
    made.done = known;
    instructions_.push_back(made);
  }

  void await(const Instruction& from, int at, int to, Done& known) {
    // By flag: the number of the instruction that waited for it last.
    auto& waited = waited_[{from.queue, to}];
    for (std::uint8_t id = 0; id < kUnitFlags; ++id) {
      if (waited[id] > from.done[static_cast<std::size_t>(to)]) continue;
      waited[id] = issued_[static_cast<std::size_t>(to)] + 1;
      call(from.lastCall).flags.push_back({UnitFlag::Kind::kSet, from.queue, to, id});
      call(at).flags.push_back({UnitFlag::Kind::kWait, from.queue, to, id});
      return learn(known, from.done);
    }
    call(at).flags.push_back({UnitFlag::Kind::kBarrier, to, to, 0});
    for (Done& done : known_) done = issued_;
  }

  ProgramTouch& touch_;
  const Phase& phase_;
  std::vector<Node>& calls_;
  const Window run_;
  std::vector<Instruction> instructions_;
  std::array<Done, kMostUnitQueues> known_{};  ///< by each queue
  Done issued_{};
  std::map<int, LastTouches> touched_;  ///< by buffer
  std::map<std::pair<int, int>, std::array<std::int64_t, kUnitFlags>> waited_;
};

}  // namespace

void eachUnitRun(std::vector<Node>& body,
                 const std::function<void(std::vector<Node>& calls, const Window& run)>& visit) {
  const auto isRun = [&](const Window& w) {
    return std::all_of(body.begin() + w.begin, body.begin() + w.end, [](const Node& n) { return n.isCall(); });
  };
  const Window all{0, static_cast<int>(body.size())};
  if (isRun(all)) {
    if (all.begin < all.end) visit(body, all);
    return;
  }
  for (Node& node : body) {
    if (node.windows.empty()) {
      eachUnitRun(node.body, visit);
      continue;
    }
    std::set<std::pair<int, int>> seen;
    for (const Window& w : node.windows) {
      if (w.begin < w.end && seen.insert({w.begin, w.end}).second) visit(node.body, w);
    }
  }
}

void clearUnitFlags(TileProgram& program) {
  for (Phase& phase : program.phases) {
    eachUnitRun(phase.body, [](std::vector<Node>& calls, const Window& run) {
      for (int i = run.begin; i < run.end; ++i) calls[static_cast<std::size_t>(i)].call.flags.clear();
    });
  }
}

void setUnitFlags(TileProgram& program) {
  clearUnitFlags(program);
  ProgramTouch touch(program);
  for (Phase& phase : program.phases) {
    eachUnitRun(phase.body,
                [&](std::vector<Node>& calls, const Window& run) { RunFlags(touch, phase, calls, run).set(); });
  }
}

}  // namespace cubejit
