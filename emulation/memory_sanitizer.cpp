// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides by a shadow of what is written: for each element of an output or a workspace, who wrote it last and who read it.
#include "emulation/memory_sanitizer.h"

#include <algorithm>
#include <array>
#include <optional>

#include "cubejit/index_map.h"
#include "tiling/coordinates.h"

namespace cubejit {
namespace {

constexpr std::uint32_t kAdds = std::uint32_t{1} << 31;
constexpr std::int64_t kMostGrains = std::int64_t{1} << 28;  // of ten bytes of shadow each, or six

// Which elements of a view's memory are its own; empty: all of them.
std::vector<bool> elementsOfView(const Problem& p, TensorId t) {
  const TensorFormat f = formatOf(p, t);
  if (!f.strided() || t == TensorId::kDb) return {};
  const IndexMap map = indexMap(p, t);
  const std::int64_t all = formatBytes(p, t) / byteSize(f.dtype);
  std::array<std::int64_t, 5> extent = map.extent;
  extent[1] /= map.groups;  // of weights: pairs of one group
  std::int64_t count = 1;
  for (const std::int64_t e : extent) count *= e;
  if (count == all || all > kMostGrains) return {};
  std::vector<bool> is(static_cast<std::size_t>(all));
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, at = 0;
    for (std::size_t axis = 5; axis-- > 0;) {
      at += map.along(axis, rest % extent[axis]);
      rest /= extent[axis];
    }
    is[static_cast<std::size_t>(at)] = true;
  }
  return is;
}

}  // namespace

MemorySanitizer::MemorySanitizer(const Problem& problem, const TileProgram& program, ProgramTouch& touch,
                                 ExactTouch& exact)
    : problem_(problem), program_(program), touch_(touch), exact_(exact), views_(program.buffers.size()) {
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    const std::optional<TensorId> tensor = tensorNamed(buffer.boundName());
    std::vector<bool> elements = tensor ? elementsOfView(problem, *tensor) : std::vector<bool>{};
    if (tensor) {
      const TensorFormat f = formatOf(problem, *tensor);
      repeats_ = repeats_ || (f.strided() && std::count(f.strides.begin(), f.strides.end(), 0) > 0);
    }
    if (buffer.use != Buffer::Use::kOutput && buffer.use != Buffer::Use::kShared) {
      views_[b] = std::move(elements);
      continue;
    }
    Memory m;
    m.output = buffer.use == Buffer::Use::kOutput;
    m.grain = tensor ? byteSize(formatOf(problem, *tensor).dtype) : 4;
    const std::int64_t grains = buffer.bytes / m.grain;
    if (grains > kMostGrains) {
      unchecked_.push_back(buffer.name + ": " + std::to_string(buffer.bytes) + " bytes, more than are followed");
      continue;
    }
    m.writer.resize(static_cast<std::size_t>(grains));
    m.additions.resize(static_cast<std::size_t>(grains));
    if (!m.output) m.reader.resize(static_cast<std::size_t>(grains));
    m.element = std::move(elements);
    memories_.emplace(static_cast<int>(b), std::move(m));
  }
}

MemorySanitizer::Memory* MemorySanitizer::memoryOf(int buffer) {
  const auto found = memories_.find(buffer);
  return found == memories_.end() ? nullptr : &found->second;
}

void MemorySanitizer::visit(std::int64_t number, const CoreVisit& v, const std::function<void(MemoryFinding)>& found) {
  const Phase& phase = program_.phases[static_cast<std::size_t>(v.phase)];
  seen_.push_back({v.phase, v.core});
  bool writes = false;
  for (int i = v.run.begin; i < v.run.end; ++i) {
    const Call& call = (*v.calls)[static_cast<std::size_t>(i)].call;
    for (const CallAccess& access : accessesOf(touch_, phase, call)) {
      const Buffer& buffer = program_.buffers[static_cast<std::size_t>(access.buffer)];
      if (buffer.use == Buffer::Use::kPrivate || buffer.use == Buffer::Use::kConstant) continue;
      const auto stream = static_cast<std::size_t>(access.stream);
      const std::int64_t moved = v.at[stream];
      const ByteRange bytes{access.bytes.begin + moved, access.bytes.end + moved};
      if (bytes.begin < 0 || bytes.end > buffer.bytes) {
        found({FindingKind::kBounds, number, -1, i - v.run.begin, access.buffer, bytes,
               std::string(access.writes ? "writes" : "reads") + " outside the " + std::to_string(buffer.bytes) +
                   " bytes of " + buffer.name});
        continue;
      }
      writes = writes || access.writes;
      this->access(v, number, i, access, moved + phase.streams[stream].offset, found);
    }
  }
  if (!writes || repeats_) return;
  const auto [twin, fresh] = done_.try_emplace(std::tuple(v.phase, v.run.begin, v.at), number);
  if (!fresh) found({FindingKind::kOverwrite, number, twin->second, -1, -1, {}, "does what another task has done"});
}

