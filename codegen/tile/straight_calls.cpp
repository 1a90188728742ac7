// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides by buffers, in the order in which they are first written. A reader is replaced where all that it reads comes from moves of the
// sequence whose source is still what it was, and only if all of these moves go.
#include "codegen/tile/straight_calls.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "codegen/tile/walk.h"

namespace cubejit {
namespace {

bool meet(const ByteRange& x, const ByteRange& y) { return x.begin < y.end && y.begin < x.end; }
ByteRange moved(const ByteRange& r, std::int64_t by) { return {r.begin + by, r.end + by}; }
constexpr ByteRange kAnywhere{std::numeric_limits<std::int64_t>::min() / 2,
                              std::numeric_limits<std::int64_t>::max() / 2};

// Rounding to HF32 takes several instructions a vector: turning rows that fill a part of one costs more than the copy that is spared.
bool roundsPartsOfVectors(const Gather& gather) {
  if (gather.to != Element::kHf32 && gather.to != Element::kHf32Low) return false;
  std::int64_t elements = 0, lines = 0;
  for (const GatherLine& line : gather.lines) {
    if (line.zero || line.step == elementBytes(gather.from)) continue;
    elements += line.count;
    ++lines;
  }
  return elements < lines * gather.lanes;
}

}  // namespace

// What a call reads of a buffer, and who wrote it.
struct StraightCalls::Reading {
  int call = -1;
  bool replaceable = true;
  std::vector<int> writers{};  ///< the last one first
  std::vector<int> pins{};     ///< writers of the same buffer that the replaced call reads
  // What becomes of the call.
  bool replaced = false;
  int gather = -1, a = -1;
  std::int64_t from = 0;
};

PhaseBuffers::PhaseBuffers(const TileProgram& program, const Phase& phase)
    : program_(program), phase_(phase), of_(program.buffers.size()) {
  visit(phase.body);
}

void PhaseBuffers::visit(const std::vector<Node>& nodes) {
  for (const Node& node : nodes) {
    visit(node.body);
    if (!node.isCall()) continue;
    const std::array<int, 4> streams = streamsOf(node.call);
    for (std::size_t s = 0; s < streams.size(); ++s) {
      if (streams[s] < 0) continue;
      Use& use = of_[static_cast<std::size_t>(of(streams[s]))];
      use.written = use.written || s >= 2;
      use.stream = use.stream == -1 || use.stream == streams[s] ? streams[s] : -2;
    }
  }
}

StraightCalls::StraightCalls(const PhaseBuffers& buffers, GatherPool& pool, const std::vector<Node>& nodes,
                             std::size_t begin, std::size_t end)
    : b_(buffers), pool_(pool) {
  for (std::size_t i = begin; i < end; ++i) calls_.push_back(partOf(nodes[i]));
}

void StraightCalls::exclude(std::vector<bool>& through) {
  for (const CallPart& call : calls_) {
    if (call.gather >= 0) continue;
    for (const int stream : streamsOf(call.node->call)) {
      if (stream >= 0) through[static_cast<std::size_t>(b_.of(stream))] = false;
    }
  }
  for (std::size_t b = 0; b < through.size(); ++b) {
    if (!through[b]) continue;
    complete_ = true;
    readingsOf(static_cast<int>(b));
    through[b] = complete_;
  }
}

void StraightCalls::forward(const std::vector<bool>& through, const std::function<int(const Buffer&)>& mostReads) {
  std::vector<bool> seen(through.size());
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    if (calls_[i].gather < 0) continue;
    const int buffer = b_.of(calls_[i].node->call.c);
    if (!through[static_cast<std::size_t>(buffer)] || seen[static_cast<std::size_t>(buffer)]) continue;
    seen[static_cast<std::size_t>(buffer)] = true;
    const int most = mostReads ? mostReads(b_.program().buffers[static_cast<std::size_t>(buffer)]) : 1;
    if (most > 0) forwardThrough(buffer, most);
  }
}

CallPart StraightCalls::partOf(const Node& node) {
  CallPart part;
  part.node = &node;
  const Call& call = node.call;
  part.a = call.a;
  part.from = call.place.offset[0];
  part.to = call.place.offset[2];
  if (!call.classAxes.empty() || call.variants.size() != 1 || call.variants.front().kernel < 0 ||
      call.place.repeat != 1 || call.b >= 0 || call.c < 0 || call.d >= 0)
    return part;
  part.gather = pool_.of(b_.program(), call.variants.front());
  if (part.gather < 0) return part;
  const GatherPool::Entry& entry = pool_.at(part.gather);
  if (!entry.reads) part.a = -1;
  const bool inPlace = part.a >= 0 && b_.of(part.a) == b_.of(call.c) &&
                       (part.a != call.c || meet(moved(entry.readHull, part.from), moved(entry.writtenHull, part.to)));
  if (inPlace) part.gather = -1;
  return part;
}

