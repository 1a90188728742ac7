// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides by what each phase reads and writes; a phase drops out with every phase that shares a result with it.
#include "codegen/tile/prepack.h"

#include <algorithm>
#include <set>

namespace cubejit {
namespace {

struct PhaseUse {
  std::set<int> reads, writes;  ///< buffers
};

void addUse(const TileProgram& program, const Phase& phase, const std::vector<Node>& nodes, PhaseUse& use) {
  const auto bufferOf = [&](int stream) { return phase.streams[static_cast<std::size_t>(stream)].buffer; };
  for (const Node& node : nodes) {
    addUse(program, phase, node.body, use);
    if (!node.isCall()) continue;
    for (const int stream : {node.call.a, node.call.b}) {
      if (stream >= 0) use.reads.insert(bufferOf(stream));
    }
    if (node.call.c >= 0) use.writes.insert(bufferOf(node.call.c));
    if (node.call.d < 0) continue;
    const bool reads = std::any_of(node.call.variants.begin(), node.call.variants.end(), [&](const Variant& v) {
      return v.kernel >= 0 && readsD(program.kernels[static_cast<std::size_t>(v.kernel)]);
    });
    (reads ? use.reads : use.writes).insert(bufferOf(node.call.d));
  }
}

// By buffer: it is a kept input, or some phase makes it from one. What nothing makes from kept inputs, zeros above all, is not theirs to keep.
std::vector<bool> madeOfKept(const TileProgram& program, const std::vector<PhaseUse>& uses) {
  std::vector<bool> made(program.buffers.size());
  for (std::size_t b = 0; b < made.size(); ++b) made[b] = program.buffers[b].kept;
  const auto isMade = [&](int buffer) { return made[static_cast<std::size_t>(buffer)]; };
  for (bool changed = true; changed;) {
    changed = false;
    for (const PhaseUse& use : uses) {
      if (std::none_of(use.reads.begin(), use.reads.end(), isMade)) continue;
      for (const int b : use.writes) {
        changed = changed || !isMade(b);
        made[static_cast<std::size_t>(b)] = true;
      }
    }
  }
  return made;
}

}  // namespace

Prepack prepackOf(const TileProgram& program) {
  std::vector<PhaseUse> uses(program.phases.size());
  for (std::size_t i = 0; i < uses.size(); ++i) addUse(program, program.phases[i], program.phases[i].body, uses[i]);
  Prepack out{std::vector<bool>(uses.size(), true), std::vector<bool>(program.buffers.size()), true};
  const std::vector<bool> made = madeOfKept(program, uses);
  const auto at = [&](int buffer) -> const Buffer& { return program.buffers[static_cast<std::size_t>(buffer)]; };
  // A shared buffer is kept while all phases that write it are still candidates.
  const auto kept = [&](int buffer) {
    bool written = false;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (uses[i].writes.count(buffer) == 0) continue;
      if (!out.phases[i]) return false;
      written = true;
    }
    return at(buffer).use == Buffer::Use::kShared && written;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (!out.phases[i]) continue;
      bool stays = std::any_of(uses[i].writes.begin(), uses[i].writes.end(),
                               [&](int b) { return made[static_cast<std::size_t>(b)]; });
      for (const int b : uses[i].reads) stays = stays && (at(b).kept || at(b).use == Buffer::Use::kConstant || kept(b));
      for (const int b : uses[i].writes) stays = stays && kept(b);
      if (stays) continue;
      out.phases[i] = false;
      changed = true;
    }
  }
  for (std::size_t b = 0; b < out.buffers.size(); ++b) out.buffers[b] = kept(static_cast<int>(b));
  for (std::size_t i = 0; i < uses.size(); ++i) {
    for (const int b : uses[i].reads) out.complete = out.complete && (out.phases[i] || !at(b).kept);
  }
  return out;
}

}  // namespace cubejit
