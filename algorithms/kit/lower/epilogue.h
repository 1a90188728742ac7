// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a lowering finishes its results: the sums that a microkernel stores by its epilogue, what leaves through moves by a Map behind
// them. The lowering says which channel a result has; leaves where results lie to it.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/lower/builder.h"
#include "algorithms/kit/result_ops.h"

namespace cubejit {

/// The expression of post-ops: v is a sum, d its channel's bias, e the residual.
Expression expressionOf(const PostOps& post);
/// v times the slope of the activation that gave d, 0 where that is 0 (post_ops.h).
Expression slopeOf(const PostOps& post);

/// What moves store: which of its lines and columns are channels that follow each other. If neither, all elements have one channel.
enum class StoredChannels : std::uint8_t { kNone, kLines, kColumns };

/// Used by one lowering, in this order: begin(); in each phase that stores results enterPhase(), then the others; end(). Without post-ops all
/// of them leave the program as it is.
class Epilogue {
 public:
  Epilogue(ProgramBuilder& b, const ResultOps& ops, int lanes) : b_(b), ops_(ops), lanes_(lanes) {}

  bool any() const { return ops_.any(); }
  /// `result`: where results go, `buffer` is theirs; `groups` times the view's channels.
  void begin(const TensorView& result, std::int64_t groups, int buffer);
  /// The phase has begun, and has streams over what it stores.
  void enterPhase();
  /// What a step of an axis to channel `c` moves beside the result; channels count from where other axes have led to.
  std::pair<int, std::int64_t> toChannel(std::int64_t c) const { return {bias_ < 0 ? 0 : bias_, biasAt(c)}; }
  /// The contract's accumulators are results; number i begins with channel channelOf(i), counted from where axes lead to.
  template <class ChannelOf>
  void finish(Contract& contract, ChannelOf channelOf) {
    if (!any()) return;
    attach(contract);
    for (std::size_t i = 0; i < contract.accumulators.size(); ++i)
      contract.accumulators[i].dOffset = static_cast<std::int32_t>(biasAt(channelOf(i)));
  }
  /// A call of contracts that finish() was asked for.
  void finish(Call& call) const;
  /// A call of moves from f32 to the result, and one that finishes what they store, if need be.
  std::vector<Node> storing(Call call, StoredChannels channels);
  /// Adds the phase that writes what a sum of nothing becomes to the whole result; without post-ops, zeros.
  void fill(const Problem& problem);
  void end();

 private:
  std::int64_t biasAt(std::int64_t channel) const;
  void attach(Contract& contract) const;
  int scratchStream();
  Map mapOf(Map map, StoredChannels channels);
  void addBiases();

  ProgramBuilder& b_;
  const ResultOps ops_;
  const int lanes_;
  // Biases lie as f32, block after block of channels that are neighbours in the result, `pitch_` f32 each (the only block has as many as are
  // read). A block of one channel has that bias in each lane of a vector.
  std::int64_t each_ = 1, blocks_ = 1, pitch_ = 0;
  bool padded_ = false;  ///< the last block has room for channels that there are not
  Element element_ = Element::kF32;
  int result_ = -1, biasBuffer_ = -1, biases_ = -1, scratchBuffer_ = -1;
  int bias_ = -1, scratch_ = -1;  ///< streams of the phase
};

}  // namespace cubejit
