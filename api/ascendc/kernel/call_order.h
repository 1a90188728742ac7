// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which call of a gradient object may follow which. Leaves what a call does to others: this is the protocol alone.
#pragma once

#include <cstdint>
#include <string>

namespace cubejit::ascendc {

enum class Call : std::uint8_t {
  kInit,
  kSetWeight,
  kSetInput,
  kSetGradOutput,
  kSetSingleShape,
  kSetStartPosition,
  kIterate,
  kGetTensorC,
  kEnd
};
const char* toString(Call call);

/// Where an object's life is. Each method says which rule a call would break, or "" if it may go on; the others tell it what
/// happened.
class CallOrder {
 public:
  /// `first` is ctx.isFirstIter_. `needed` are the setters that this object's gradient has.
  std::string refuses(Call call, bool first) const;

  void initialised() { stage_ = Stage::kReady; }
  void set(Call setter) { given_ |= bit(setter); }
  /// Iterate began a single shape, found a block, or found none.
  void computed() { stage_ = Stage::kBlock; }
  void exhausted() { stage_ = Stage::kFinished; }
  void moved() { stage_ = Stage::kMoved; }
  void ended() { stage_ = Stage::kEnded; }

  bool isInitialised() const { return stage_ != Stage::kNew; }
  bool hasEnded() const { return stage_ == Stage::kEnded; }
  bool isFinished() const { return stage_ == Stage::kFinished; }
  /// The other operand's setter: SetWeight (dX) or SetInput (dW).
  void needs(Call operandSetter) { operand_ = operandSetter; }

 private:
  enum class Stage : std::uint8_t {
    kNew,
    kReady,     ///< no Iterate yet
    kBlock,     ///< a block waits in L0C
    kMoved,     ///< between GetTensorC and Iterate
    kFinished,  ///< Iterate returned false
    kEnded
  };
  static std::uint32_t bit(Call call) { return 1U << static_cast<unsigned>(call); }
  std::string missing() const;

  Stage stage_ = Stage::kNew;
  Call operand_ = Call::kSetWeight;
  std::uint32_t given_ = 0;
};

}  // namespace cubejit::ascendc