void MemorySanitizer::access(const CoreVisit& v, std::int64_t number, int call, const CallAccess& access,
                             std::int64_t at, const std::function<void(MemoryFinding)>& found) {
  Memory* const m = memoryOf(access.buffer);
  const Call& c = (*v.calls)[static_cast<std::size_t>(call)].call;
  const auto tell = [&](FindingKind kind, std::int64_t other, std::int64_t grain, std::int64_t bytes,
                        const char* what) {
    found({kind, number, other, call - v.run.begin, access.buffer, {grain * bytes, (grain + 1) * bytes}, what});
  };
  if (m == nullptr) {
    const std::vector<bool>& view = views_[static_cast<std::size_t>(access.buffer)];
    if (view.empty()) return;
    const auto tensor = tensorNamed(program_.buffers[static_cast<std::size_t>(access.buffer)].boundName());
    const std::int64_t e = byteSize(formatOf(problem_, *tensor).dtype);
    exact_.visit(c, access.operand, at, [&](ByteRange r) {
      for (std::int64_t i = r.begin / e; i < (r.end + e - 1) / e; ++i) {
        if (view[static_cast<std::size_t>(i)]) continue;
        tell(FindingKind::kBounds, -1, i, e, "reads between the elements of a view");
        return false;
      }
      return true;
    });
    return;
  }
  const bool adds = access.reads && access.writes;
  const auto mine = static_cast<std::uint32_t>(number + 1);
  // One of each kind is enough for a call.
  std::array<bool, 5> told{};
  const auto once = [&](FindingKind kind, std::int64_t other, std::int64_t grain, const char* what) {
    if (!std::exchange(told[static_cast<std::size_t>(kind)], true)) tell(kind, other, grain, m->grain, what);
  };
  // How often was added to what is read, at least and at most.
  std::int64_t least = -1, most = -1;
  const auto additionsAt = [&](std::int64_t grain) { return m->additions[static_cast<std::size_t>(grain)]; };
  exact_.visit(c, access.operand, at, [&](ByteRange r) {
    for (std::int64_t i = r.begin / m->grain; i < (r.end + m->grain - 1) / m->grain; ++i) {
      const auto g = static_cast<std::size_t>(i);
      const std::uint32_t before = m->writer[g];
      const std::int64_t other = std::int64_t{before & ~kAdds} - 1;
      const Seen* const who = other < 0 ? nullptr : &seen_[static_cast<std::size_t>(other)];
      const bool samePhase = who != nullptr && who->phase == v.phase, sameCore = who != nullptr && who->core == v.core;
      if (access.reads && who == nullptr)
        once(FindingKind::kInit, -1, i, adds ? "adds to memory that nobody wrote" : "reads memory that nobody wrote");
      if (samePhase && !sameCore && !(adds && (before & kAdds) != 0))
        once(FindingKind::kRace, other, i,
             access.writes ? "writes what another core writes, not both by atomic addition, without SyncAll"
                           : "reads what another core writes, without SyncAll");
      if (!access.writes) {
        m->reader[g] = mine;
        if (least < 0 || additionsAt(i) < additionsAt(least)) least = i;
        if (most < 0 || additionsAt(i) > additionsAt(most)) most = i;
        continue;
      }
      if (samePhase && sameCore && !adds && other != number)
        once(FindingKind::kOverwrite, other, i, "writes results that were written before");
      if (!m->element.empty() && !m->element[g])
        once(FindingKind::kBounds, -1, i, "writes between the elements of a view");
      if (!m->reader.empty() && m->reader[g] != 0) {
        const Seen& reader = seen_[m->reader[g] - 1];
        if (reader.phase == v.phase && reader.core != v.core)
          once(FindingKind::kRace, m->reader[g] - 1, i, "writes what another core reads, without SyncAll");
      }
      m->writer[g] = mine | (adds ? kAdds : 0);
      if (adds) ++m->additions[g];
    }
    return true;
  });
  // Rows of a block were forgotten.
  if (!access.writes && least >= 0 && additionsAt(least) < additionsAt(most))
    once(FindingKind::kInit, std::int64_t{m->writer[static_cast<std::size_t>(least)] & ~kAdds} - 1, least,
         "reads sums that were added to less often than others that it reads");
}

