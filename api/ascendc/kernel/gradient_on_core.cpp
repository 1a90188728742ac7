// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what each call of a gradient object does: the protocol, the checks, the emulated core, the report of what is wrong.
// Leaves the order of calls to call_order, geometry to single_shape, arithmetic to the core.
#include "cubejit_ascendc/gradient_on_core.h"

#include <algorithm>
#include <array>
#include <map>
#include <variant>

#include "api/ascendc/kernel/call_order.h"
#include "api/ascendc/kernel/core_context.h"
#include "api/ascendc/kernel/single_shape.h"
#include "api/ascendc/kernel/store_sums.h"
#include "cubejit_ascendc/tiling_request.h"
#include "tiling/npu/cube_rules.h"

namespace cubejit::ascendc {
namespace {

constexpr int kDocumentedCore = 2201;  // the generation of Atlas A2 and A3

// What is wrong, without where: that is said here.
std::string ruleOf(const Error& error) {
  const std::size_t behind = error.message.rfind("core ", 0) == 0 ? error.message.find(": ") : std::string::npos;
  return behind == std::string::npos ? error.message : error.message.substr(behind + 2);
}

std::string elements(const Reach& reach) { return std::to_string(reach.first) + " to " + std::to_string(reach.last); }

}  // namespace

class GradientOnCore::State {
 public:
  explicit State(const GradientTypes& types) : types_(types) {
    order_.needs(types.gradient == Gradient::kDx ? Call::kSetWeight : Call::kSetInput);
  }

  template <class T>
  void init(const T* tiling, bool& first) {
    CoreContext& core = currentCore();
    if (!core.launched) core.forgetFaults();
    if (refused(Call::kInit, first)) return;
    order_.initialised();
    first = true;
    dead_ = true;
    if (tiling == nullptr) return fault(Call::kInit, "the tiling is null");
    for (const std::string& rule : rulesOf(*tiling, core.machine())) fault(Call::kInit, rule);
    if (faulted_) return;
    auto made = CubeCore::create(core.machine(), static_cast<int>(core.core()));
    if (!made.ok()) return fault(Call::kInit, made.error().message);
    if (core.machine().npu.architecture != kDocumentedCore)
      core.note(std::string(name()) + " runs on Atlas A2 and A3; the vendor has none for " + core.machine().name);
    tiling_ = *tiling;
    core_ = std::move(*made);
    dead_ = false;
  }

  void setOperand(Operand operand, const GlobalRange& range, bool& first) {
    const Call call = operand == Operand::kWeight  ? Call::kSetWeight
                      : operand == Operand::kInput ? Call::kSetInput
                                                   : Call::kSetGradOutput;
    if (!maySet(call, first)) return;
    (operand == Operand::kGradOutput ? gradOutput_ : other_) = range;
    if (range.address == nullptr) fault(call, "the tensor has no memory: call SetGlobalBuffer first");
  }

  void setSingleShape(std::uint64_t m, std::uint64_t k, std::uint64_t n, bool& first) {
    if (order_.isFinished() && !first) {
      first = true;
      currentCore().note("SetSingleShape began another single shape without ctx.isFirstIter_ = true; on the chip Iterate "
                         "would go on where it stopped");
    }
    if (!maySet(Call::kSetSingleShape, first)) return;
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
    shape_.m = static_cast<std::int64_t>(std::min(m, kMost));
    shape_.k = static_cast<std::int64_t>(std::min(k, kMost));
    shape_.n = static_cast<std::int64_t>(std::min(n, kMost));
  }

  void setStartPosition(std::uint32_t depth, std::int64_t row, bool& first) {
    if (!maySet(Call::kSetStartPosition, first)) return;
    shape_.depth = depth;
    shape_.row = row;
  }

  bool iterate(bool& first) {
    if (refused(Call::kIterate, first)) {
      if (order_.isInitialised() && !order_.hasEnded()) order_.exhausted();
      return false;
    }
    if (dead_) return false;
    const bool begins = first || !begun_;
    first = false;
    if ((begins && !begin()) || !next()) {
      order_.exhausted();
      return false;
    }
    order_.computed();
    return true;
  }

