// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides by what each phase reads and writes; a phase drops out with every phase that shares a result with it.
#include "codegen/tile/prepack.h"

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
    if (node.axis >= 0) continue;
    for (const int stream : {node.call.a, node.call.b}) {
      if (stream >= 0) use.reads.insert(bufferOf(stream));
    }
    for (const int stream : {node.call.c, node.call.d}) {
      if (stream >= 0) use.writes.insert(bufferOf(stream));
    }
  }
}

}  // namespace

Prepack prepackOf(const TileProgram& program) {
  std::vector<PhaseUse> uses(program.phases.size());
  for (std::size_t i = 0; i < uses.size(); ++i) addUse(program, program.phases[i], program.phases[i].body, uses[i]);
  Prepack out{std::vector<bool>(uses.size(), true), std::vector<bool>(program.buffers.size()), true};
  const auto role = [&](int buffer) { return program.buffers[static_cast<std::size_t>(buffer)].role; };
  // A shared buffer is kept while all phases that write it are still candidates.
  const auto kept = [&](int buffer) {
    bool written = false;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (uses[i].writes.count(buffer) == 0) continue;
      if (!out.phases[i]) return false;
      written = true;
    }
    return role(buffer) == BufferRole::kShared && written;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (!out.phases[i]) continue;
      bool stays = !uses[i].writes.empty();
      for (const int b : uses[i].reads)
        stays = stays && (role(b) == BufferRole::kW || role(b) == BufferRole::kConstant || kept(b));
      for (const int b : uses[i].writes) stays = stays && kept(b);
      if (stays) continue;
      out.phases[i] = false;
      changed = true;
    }
  }
  for (std::size_t b = 0; b < out.buffers.size(); ++b) out.buffers[b] = kept(static_cast<int>(b));
  for (std::size_t i = 0; i < uses.size(); ++i) {
    for (const int b : uses[i].reads) out.complete = out.complete && (out.phases[i] || role(b) != BufferRole::kW);
  }
  return out;
}

}  // namespace cubejit