// Where cores add to dx, all elements of a depth of an image are added to as often, or none.
void MemorySanitizer::checkPlanes(int buffer, const Memory& m, const std::function<void(MemoryFinding)>& found) const {
  const auto tensor = tensorNamed(program_.buffers[static_cast<std::size_t>(buffer)].boundName());
  if (tensor != TensorId::kDx || std::all_of(m.additions.begin(), m.additions.end(), [](auto n) { return n == 0; }))
    return;
  const IndexMap map = indexMap(problem_, *tensor);
  for (std::int64_t n = 0; n < map.extent[0]; ++n) {
    for (std::int64_t d = 0; d < map.extent[2]; ++d) {
      const std::int64_t plane = map.along(0, n) + map.along(2, d);
      std::int64_t least = -1, most = -1;
      for (std::int64_t c = 0; c < map.extent[1]; ++c) {
        for (std::int64_t h = 0; h < map.extent[3]; ++h) {
          for (std::int64_t w = 0; w < map.extent[4]; ++w) {
            const std::int64_t at = plane + map.along(1, c) + map.along(3, h) + map.along(4, w);
            const auto additions = [&](std::int64_t i) { return m.additions[static_cast<std::size_t>(i)]; };
            if (least < 0 || additions(at) < additions(least)) least = at;
            if (most < 0 || additions(at) > additions(most)) most = at;
          }
        }
      }
      if (least < 0 || m.additions[static_cast<std::size_t>(least)] == m.additions[static_cast<std::size_t>(most)])
        continue;
      found({FindingKind::kInit,
             -1,
             -1,
             -1,
             buffer,
             {least * m.grain, (least + 1) * m.grain},
             "an element was added to less often than others of its image and depth"});
      return;
    }
  }
}

void MemorySanitizer::finish(const std::function<void(MemoryFinding)>& found) {
  for (const auto& [buffer, m] : memories_) {
    checkPlanes(buffer, m, found);
    std::int64_t first = -1, count = 0;
    std::map<std::uint32_t, std::pair<std::int64_t, bool>>
        unread;  // by visit: the first grain, whether another was read
    for (std::size_t g = 0; g < m.writer.size(); ++g) {
      if (m.output && m.writer[g] == 0 && (m.element.empty() || m.element[g])) {
        if (count++ == 0) first = static_cast<std::int64_t>(g);
      }
      // Products of different groups are no part of dw: where groups share blocks, tasks have nothing else.
      if (m.output || problem_.groups > 1 || (m.writer[g] & kAdds) == 0) continue;
      auto& [grain, read] = unread.try_emplace(m.writer[g] & ~kAdds, static_cast<std::int64_t>(g), false).first->second;
      read = read || m.reader[g] != 0;
    }
    if (count > 0)
      found({FindingKind::kInit,
             -1,
             -1,
             -1,
             buffer,
             {first * m.grain, (first + 1) * m.grain},
             std::to_string(count) + " elements of the output are never written, this one first"});
    for (const auto& [visit, what] : unread) {
      if (!what.second)
        found({FindingKind::kOverwrite,
               std::int64_t{visit} - 1,
               -1,
               -1,
               buffer,
               {what.first * m.grain, (what.first + 1) * m.grain},
               "writes results that nobody reads"});
    }
  }
}

}  // namespace cubejit