  void tensorC(const GlobalRange& output, std::uint8_t atomic, bool sequential, bool first) {
    if (refused(Call::kGetTensorC, first) || dead_) return;
    const bool dx = types_.gradient == Gradient::kDx;
    if (dx && sequential) return;  // writes nothing, and the block stays in L0C
    order_.moved();
    const CubeBlock& block = core_->block();
    CoreContext& core = currentCore();
    if (!block.computed || (dx && receivesNoRow(inputTiling(), shape_, block))) {
      ++core.report.skipped;
      return;
    }
    if (output.address == nullptr)
      return fault(Call::kGetTensorC, "the output has no memory: call SetGlobalBuffer first");
    const std::int64_t channels = dx ? channelsFrom(output) : 0;
    const Placement place = dx ? placeOf(inputTiling(), shape_, block, types_.resultLayout, channels)
                               : placeOf(filterTiling(), block, sequential);
    if (place.columns == 0) return;
    if (!inBounds(Call::kGetTensorC, "output", "written", output, Reach{place.first, place.last()}, types_.result)) return;
    const bool add = atomic == 1;
    // Ways that the core's units do not have: by itself, adding in 16 bits, a block that NCDHW cuts short.
    const bool cut = dx && types_.resultLayout == Layout::kNcdhw && channels < std::min<std::int64_t>(shape_.n, inputTiling().cin);
    if (sequential || cut || (add && types_.result != DType::kF32)) {
      storeSums(*core_, place, types_.result, add, output.address);
    } else if (const Status done = core_->write(targetOf(output, add)); !done.ok()) {
      return fault(Call::kGetTensorC, ruleOf(done.error()));
    }
    ++core.report.stored;
  }

  void end(bool first) {
    const bool waiting = refused(Call::kEnd, first);
    if (!order_.isInitialised() || order_.hasEnded()) return;
    static_cast<void>(waiting);  // the object ends all the same
    order_.ended();
    if (core_ == nullptr) return;
    currentCore().report.counts.add(core_->takeCounts());
    core_.reset();
  }

  void destroyed() {
    if (!order_.isInitialised() || order_.hasEnded()) return;
    fault(Call::kEnd, "End was never called: it comes once, after everything else");
    if (core_ != nullptr) currentCore().report.counts.add(core_->takeCounts());
  }

 private:
  const char* name() const { return types_.gradient == Gradient::kDx ? "Conv3DBackpropInput" : "Conv3DBackpropFilter"; }
  const InputTiling& inputTiling() const { return std::get<InputTiling>(tiling_); }
  const FilterTiling& filterTiling() const { return std::get<FilterTiling>(tiling_); }

  void fault(Call call, const std::string& rule) {
    std::string where;
    if (begun_ && core_ != nullptr && (call == Call::kIterate || call == Call::kGetTensorC)) {
      if (call == Call::kGetTensorC) {
        const CubeBlock& b = core_->block();
        where = "block m " + std::to_string(b.mIndex) + " n " + std::to_string(b.nIndex) + " of ";
      }
      where += "single shape " + std::to_string(singleShapes_) + ", ";
    }
    currentCore().fault(where + name() + "::" + toString(call), rule);
    faulted_ = true;
  }

  bool refused(Call call, bool first) {
    const std::string rule = order_.refuses(call, first);
    if (rule.empty()) return false;
    fault(call, rule);
    return true;
  }

  bool maySet(Call call, bool first) {
    if (refused(call, first)) return false;
    order_.set(call);
    return true;
  }

  template <class T>
  std::vector<std::string> rulesOf(const T& tiling, const Machine& machine) const {
    std::vector<std::string> broken = checkTiling(tiling, machine);
    if (broken.empty() && machine.npu.step(types_.operand) == nullptr) {  // tilings do not tell f16 from bf16
      Problem typed = problemOf(tiling);
      typed.dtype = types_.operand;
      broken = checkChip(typed, types_.gradient, machine);
    }
    const std::uint32_t c0 = [&] {
      if constexpr (std::is_same_v<T, InputTiling>)
        return tiling.c0;
      else
        return tiling.channelSize;
    }();
    const auto needed = static_cast<std::uint32_t>(32 / byteSize(types_.operand));
    if (c0 != needed)
      broken.push_back("c0 = " + std::to_string(c0) + " must be " + std::to_string(needed) + " for " +
                       toString(types_.operand) + ", the type of the class' operands");
    if (tiling.hf32Flag != 0 && types_.operand != DType::kF32)
      broken.push_back("hf32Flag = 1 must be 0 for " + std::string(toString(types_.operand)) + "; only float is rounded");
    return broken;
  }

  /// A single shape's rules, bounds and first step.
  bool begin() {
    begun_ = true;
    ++singleShapes_;
    return std::visit([&](const auto& tiling) { return begin(tiling); }, tiling_);
  }