// Who, of the moves in `written`, wrote the bytes of `state`, which count from byte `at`; what nobody wrote makes the buffer incomplete.
std::vector<int> StraightCalls::writersOf(const std::vector<int>& written, int state, const ByteRange& hull,
                                          std::int64_t at) {
  std::vector<int> found;
  for (std::size_t i = written.size(); i-- > 0 && !pool_.none(state);) {
    const CallPart& writer = calls_[static_cast<std::size_t>(written[i])];
    const std::int64_t shift = writer.to - at;
    if (!meet(moved(pool_.at(writer.gather).writtenHull, shift), hull)) continue;
    bool hit = false;
    state = pool_.after(state, writer.gather, shift, hit);
    if (hit) found.push_back(written[i]);
  }
  complete_ = complete_ && pool_.none(state);
  return found;
}

std::vector<int> StraightCalls::readBy(const std::vector<int>& written, int gather, std::int64_t from) {
  return writersOf(written, pool_.needs(gather, false), pool_.at(gather).readHull, from);
}

// What moves read of a buffer that only moves touch.
std::vector<StraightCalls::Reading> StraightCalls::readingsOf(int buffer) {
  written_.clear();
  std::vector<Reading> readings;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const CallPart& call = calls_[i];
    if (call.gather < 0 || call.gone) continue;
    const int number = static_cast<int>(i);
    if (reads(call, buffer)) readings.push_back({number, true, readBy(written_, call.gather, call.from)});
    if (!writes(call, buffer)) continue;
    const GatherPool::Entry& entry = pool_.at(call.gather);
    if (entry.gather.adds)
      readings.push_back(
          {number, false, writersOf(written_, pool_.needs(call.gather, true), entry.writtenHull, call.to)});
    written_.push_back(number);
  }
  return readings;
}

void StraightCalls::forwardThrough(int buffer, int most) {
  std::vector<Reading> readings = readingsOf(buffer);
  const std::set<int> kept = readTooOften(readings, most);
  // What each call has become so far in this buffer.
  std::vector<CallPart> now = calls_;
  for (Reading& r : readings) {
    const bool stays = std::any_of(r.writers.begin(), r.writers.end(), [&](int w) { return kept.count(w) > 0; });
    r.replaced = r.replaceable && !stays && !r.writers.empty() && replace(r, now, buffer);
    if (!r.replaced) continue;
    CallPart& call = now[static_cast<std::size_t>(r.call)];
    call.gather = r.gather;
    call.a = r.a;
    call.from = r.from;
  }
  settle(readings);
}

// Writers of which bytes are read more than `most` times.
std::set<int> StraightCalls::readTooOften(const std::vector<Reading>& readings, int most) {
  std::map<int, std::vector<const Reading*>> readers;
  for (const Reading& r : readings) {
    for (const int w : r.writers) readers[w].push_back(&r);
  }
  std::set<int> often;
  for (const auto& [writer, by] : readers) {
    if (static_cast<int>(by.size()) > most && mostReadsOf(calls_[static_cast<std::size_t>(writer)], by) > most)
      often.insert(writer);
  }
  return often;
}

int StraightCalls::mostReadsOf(const CallPart& writer, const std::vector<const Reading*>& readers) {
  const ByteRange hull = moved(pool_.at(writer.gather).writtenHull, writer.to);
  std::vector<std::pair<std::int64_t, int>> events;
  for (const Reading* r : readers) {
    const CallPart& call = calls_[static_cast<std::size_t>(r->call)];
    for (const ByteRange& range : r->replaceable ? pool_.read(call.gather) : pool_.written(call.gather)) {
      const ByteRange here = moved(range, r->replaceable ? call.from : call.to);
      if (!meet(here, hull)) continue;
      events.emplace_back(here.begin, 1);
      events.emplace_back(here.end, -1);
    }
  }
  std::sort(events.begin(), events.end());
  int reads = 0, most = 0;
  for (const auto& [at, change] : events) most = std::max(most, reads += change);
  return most;
}

