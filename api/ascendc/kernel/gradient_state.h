// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a gradient object remembers between calls. Leaves the order of calls to call_order, geometry to single_shape,
// arithmetic to the emulated core.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "api/ascendc/kernel/call_order.h"
#include "api/ascendc/kernel/core_context.h"
#include "api/ascendc/kernel/single_shape.h"
#include "cubejit_ascendc/gradient_on_core.h"

namespace cubejit::ascendc {

/// The calls are those of GradientOnCore.
class GradientOnCore::State {
 public:
  explicit State(const GradientTypes& types);

  template <class T>
  void init(const T* tiling, bool& first);
  void setOperand(Operand operand, const GlobalRange& range, bool first);
  void setSingleShape(std::uint64_t m, std::uint64_t k, std::uint64_t n, bool& first);
  void setStartPosition(std::uint32_t depth, std::int64_t row, bool first);
  bool iterate(bool& first);
  void tensorC(const GlobalRange& output, std::uint8_t atomic, bool sequential, bool first);
  void end(bool first);
  /// The object goes: it must have been ended.
  void destroyed();

 private:
  bool isDx() const { return types_.pass == Pass::kDx; }
  const char* name() const { return isDx() ? "Conv3DBackpropInput" : "Conv3DBackpropFilter"; }
  const InputTiling& inputTiling() const { return std::get<InputTiling>(tiling_); }
  const FilterTiling& filterTiling() const { return std::get<FilterTiling>(tiling_); }

  /// Reports `rule`, unless it is empty; whether it did.
  bool fault(Call call, const std::string& rule);
  bool refused(Call call, bool first) { return fault(call, order_.refuses(call, first)); }
  bool maySet(Call call, bool first);

  template <class T>
  std::vector<std::string> rulesOf(const T& tiling, const Machine& machine) const;
  /// A single shape's rules, bounds and start; false if it cannot be computed.
  template <class T>
  bool begin(const T& tiling);
  /// What the core is told of this single shape, the same for each of its extents; null, and reported, if a buffer is too small.
  template <class T>
  std::shared_ptr<KernelJob> jobFor(const T& tiling);
  bool next();
  /// What a sanitised launch asks of what the single shape reads, and of a block that is to be added.
  void checkReads();
  void checkAddition(const GlobalRange& output, const Placement& place);
  FindingParty party(const char* unit, Call call) const;
  void write(const GlobalRange& output, const Placement& place, const GroupMask& mask, bool add);
  /// What is kept of the block: groups of dW that share a real group do not mix.
  GroupMask maskFor(const GlobalRange& output, bool sequential) const;
  /// Channels the tensor has from this core's first on, which the distance of NCDHW output from its buffer tells.
  std::int64_t channelsFrom(const GlobalRange& output) const;

  GradientTypes types_;
  CallOrder order_;
  bool dead_ = true;  ///< Init failed: what is wrong has been said, and calls do nothing
  bool begun_ = false;
  std::int64_t singleShapes_ = 0;
  std::variant<InputTiling, FilterTiling> tiling_;
  GlobalRange other_, gradOutput_;
  SingleShape shape_;
  std::map<std::array<std::int64_t, 3>, std::shared_ptr<KernelJob>> jobs_;  ///< by m, k, n
  Bounds readGradOutput_, readOther_;                                       ///< addresses that the single shape reads
  std::unique_ptr<KernelCore> core_;
};

extern template void GradientOnCore::State::init(const InputTiling*, bool&);
extern template void GradientOnCore::State::init(const FilterTiling*, bool&);

}  // namespace cubejit::ascendc
