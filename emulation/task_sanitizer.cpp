// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides by going over the calls once: who touched which bytes last, and whether flags say that this was before; which bytes have been
// written; which sums of the cube wait to leave.
#include "emulation/task_sanitizer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "codegen/tile/last_touches.h"
#include "emulation/unit_order.h"

namespace cubejit {
namespace {

// Bytes, from the first to the last, that an instruction filled.
struct Filled {
  ByteRange bytes;
  int instruction = -1, call = -1;  ///< its last call
};

// Sums of the cube in a buffer.
struct Sums {
  ByteRange bytes;
  int instruction = -1, call = -1;  ///< that added last
  bool left = false;                ///< some of them, for other units
};

class RunSanitizer {
 public:
  RunSanitizer(ProgramTouch& touch, ExactTouch& exact, const Phase& phase, const std::vector<Node>& calls,
               const Window& run, bool mayStay, Written& written)
      : touch_(touch),
        exact_(exact),
        phase_(phase),
        calls_(calls),
        run_(run),
        mayStay_(mayStay),
        written_(written),
        order_(calls, run) {}

  std::vector<TaskFinding> run() {
    for (const FlagFault& f : order_.faults()) add(FindingKind::kSync, f.call, f.otherCall, -1, {}, f.what);
    for (int i = 0; i < run_.end - run_.begin; ++i) visit(i);
    for (const Sums& sums : sums_) lost(sums, -1);
    return std::move(findings_);
  }

 private:
  const Call& call(int i) const { return calls_[static_cast<std::size_t>(run_.begin + i)].call; }

  void add(FindingKind kind, int party, int other, int buffer, ByteRange bytes, std::string what) {
    findings_.push_back({kind, party, other, buffer, bytes, std::move(what)});
  }

  void visit(int i) {
    if (call(i).issues) ++instruction_;
    std::vector<CallAccess> own;  // of the core's buffers
    for (const CallAccess& access : accessesOf(touch_, phase_, call(i))) {
      if (bufferOf(access).use == Buffer::Use::kPrivate) own.push_back(access);
    }
    for (const CallAccess& access : own) {
      // A strip on its way from L0C to memory takes the place of the one before.
      if (access.writes && CoreUnit(call(i).unit) == CoreUnit::kFixpipe) bytesOf(access.buffer).clear();
    }
    for (const CallAccess& access : own) {
      const Buffer& buffer = bufferOf(access);
      if (access.bytes.begin < 0 || access.bytes.end > buffer.bytes)
        add(FindingKind::kBounds, i, -1, access.buffer, access.bytes,
            std::string(access.writes ? "writes" : "reads") + " outside the " + std::to_string(buffer.bytes) +
                " bytes of " + buffer.name);
      if (order_.finishes()) race(i, access);
      if (access.reads) init(i, access);
      leave(i, access);
    }
    // Written together: an operand that adds has read before.
    for (const CallAccess& access : own) {
      if (!access.writes) continue;
      ByteSet& bytes = bytesOf(access.buffer);
      if (bufferOf(access).name != "UB") replace(i, access, bytes);  // strips of UB are zeroed before they are filled
      exact_.visit(call(i), access.operand, streamOffset(access), [&](ByteRange r) {
        bytes.add(r);
        return true;
      });
    }
  }

  // What an instruction begins to overwrite is gone as a whole: nobody is to read the rest of it.
  void replace(int i, const CallAccess& access, ByteSet& bytes) {
    std::vector<Filled>& filled = filled_[access.buffer];
    auto mine =
        std::find_if(filled.begin(), filled.end(), [&](const Filled& f) { return f.instruction == instruction_; });
    if (mine == filled.end()) mine = filled.insert(filled.end(), Filled{access.bytes, instruction_, i});
    mine->call = i;
    mine->bytes = {std::min(mine->bytes.begin, access.bytes.begin), std::max(mine->bytes.end, access.bytes.end)};
    if (access.reads) return;  // it adds
    std::erase_if(filled, [&](const Filled& f) {
      const bool replaced =
          f.instruction != instruction_ && f.bytes.begin < access.bytes.end && access.bytes.begin < f.bytes.end;
      if (replaced) bytes.remove(f.bytes);
      return replaced;
    });
  }

  const Buffer& bufferOf(const CallAccess& access) const {
    return touch_.program().buffers[static_cast<std::size_t>(access.buffer)];
  }
  ByteSet& bytesOf(int buffer) {
    return written_.try_emplace(buffer, ByteSet(touch_.program().buffers[static_cast<std::size_t>(buffer)].bytes))
        .first->second;
  }
  std::int64_t streamOffset(const CallAccess& access) const {
    return phase_.streams[static_cast<std::size_t>(access.stream)].offset;
  }

  void race(int i, const CallAccess& access) {
    touched_[access.buffer].touch(access.bytes, access.writes, i, static_cast<int>(pipeOf(CoreUnit(call(i).unit))),
                                  [&](int other, bool wrote) {
                                    if (other == i || order_.isBefore(other, i) || !raced_.insert({i, other}).second)
                                      return;
                                    add(FindingKind::kRace, i, other, access.buffer, access.bytes,
                                        std::string(access.writes ? "overwrites" : "reads") + " what the other " +
                                            (wrote ? "writes" : "reads") + ", and no flag says which is first");
                                  });
  }

