// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what each call of a gradient object does; see gradient_on_core.h.
#include "api/ascendc/kernel/gradient_state.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "algorithms/cube/rules.h"
#include "api/ascendc/kernel/global_access.h"
#include "api/ascendc/kernel/store_sums.h"
#include "api/ascendc/kernel/write_log.h"
#include "api/ascendc/tiling_values.h"
#include "cubejit_ascendc/tiling_request.h"

namespace cubejit::ascendc {
namespace {

constexpr int kDocumentedCore = 2201;  // the generation of Atlas A2 and A3

BlockPitches pitchesOf(const Placement& place, DType type, bool add) {
  return {type, place.rowStride, place.panel, place.panelStride, add};
}

// Elements from where the tensor was said to begin to where it begins for this core.
std::int64_t offsetOf(const GlobalRange& output, DType type) {
  const auto bytes = reinterpret_cast<std::uintptr_t>(output.address) - reinterpret_cast<std::uintptr_t>(output.buffer);
  return static_cast<std::int64_t>(bytes) / byteSize(type);
}

std::uint32_t blockChannels(const InputTiling& t) { return t.c0; }
std::uint32_t blockChannels(const FilterTiling& t) { return t.channelSize; }

}  // namespace

GradientOnCore::State::State(const GradientTypes& types) : types_(types) {
  order_.needs(isDx() ? Call::kSetWeight : Call::kSetInput);
}

bool GradientOnCore::State::fault(Call call, const std::string& rule) {
  if (rule.empty()) return false;
  std::string where;
  if (begun_ && core_ != nullptr && (call == Call::kIterate || call == Call::kGetTensorC)) {
    if (call == Call::kGetTensorC) {
      const CubeBlock& b = core_->block();
      where = "block m " + std::to_string(b.mIndex) + " n " + std::to_string(b.nIndex) + " of ";
    }
    where += "single shape " + std::to_string(singleShapes_) + ", ";
  }
  currentCore().fault(where + name() + "::" + toString(call), rule);
  return true;
}

bool GradientOnCore::State::maySet(Call call, bool first) {
  if (refused(call, first)) return false;
  order_.set(call);
  return true;
}

template <class T>
std::vector<std::string> GradientOnCore::State::rulesOf(const T& tiling, const Machine& machine) const {
  std::vector<std::string> broken = checkTiling(tiling, machine);
  if (isUnfilled(tiling)) return broken;
  if (broken.empty() && machine.npu.cube.product(types_.operand) == nullptr) {  // tilings do not tell f16 from bf16
    Problem typed = problemOf(tiling);
    typed.dtype = types_.operand;
    broken = checkChip(typed, types_.pass, machine);
  }
  const auto needed = static_cast<std::uint32_t>(32 / byteSize(types_.operand));
  if (blockChannels(tiling) != needed)
    broken.push_back("c0 = " + std::to_string(blockChannels(tiling)) + " must be " + std::to_string(needed) + " for " +
                     toString(types_.operand) + ", the type of the class' operands");
  if (tiling.hf32Flag != 0 && types_.operand != DType::kF32)
    broken.push_back("hf32Flag = 1 must be 0 for " + std::string(toString(types_.operand)) + "; only float is rounded");
  return broken;
}

template <class T>
void GradientOnCore::State::init(const T* tiling, bool& first) {
  CoreContext& core = currentCore();
  if (!core.launched) core.forgetFaults();
  if (refused(Call::kInit, first)) return;
  order_.initialised();
  first = true;
  if (fault(Call::kInit, tiling == nullptr ? "the tiling is null" : "")) return;
  const std::vector<std::string> broken = rulesOf(*tiling, core.machine());
  for (const std::string& rule : broken) fault(Call::kInit, rule);
  if (!broken.empty()) return;
  if (core.machine().npu.architecture != kDocumentedCore)
    core.note(std::string(name()) + " runs on Atlas A2 and A3; the vendor has none for " + core.machine().name);
  tiling_ = *tiling;
  core_ = core.takeCore();
  dead_ = false;
}

void GradientOnCore::State::setOperand(Operand operand, const GlobalRange& range, bool first) {
  const Call call = operand == Operand::kWeight  ? Call::kSetWeight
                    : operand == Operand::kInput ? Call::kSetInput
                                                 : Call::kSetGradOutput;
  if (maySet(call, first)) (operand == Operand::kGradOutput ? gradOutput_ : other_) = range;
}

void GradientOnCore::State::setSingleShape(std::uint64_t m, std::uint64_t k, std::uint64_t n, bool& first) {
  if (order_.isFinished() && !first) {
    first = true;
    currentCore().note(
        "SetSingleShape began another single shape without ctx.isFirstIter_ = true; on the chip Iterate would go on "
        "where it stopped");
  }
  if (!maySet(Call::kSetSingleShape, first)) return;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  shape_.m = static_cast<std::int64_t>(std::min(m, kMost));
  shape_.k = static_cast<std::int64_t>(std::min(k, kMost));
  shape_.n = static_cast<std::int64_t>(std::min(n, kMost));
}

void GradientOnCore::State::setStartPosition(std::uint32_t depth, std::int64_t row, bool first) {
  if (!maySet(Call::kSetStartPosition, first)) return;
  shape_.depth = depth;
  shape_.row = row;
}

template <class T>
std::shared_ptr<KernelJob> GradientOnCore::State::jobFor(const T& tiling) {
  std::shared_ptr<KernelJob>& job = jobs_[{shape_.m, shape_.k, shape_.n}];
  if (job != nullptr) return job;
  const Machine& machine = currentCore().machine();
  std::string key = currentCore().spelled();
  const auto append = [&](const auto& value) { key.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
  const auto placeIn = [&](const auto& t) {
    if constexpr (std::is_same_v<T, InputTiling>)
      return placeOf(t, shape_, CubeBlock{}, types_.resultLayout, 0);
    else
      return placeOf(t, CubeBlock{}, false);
  };
  append(tiling);
  for (const std::int64_t value :
       {std::int64_t{types_.pass == Pass::kDx}, std::int64_t(types_.operand), std::int64_t(types_.result),
        std::int64_t(types_.resultLayout), shape_.m, shape_.k, shape_.n})
    append(value);
  auto made = kernelJob(key, [&]() -> Result<std::pair<CubeJob, TaskTensors>> {
    const Problem problem = problemOf(tiling, types_, shape_);
    CUBEJIT_TRY(cube, makeCubeJob(problem, planOf(tiling, problem, shape_, machine), machine, CubeKernels::kAscendC));
    const IndexMap dy = mapOf(tiling, types_, TensorId::kDy),
                   other = mapOf(tiling, types_, isDx() ? TensorId::kW : TensorId::kX);
    return std::pair{std::move(cube), TaskTensors{isDx() ? dy : other, isDx() ? other : dy,
                                                  pitchesOf(placeIn(tiling), types_.result, !isDx())}};
  });
  if (made.ok())
    job = std::move(*made);
  else
    fault(Call::kIterate, made.error().message);
  return job;
}

template <class T>
bool GradientOnCore::State::begin(const T& tiling) {
  begun_ = true;
  currentCore().count(*core_);  // what the single shape before did
  ++singleShapes_;
  const std::vector<std::string> broken = singleShapeRules(tiling, shape_);
  for (const std::string& rule : broken) fault(Call::kIterate, rule);
  if (!broken.empty()) return false;
  const CoreContext& core = currentCore();
  const PreparedShape prepared = workOf(tiling, shape_);
  const bool noDy = fault(Call::kIterate,
                          outsideMemory(core, "gradOutput", "read", gradOutput_, prepared.gradOutput, types_.operand));
  const bool noOther = fault(
      Call::kIterate, outsideMemory(core, isDx() ? "weight" : "input", "read", other_, prepared.other, types_.operand));
  std::shared_ptr<KernelJob> job = noDy || noOther ? nullptr : jobFor(tiling);
  if (job == nullptr) return false;
  const TaskOperands operands{operandOf(gradOutput_, prepared.gradOutputBack, prepared.gradOutput, types_.operand),
                              operandOf(other_, prepared.otherBack, prepared.other, types_.operand)};
  readGradOutput_ = addressesOf(gradOutput_, prepared.gradOutput, types_.operand);
  readOther_ = addressesOf(other_, prepared.other, types_.operand);
  const Status begun = core_->begin(std::move(job), operands, prepared.task);
  if (begun.ok()) checkReads();
  return begun.ok() || !fault(Call::kIterate, begun.error().message);
}

FindingParty GradientOnCore::State::party(const char* unit, Call call) const {
  FindingParty party;
  party.unit = unit;
  party.instruction = "single shape " + std::to_string(singleShapes_) + ", " + name() + "::" + toString(call);
  const CubeBlock& b = core_->block();
  if (call == Call::kGetTensorC)
    party.instruction =
        "block m " + std::to_string(b.mIndex) + " n " + std::to_string(b.nIndex) + " of " + party.instruction;
  return party;
}

namespace {

// Whether an element of 2 or 4 bytes is as GmAlloc gave it; other cores may add to it at the same time.
bool isUnwritten(const std::byte* element, std::int64_t bytes) {
  const auto isOnes = [&](auto ones) {
    using Word = decltype(ones);
    auto* const word = reinterpret_cast<Word*>(const_cast<std::byte*>(element));
    return std::atomic_ref<Word>(*word).load(std::memory_order_relaxed) == ones;
  };
  return bytes == 2 ? isOnes(std::uint16_t{0xffff}) : isOnes(std::uint32_t{0xffffffff});
}

}  // namespace

void GradientOnCore::State::checkReads() {
  CoreContext& core = currentCore();
  if (!core.sanitize || core.writes == nullptr) return;
  const std::int64_t element = byteSize(types_.operand);
  for (const bool dy : {true, false}) {
    const char* const tensor = dy ? "gradOutput" : isDx() ? "weight" : "input";
    core_->eachRead(dy, [&](const std::byte* begin, std::int64_t bytes) {
      core.find(FindingKind::kRace, core.writes->read({core.block, core.round}, begin, bytes),
                party("gm_to_l1", Call::kIterate));
      for (std::int64_t at = 0; at + element <= bytes; at += element) {
        if (!isUnwritten(begin + at, element)) continue;
        const std::int64_t from = begin + at - static_cast<const std::byte*>((dy ? gradOutput_ : other_).buffer);
        core.find(FindingKind::kInit,
                  {"reads memory that nobody wrote, of " + std::string(tensor), -1, -1, from, from + element},
                  party("gm_to_l1", Call::kIterate));
        break;
      }
    });
  }
}

void GradientOnCore::State::checkAddition(const GlobalRange& output, const Placement& place) {
  CoreContext& core = currentCore();
  if (!core.sanitize) return;
  const std::int64_t element = byteSize(types_.result);
  place.eachRun([&](std::int64_t, std::int64_t, std::int64_t count, std::int64_t at) {
    for (std::int64_t i = at; i < at + count; ++i) {
      if (!isUnwritten(static_cast<const std::byte*>(output.address) + i * element, element)) continue;
      core.find(
          FindingKind::kInit,
          {"adds to memory that nobody wrote: zero it first, with InitOutput", -1, -1, i * element, (i + 1) * element},
          party("fixpipe", Call::kGetTensorC));
      return;
    }
  });
}

bool GradientOnCore::State::next() {
  const Result<bool> more = core_->iterate();
  if (!more.ok()) return !fault(Call::kIterate, more.error().message);
  if (*more) ++currentCore().report.computed;
  return *more;
}

bool GradientOnCore::State::iterate(bool& first) {
  if (refused(Call::kIterate, first)) {
    if (order_.isInitialised() && !order_.hasEnded()) order_.exhausted();
    return false;
  }
  if (dead_) return false;
  const bool begins = first || !begun_;
  first = false;
  const bool more = (!begins || std::visit([&](const auto& tiling) { return begin(tiling); }, tiling_)) && next();
  if (more)
    order_.computed();
  else
    order_.exhausted();
  return more;
}

std::int64_t GradientOnCore::State::channelsFrom(const GlobalRange& output) const {
  const InputTiling& t = inputTiling();
  const std::int64_t volume = std::int64_t{t.di} * t.hi * t.wi;
  return t.cin - offsetOf(output, types_.result) / volume % t.cin;
}

GroupMask GradientOnCore::State::maskFor(const GlobalRange& output, bool sequential) const {
  if (isDx() || sequential) return {};
  const GroupMask mask = maskOf(filterTiling(), core_->block(), offsetOf(output, types_.result));
  if (mask.masks())
    currentCore().note(
        "gradWeight of groups that share blocks of channels: products of different groups are 0, as in FRACTAL_Z_3D; "
        "on "
        "the chip GetTensorC writes them, and they are masked afterwards");
  return mask;
}

void GradientOnCore::State::write(const GlobalRange& output, const Placement& place, const GroupMask& mask, bool add) {
  const auto to = reinterpret_cast<std::uintptr_t>(output.address) +
                  static_cast<std::uintptr_t>(place.first * byteSize(types_.result));
  if (!mask.masks() &&
      core_->store(pitchesOf(place, types_.result, add), place.rows, place.columns, reinterpret_cast<void*>(to)))
    return;
  // A way that the core's program does not have.
  const auto store = [&] { storeSums(*core_, place, mask, types_.result, add, output.address); };
  add ? KernelCore::addAlone(store) : store();
  core_->wrote(place.rows * place.columns, types_.result);
}

void GradientOnCore::State::tensorC(const GlobalRange& output, std::uint8_t atomic, bool sequential, bool first) {
  if (dead_ && order_.isInitialised() && !order_.hasEnded()) return;
  if (refused(Call::kGetTensorC, first)) return;
  if (isDx() && sequential) return;  // writes nothing, and the block stays in L0C
  order_.moved();
  CoreContext& core = currentCore();
  const CubeBlock& block = core_->block();
  if (!block.computed || (isDx() && receivesNoRow(inputTiling(), shape_, block))) {
    ++core.report.skipped;
    return;
  }
  if (fault(Call::kGetTensorC, output.address == nullptr ? std::string("output") + kNoMemory : "")) return;
  const std::int64_t channels = isDx() ? channelsFrom(output) : 0;
  const Placement place = isDx() ? placeOf(inputTiling(), shape_, block, types_.resultLayout, channels)
                                 : placeOf(filterTiling(), block, sequential);
  if (place.columns == 0) return;
  if (fault(Call::kGetTensorC,
            outsideMemory(core, "output", "written", output, {place.first, place.last()}, types_.result)))
    return;
  const Bounds written = addressesOf(output, {place.first, place.last()}, types_.result);
  if (fault(Call::kGetTensorC, overlap(written, "gradOutput", readGradOutput_)) ||
      fault(Call::kGetTensorC, overlap(written, isDx() ? "weight" : "input", readOther_)))
    return;
  if (atomic == 1) checkAddition(output, place);
  write(output, place, maskFor(output, sequential), atomic == 1);
  ++core.report.stored;
  if (core.writes == nullptr) return;
  const Collision lost = core.writes->wrote({core.block, core.round}, output.address, place,
                                            static_cast<int>(byteSize(types_.result)), atomic == 1);
  if (lost.what.empty()) return;
  if (core.sanitize)
    core.find(lost.other == core.block ? FindingKind::kOverwrite : FindingKind::kRace, lost,
              party("fixpipe", Call::kGetTensorC));
  else
    core.note(lost.what);
}

void GradientOnCore::State::end(bool first) {
  refused(Call::kEnd, first);  // reported, and the object ends all the same
  if (!order_.isInitialised() || order_.hasEnded()) return;
  order_.ended();
  if (core_ != nullptr) currentCore().giveBack(std::move(core_));
}

void GradientOnCore::State::destroyed() {
  if (!order_.isInitialised() || order_.hasEnded()) return;
  fault(Call::kEnd, "End was never called: it comes once, after everything else");
  if (core_ != nullptr) currentCore().giveBack(std::move(core_));
}

template void GradientOnCore::State::init(const InputTiling*, bool&);
template void GradientOnCore::State::init(const FilterTiling*, bool&);

}  // namespace cubejit::ascendc
