// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that nothing a call does leaves it as an exception; see the header for what calls do.
#include "cubejit_ascendc/gradient_on_core.h"

#include "api/ascendc/kernel/core_context.h"
#include "api/ascendc/kernel/gradient_state.h"
#include "cubejit/float_mode.h"

namespace cubejit::ascendc {
namespace {

// Runs a call; what it throws (there was no memory) is a fault without words.
template <class State, class Body>
void guarded(const std::unique_ptr<State>& state, const Body& body) noexcept {
  const FloatScope environment;  // code that no launcher started has any
  try {
    if (state != nullptr)
      body(*state);
    else
      currentCore().fault("a gradient object", "no memory for it");
  } catch (...) {
    try {
      currentCore().fault("a gradient object", "no memory for a call");
    } catch (...) {  // nor for saying so
    }
  }
}

}  // namespace

GradientOnCore::GradientOnCore(const GradientTypes& types) noexcept {
  try {
    state_ = std::make_unique<State>(types);
  } catch (...) {  // every call will say so
  }
}
GradientOnCore::~GradientOnCore() {
  if (state_ != nullptr) guarded(state_, [](State& s) { s.destroyed(); });
}

void GradientOnCore::init(const AscendC::tiling::TConv3DBackpropInputTiling* tiling, bool& first) noexcept {
  guarded(state_, [&](State& s) { s.init(tiling, first); });
}
void GradientOnCore::init(const AscendC::tiling::TConv3DBpFilterTiling* tiling, bool& first) noexcept {
  guarded(state_, [&](State& s) { s.init(tiling, first); });
}
void GradientOnCore::setOperand(Operand operand, const GlobalRange& range, bool& first) noexcept {
  guarded(state_, [&](State& s) { s.setOperand(operand, range, first); });
}
void GradientOnCore::setSingleShape(std::uint64_t m, std::uint64_t k, std::uint64_t n, bool& first) noexcept {
  guarded(state_, [&](State& s) { s.setSingleShape(m, k, n, first); });
}
void GradientOnCore::setStartPosition(std::uint32_t depth, std::int64_t row, bool& first) noexcept {
  guarded(state_, [&](State& s) { s.setStartPosition(depth, row, first); });
}
bool GradientOnCore::iterate(bool& first) noexcept {
  bool more = false;
  guarded(state_, [&](State& s) { more = s.iterate(first); });
  return more;
}
void GradientOnCore::tensorC(const GlobalRange& output, std::uint8_t atomic, bool sequential, bool& first) noexcept {
  guarded(state_, [&](State& s) { s.tensorC(output, atomic, sequential, first); });
}
void GradientOnCore::end(bool& first) noexcept {
  guarded(state_, [&](State& s) { s.end(first); });
}

}  // namespace cubejit::ascendc