// Whether the call can read what its writers read.
bool StraightCalls::replace(Reading& r, const std::vector<CallPart>& now, int buffer) {
  const CallPart& call = now[static_cast<std::size_t>(r.call)];
  std::vector<GatherPool::Writer> writers;
  std::int64_t base = 0;
  int source = -1, earliest = r.call;
  for (const int w : r.writers) {
    const CallPart& writer = now[static_cast<std::size_t>(w)];
    if (pool_.at(writer.gather).gather.adds) return false;
    if (writer.a >= 0 && source >= 0 && writer.a != source) return false;
    if (writer.a >= 0 && source < 0) base = writer.from;
    if (writer.a >= 0) {
      source = writer.a;
      earliest = std::min(earliest, w);
    }
    writers.push_back({writer.gather, writer.to - call.from, writer.a >= 0 ? writer.from - base : 0});
  }
  r.gather = pool_.composed(call.gather, writers);
  if (r.gather < 0 || roundsPartsOfVectors(pool_.at(r.gather).gather)) return false;
  r.a = pool_.at(r.gather).reads ? source : -1;
  r.from = r.a < 0 ? 0 : base;
  return r.a < 0 || unchanged(r, earliest, now, buffer);
}

// Whether the new source holds, when the call is made, what it held when call `since` read it.
bool StraightCalls::unchanged(Reading& r, int since, const std::vector<CallPart>& now, int buffer) {
  const int source = b_.of(r.a), target = b_.of(now[static_cast<std::size_t>(r.call)].node->call.c);
  if (!b_.isPrivate(source)) return !b_.written(source);
  if (!b_.oneOrigin(source)) return false;
  const CallPart& call = now[static_cast<std::size_t>(r.call)];
  const ByteRange hull = moved(pool_.at(r.gather).readHull, r.from);
  if (source == target && meet(hull, moved(pool_.at(r.gather).writtenHull, call.to))) return false;
  for (int i = since + 1; i < r.call; ++i) {
    if (mayWrite(calls_[static_cast<std::size_t>(i)], source, hull)) return false;
  }
  if (source == buffer) {
    std::vector<int> before;
    for (const int w : written_) {
      if (w < r.call) before.push_back(w);
    }
    complete_ = true;
    r.pins = readBy(before, r.gather, r.from);
    if (!complete_) return false;
  }
  return true;
}

bool StraightCalls::mayWrite(const CallPart& call, int buffer, const ByteRange& hull) {
  const Call& c = call.node->call;
  for (const std::size_t operand : {std::size_t{2}, std::size_t{3}}) {
    const int stream = operand == 2 ? c.c : c.d;
    if (stream < 0 || b_.of(stream) != buffer) continue;
    const ByteRange range = call.gather >= 0 ? moved(pool_.at(call.gather).writtenHull, call.to) : touched(c, operand);
    if (meet(range, hull)) return true;
  }
  return false;
}

ByteRange StraightCalls::touched(const Call& call, std::size_t operand) {
  if (!call.classAxes.empty() || call.variants.size() != 1) return kAnywhere;
  const Variant& v = call.variants.front();
  if (v.kernel < 0) return {};
  const TileProgram& p = b_.program();
  const ByteRange one = extents(p.kernels[static_cast<std::size_t>(v.kernel)],
                                v.list < 0 ? nullptr : &p.lists[static_cast<std::size_t>(v.list)])[operand];
  const auto [lo, hi] = call.place.reach(operand);
  return {one.begin + lo, one.end + hi};
}

// Moves that somebody reads stay, and those that read them stay as they are if that does not spare all that they read.
void StraightCalls::settle(std::vector<Reading>& readings) {
  std::vector<bool> read(calls_.size()), needed;
  for (const Reading& r : readings) {
    for (const int w : r.writers) read[static_cast<std::size_t>(w)] = true;
  }
  const auto isNeeded = [&](int w) { return bool{needed[static_cast<std::size_t>(w)]}; };
  for (bool changed = true; changed;) {
    needed.assign(calls_.size(), false);
    for (auto r = readings.rbegin(); r != readings.rend(); ++r) {
      if (read[static_cast<std::size_t>(r->call)] && !isNeeded(r->call)) continue;
      for (const int w : r->replaced ? r->pins : r->writers) needed[static_cast<std::size_t>(w)] = true;
    }
    changed = false;
    for (Reading& r : readings) {
      if (!r.replaced || std::none_of(r.writers.begin(), r.writers.end(), isNeeded)) continue;
      r.replaced = false;
      changed = true;
    }
  }
  for (const Reading& r : readings) {
    for (const int w : r.writers) calls_[static_cast<std::size_t>(w)].gone = !isNeeded(w);
  }
  for (const Reading& r : readings) {
    CallPart& call = calls_[static_cast<std::size_t>(r.call)];
    if (!r.replaced || call.gone) continue;
    call.gather = r.gather;
    call.a = r.a;
    call.from = r.from;
    call.replaced = true;
  }
}

}  // namespace cubejit