  void init(int i, const CallAccess& access) {
    const ByteSet& bytes = bytesOf(access.buffer);
    std::int64_t missing = -1;
    exact_.visit(call(i), access.operand, streamOffset(access), [&](ByteRange r) {
      missing = bytes.firstMissing(r);
      return missing < 0;
    });
    if (missing < 0) return;
    int filler = -1;  // who filled what lies there, or before it
    std::int64_t from = -1;
    for (const Filled& f : filled_[access.buffer]) {
      if (f.bytes.begin <= missing && f.bytes.begin > from) {
        filler = f.call;
        from = f.bytes.begin;
      }
    }
    add(FindingKind::kInit, i, filler, access.buffer, {missing, missing + 1}, "reads bytes that nobody wrote");
  }

  // Sums of the cube: begun, added to, gone.
  void leave(int i, const CallAccess& access) {
    const bool cube = CoreUnit(call(i).unit) == CoreUnit::kCube;
    if (cube && (!access.writes || bufferOf(access).name != "L0C")) return;
    for (Sums& sums : sums_) {
      if (sums.bytes.begin >= access.bytes.end || access.bytes.begin >= sums.bytes.end) continue;
      if (cube && access.reads && sums.left && sums.instruction != instruction_)
        add(FindingKind::kInit, i, sums.call, access.buffer, access.bytes,
            "adds to sums that have left the core, for the first product of a block must not add");
      if (!cube && access.reads && bufferOf(access).name == "L0C") sums.left = true;
      if (cube && sums.instruction != instruction_ && !access.reads) lost(sums, i);
      if (cube && sums.instruction != instruction_ && !access.reads) sums.left = true;
    }
    if (!cube) return;
    auto same = std::find_if(sums_.begin(), sums_.end(), [&](const Sums& s) {
      return s.instruction == instruction_ ||
             (access.reads && access.bytes.begin < s.bytes.end && s.bytes.begin < access.bytes.end);
    });
    if (same == sums_.end()) {
      std::erase_if(sums_, [&](const Sums& s) {
        return s.left && s.bytes.begin < access.bytes.end && access.bytes.begin < s.bytes.end;
      });
      sums_.push_back({access.bytes, instruction_, i, false});
      return;
    }
    same->bytes = {std::min(same->bytes.begin, access.bytes.begin), std::max(same->bytes.end, access.bytes.end)};
    same->instruction = instruction_;
    same->call = i;
    same->left = false;
  }

  void lost(const Sums& sums, int by) {
    if (sums.left || mayStay_) return;
    const int buffer = phase_.streams[static_cast<std::size_t>(call(sums.call).c)].buffer;
    add(FindingKind::kOverwrite, sums.call, by, buffer, sums.bytes,
        by < 0 ? "sums never leave the core" : "sums are overwritten before they leave the core");
  }

  ProgramTouch& touch_;
  ExactTouch& exact_;
  const Phase& phase_;
  const std::vector<Node>& calls_;
  const Window run_;
  const bool mayStay_;
  Written& written_;
  const UnitOrder order_;
  int instruction_ = -1;
  std::map<int, LastTouches> touched_;  ///< by buffer
  std::set<std::pair<int, int>> raced_;
  std::map<int, std::vector<Filled>> filled_;  ///< by buffer
  std::vector<Sums> sums_;
  std::vector<TaskFinding> findings_;
};

}  // namespace

FindingParty partyOf(const Phase& phase, const std::vector<Node>& calls, const Window& run, int call) {
  FindingParty party;
  party.phase = phase.name;
  std::int64_t blocks = 0, number = -1;
  bool cubes = false;
  for (int i = 0; i <= call; ++i) {
    const Call& c = calls[static_cast<std::size_t>(run.begin + i)].call;
    if (c.issues && i > 0 && cubes && CoreUnit(c.unit) != CoreUnit::kFixpipe &&
        CoreUnit(calls[static_cast<std::size_t>(run.begin + i - 1)].call.unit) == CoreUnit::kFixpipe)
      ++blocks;
    cubes = cubes || CoreUnit(c.unit) == CoreUnit::kCube;
    number += c.issues ? 1 : 0;
  }
  const Call& c = calls[static_cast<std::size_t>(run.begin + call)].call;
  party.unit = toString(CoreUnit(c.unit));
  party.instruction = c.name;
  party.number = std::max<std::int64_t>(0, number);
  party.block = cubes || CoreUnit(c.unit) == CoreUnit::kGmToL1 || CoreUnit(c.unit) == CoreUnit::kL1ToL0 ? blocks : -1;
  return party;
}

std::vector<TaskFinding> sanitizeRun(ProgramTouch& touch, ExactTouch& exact, const Phase& phase,
                                     const std::vector<Node>& calls, const Window& run, bool mayStay,
                                     Written& written) {
  return RunSanitizer(touch, exact, phase, calls, run, mayStay, written).run();
}

}  // namespace cubejit