  template <class T>
  bool begin(const T& tiling) {
    const std::vector<std::string> broken = singleShapeRules(tiling, shape_);
    for (const std::string& rule : broken) fault(Call::kIterate, rule);
    if (!broken.empty()) return false;
    const PreparedShape prepared = workOf(tiling, shape_);
    const bool dx = types_.gradient == Gradient::kDx;
    const bool dyHeld = inBounds(Call::kIterate, "gradOutput", "read", gradOutput_, prepared.gradOutput, types_.operand);
    const bool otherHeld =
        inBounds(Call::kIterate, dx ? "weight" : "input", "read", other_, prepared.other, types_.operand);
    if (!dyHeld || !otherHeld) return false;
    const CubeJob* job = jobFor(tiling);
    if (job == nullptr) return false;
    const TensorId other = dx ? TensorId::kW : TensorId::kX;
    GlobalOperands operands;
    operands.dy = viewOf(gradOutput_, prepared.gradOutputBack, mapOf(tiling, types_, TensorId::kDy), types_.operand);
    (dx ? operands.w : operands.x) = viewOf(other_, prepared.otherBack, mapOf(tiling, types_, other), types_.operand);
    task_ = prepared.task;
    const Status begun = core_->begin(*job, operands, task_);
    if (!begun.ok()) fault(Call::kIterate, ruleOf(begun.error()));
    return begun.ok();
  }

  /// What the core is told of this single shape, made once for each that differs; null, and reported, if a buffer is too small.
  template <class T>
  const CubeJob* jobFor(const T& tiling) {
    auto& job = jobs_[{shape_.m, shape_.k, shape_.n}];
    if (job != nullptr) return job.get();
    const Machine& machine = currentCore().machine();
    const Problem problem = problemOf(tiling, types_, shape_);
    auto made = makeCubeJob(problem, planOf(tiling, problem, shape_, machine), machine, true);
    if (made.ok())
      job = std::make_unique<CubeJob>(std::move(*made));
    else
      fault(Call::kIterate, ruleOf(made.error()));
    return job.get();
  }

  bool next() {
    const Result<bool> more = core_->iterate();
    if (!more.ok()) {
      fault(Call::kIterate, ruleOf(more.error()));
      return false;
    }
    if (*more) ++currentCore().report.computed;
    return *more;
  }

  /// A tensor whose pointer is moved back by `back` elements to where row 0 is. Bounds are checked here, for what is touched.
  static GlobalView viewOf(const GlobalRange& range, std::int64_t back, IndexMap map, DType type) {
    GlobalView view;
    view.type = type;
    view.map = std::move(map);
    view.data = reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(range.address) -
                                             static_cast<std::uintptr_t>(back * byteSize(type)));
    return view;
  }

  BlockTarget targetOf(const GlobalRange& output, bool add) const {
    BlockTarget target;
    const bool dx = types_.gradient == Gradient::kDx;
    target.view = viewOf(output, 0,
                         dx ? mapOf(inputTiling(), types_, TensorId::kDx) : mapOf(filterTiling(), types_, TensorId::kDw),
                         types_.result);
    target.originM = task_.start.m;  // the caller's pointer is at this core's rows and channels
    target.originN = task_.start.n;
    target.add = add;
    return target;
  }

  /// Channels the tensor has from this core's first on, which NCDHW output's distance from its buffer tells.
  std::int64_t channelsFrom(const GlobalRange& output) const {
    const InputTiling& t = inputTiling();
    const std::int64_t volume = std::int64_t{t.di} * t.hi * t.wi;
    const auto offset = reinterpret_cast<std::uintptr_t>(output.address) - reinterpret_cast<std::uintptr_t>(output.buffer);
    return t.cin - static_cast<std::int64_t>(offset) / byteSize(types_.result) / volume % t.cin;
  }

  bool inBounds(Call call, const char* tensor, const char* verb, const GlobalRange& range, const Reach& reach,
                DType type) {
    const Bounds bounds = currentCore().boundsOf(range);
    if (!reach.any() || !bounds.known()) return true;
    const std::int64_t size = byteSize(type);
    const std::int64_t before = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(range.address) - bounds.begin),
                       behind = static_cast<std::int64_t>(bounds.end - reinterpret_cast<std::uintptr_t>(range.address));
    if (reach.first * size >= -before && (reach.last + 1) * size <= behind && before >= 0) return true;
    fault(call, std::string(tensor) + ": elements " + elements(reach) + " from where it begins are " + verb +
                    ", its memory has " + std::to_string(behind / size) +
                    " from there; check the offset it was given and the single shape");
    return false;
  }

  GradientTypes types_;
  CallOrder order_;
  bool dead_ = true;      ///< Init failed: calls are in order or not, and do nothing
  bool faulted_ = false;  ///< since it was made
  bool begun_ = false;
  std::int64_t singleShapes_ = 0;
  std::variant<InputTiling, FilterTiling> tiling_;
  GlobalRange other_, gradOutput_;
  SingleShape shape_;
  std::map<std::array<std::int64_t, 3>, std::unique_ptr<CubeJob>> jobs_;
  CoreTask task_;
  std::unique_ptr<CubeCore> core_;
};

namespace {

// Runs a call; what it throws (there was no memory) is a fault without words.
template <class State, class Body>
void guarded(const std::unique_ptr<State>& state, const Body& body) noexcept {
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
