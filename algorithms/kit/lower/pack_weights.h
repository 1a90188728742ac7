// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a data gradient's weights come into lane order: [block of result channels][tap][reduction channel][width], or, where
// the taps of a channel are used together, [block of result channels][reduction channel][tap][width].
// Either all of them once for the run (a phase), or one block by the task that uses it (private: it stays in that core's L2).
// Leaves which of the two to the plan.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/kit/lower/data_gradient.h"

namespace cubejit {

struct PackedWeights {
  int lanes = 16;
  std::int64_t width = 16;      ///< result channels of a block, padded to whole vectors
  std::int64_t blocks = 1;      ///< blocks of a group
  std::int64_t channels = 16;   ///< result channels of a group
  std::int64_t reduced = 1;     ///< reduction channels, or pairs of them
  bool pairs = false;           ///< words are pairs of bf16: two neighbouring reduction channels
  bool tapsTogether = false;    ///< the taps of a reduction channel follow each other
  bool lastAlone = false;       ///< the last pair has no second member: zero stands for it
  std::int64_t tapsAlongW = 1;  ///< more: pairs are of all channels of so many taps, tap by tap; g.taps are the others
  std::int64_t zeroPairs = 0;   ///< of zeros behind each tap's; only where taps are not together

  std::int64_t all() const { return reduced + zeroPairs; }
  /// How many of them miss no member.
  std::int64_t whole() const { return lastAlone ? reduced - 1 : reduced; }
  /// Bytes in w from one reduction channel (or pair) to the next.
  std::int64_t step(const DataGradient& g) const { return pairs ? 2 * g.wReduced : g.wReduced; }

  std::int64_t widthOf(std::int64_t block) const;  ///< channels that exist in a block
  std::int64_t blockBytes(const DataGradient& g) const { return g.taps * all() * width * 4; }
  /// Bytes from one tap to the next, from one reduction channel to the next.
  std::int64_t tapPitch() const { return (tapsTogether ? 1 : all()) * width * 4; }
  std::int64_t reducedPitch(const DataGradient& g) const { return (tapsTogether ? g.taps : 1) * width * 4; }
};

/// The phase that packs all groups and blocks of `weights` into `packed`.
void addPackPhase(ProgramBuilder& b, const DataGradient& g, const PackedWeights& p, int weights, int packed);

/// The nodes of a task that pack the current block: `source` stands at the block's first channel, `panel` at its buffer.
/// `blocks` is an enclosing axis whose class tells the narrow last block (1) from the others (0).
std::vector<Node> packBlock(ProgramBuilder& b, const DataGradient& g, const PackedWeights& p, int source, int panel,
                            int blocks);

/// Reduction channels that packChannels() takes: one, or several where they lie side by side in w.
std::int64_t channelsOfPack(const DataGradient& g, const PackedWeights& p);
/// The nodes that pack so many reduction channels of the current block where `sink` stands; there must be more than one tap.
std::vector<Node> packChannels(ProgramBuilder& b, const DataGradient& g, const PackedWeights& p, int source, int sink,
                               int blocks);

/// Packs for lanes of input channels (or pairs): [group][vector of them][result channel][tap][lane], zeros behind the last.
void addPackInputPhase(ProgramBuilder& b, const DataGradient& g, const PackedWeights& p, int weights, int packed);
inline std::int64_t packedInputBytes(const DataGradient& g, const PackedWeights& p) {
  return (p.reduced + p.lanes - 1) / p.lanes * g.result.channels * g.taps * p.lanes * 4;
}

}  // namespace cubejit
