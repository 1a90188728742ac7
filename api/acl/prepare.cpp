// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the steps of a request. A tensor is used as it lies whenever what computes takes it. Through the workspace pass operands that
// are of another type than what is multiplied, results for memory that is not dense, and 8-bit tensors.
#include "api/acl/prepare.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace cubejit::acl {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::int64_t bytes) {
  return (static_cast<std::size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
}

std::size_t at(TensorId id) { return static_cast<std::size_t>(id); }

class Preparation {
 public:
  Preparation(const ConvCall& call, Session& session)
      : call_(call), session_(session), prepared_(std::make_shared<Prepared>()) {
    prepared_->views = call.views;
    for (const TensorId id : kBackwardTensors) places_[at(id)].tensor = static_cast<int>(id);
  }

  Result<std::shared_ptr<const Prepared>> make() {
    Problem problem = call_.geometry;
    for (const TensorId id : kBackwardTensors) problem.formats[at(id)] = formatOf(call_.views[at(id)]);
    for (const TensorId id : {TensorId::kDx, TensorId::kDw, TensorId::kDb}) denseResult(problem, id);
    for (const TensorId id : {TensorId::kDy, TensorId::kX, TensorId::kW}) widenOperand(problem, id);
    GradientMask mask = call_.mask;
    // A sum of gradOutput as it is: the bias gradient is not rounded on the way.
    if (mask.db && !operandAsIs(TensorId::kDy)) {
      CUBEJIT_TRY(summed, compute(problem, {false, false, true}));
      static_cast<void>(summed);
      mask.db = false;
    }
    if (mask.any()) {
      CUBEJIT_TRY(operands, roundOperands(problem));
      static_cast<void>(operands);
      CUBEJIT_TRY(computed, compute(problem, mask));
      static_cast<void>(computed);
    }
    finish();
    return std::shared_ptr<const Prepared>(prepared_);
  }

 private:
  bool wants(TensorId id) const {
    return (id == TensorId::kDx && call_.mask.dx) || (id == TensorId::kDw && call_.mask.dw) ||
           (id == TensorId::kDb && call_.mask.db);
  }

  // Whether memory already holds what is multiplied. The host's kernels widen 16-bit operands as they read them; a cube multiplies
  // two of one type.
  bool operandAsIs(TensorId id) const {
    const DType type = call_.views[at(id)].dtype;
    if (type == call_.compute || call_.chip != nullptr) return type == call_.compute;
    return call_.compute == DType::kF32 || (isHf32(call_.compute) && type != DType::kF32);
  }

  bool unread(TensorId id) const {
    return (id == TensorId::kX && !call_.mask.dw) || (id == TensorId::kW && !call_.mask.dx);
  }

  void widenOperand(Problem& problem, TensorId id) {
    const View& view = call_.views[at(id)];
    if (view.eightBit == EightBit::kNone || unread(id)) return;
    places_[at(id)] = Place{-1, reserve(view.elements() * byteSize(DType::kF16))};
    prepared_->steps.push_back(WidenStep{static_cast<int>(id), places_[at(id)]});
    prepared_->reads[at(id)] = true;
    problem.formats[at(id)] = TensorFormat{DType::kF16, Layout::kNcdhw, {}, 0};
  }

  Status roundOperands(Problem& problem) {
    for (const TensorId id : {TensorId::kDy, TensorId::kX, TensorId::kW}) {
      if (unread(id)) continue;
      CUBEJIT_TRY(rounded, operand(problem, id));
      static_cast<void>(rounded);
    }
    return Unit{};
  }

  std::size_t reserve(std::int64_t bytes) {
    const std::size_t offset = prepared_->workspaceBytes;
    prepared_->workspaceBytes += aligned(bytes);
    return offset;
  }

  // HF32 is a way to read FLOAT; other types are made in the workspace.
  Status operand(Problem& problem, TensorId id) {
    if (operandAsIs(id)) return Unit{};
    TensorFormat& format = *problem.formats[at(id)];
    const DType stored = isHf32(call_.compute) ? DType::kF32 : call_.compute;
    if (format.dtype == stored) {
      format.dtype = call_.compute;
      return Unit{};
    }
    TensorFormat to{stored, format.strided() ? Layout::kNcdhw : format.layout, {}, 0};
    CUBEJIT_TRY(repacking, session_.repack(problem, id, to));
    const Place place{-1, reserve(static_cast<std::int64_t>(repacking->targetBytes()))};
    prepared_->steps.push_back(RepackStep{repacking, places_[at(id)], place});
    prepared_->reads[at(id)] = true;
    places_[at(id)] = place;
    format = to;
    format.dtype = call_.compute;
    return Unit{};
  }

  void denseResult(Problem& problem, TensorId id) {
    TensorFormat& format = *problem.formats[at(id)];
    if (!wants(id)) {  // is not touched: any legal format will do
      format = TensorFormat{DType::kF32, Layout::kNcdhw, {}, 0};
      return;
    }
    const View& view = call_.views[at(id)];
    const bool eightBit = view.eightBit != EightBit::kNone;  // rounded from the sum
    if (!format.strided() && !eightBit) return;
    format = TensorFormat{eightBit ? DType::kF32 : view.dtype, Layout::kNcdhw, {}, 0};
    places_[at(id)] = Place{-1, reserve(view.elements() * byteSize(format.dtype))};
  }

  Status compute(const Problem& problem, GradientMask mask) {
    Problem asked = problem;
    // Operands a gradient does not read need not be anything in particular.
    if (!mask.dw) asked.formats[at(TensorId::kX)] = TensorFormat{};
    if (!mask.dx) asked.formats[at(TensorId::kW)] = TensorFormat{};
    for (const auto& [wanted, id] :
         {std::pair{mask.dx, TensorId::kDx}, {mask.dw, TensorId::kDw}, {mask.db, TensorId::kDb}})
      if (!wanted) asked.formats[at(id)] = TensorFormat{DType::kF32, Layout::kNcdhw, {}, 0};
    touch(mask);
    return run(asked, mask);
  }

  Status run(const Problem& asked, GradientMask mask) {
    CUBEJIT_TRY(executable, session_.compile(asked, mask));
    const std::size_t bytes = executable->workspaceBytes();
    shared_ = std::max(shared_, bytes);
    prepared_->steps.push_back(RunStep{executable, places_, 0, bytes});
    return Unit{};
  }

  void touch(GradientMask mask) {
    const auto reads = [&](TensorId id) { prepared_->reads[at(id)] |= places_[at(id)].tensor >= 0; };
    reads(TensorId::kDy);
    if (mask.dw) reads(TensorId::kX);
    if (mask.dx) reads(TensorId::kW);
    for (const auto& [wanted, id] :
         {std::pair{mask.dx, TensorId::kDx}, {mask.dw, TensorId::kDw}, {mask.db, TensorId::kDb}})
      prepared_->writes[at(id)] |= wanted;
  }

  // Runs share one scratch region behind what lives longer; results are scattered when everything has been read.
  void finish() {
    const std::size_t scratch = reserve(static_cast<std::int64_t>(shared_));
    for (Step& step : prepared_->steps) {
      if (auto* run = std::get_if<RunStep>(&step)) run->workspaceOffset = scratch;
    }
    for (const TensorId id : {TensorId::kDx, TensorId::kDw, TensorId::kDb}) {
      if (wants(id) && places_[at(id)].tensor < 0)
        prepared_->steps.push_back(ScatterStep{places_[at(id)], static_cast<int>(id)});
    }
  }

  const ConvCall& call_;
  Session& session_;
  std::shared_ptr<Prepared> prepared_;
  std::array<Place, 6> places_;
  std::size_t shared_ = 0;
};

// Sessions by machine; handles and streams may outlive static objects.
struct SharedSessions {
  std::mutex mutex;
  std::map<std::string, Result<Session*>> made;
};

}  // namespace

Result<Session*> sharedSession(const Machine* chip) {
  static auto* const shared = new SharedSessions;
  const std::lock_guard<std::mutex> lock(shared->mutex);
  const std::string name = chip == nullptr ? "" : chip->name;
  const auto known = shared->made.find(name);
  if (known != shared->made.end()) return known->second;
  auto options = optionsFromEnvironment();
  if (options.ok() && chip != nullptr) {
    options->machine = *chip;
    options->forwardCopies = true;
  }
  return shared->made
      .emplace(name, options.ok() ? Result<Session*>(new Session(*options)) : Result<Session*>(options.error()))
      .first->second;
}

Result<std::shared_ptr<const Prepared>> prepare(const ConvCall& call) {
  CUBEJIT_TRY(session, sharedSession(call.chip.get()));
  return Preparation(call, *session).make();
}

std::shared_ptr<const Prepared> prepareFill(const std::array<View, 6>& views, GradientMask mask,
                                            std::array<float, 3> values) {
  const auto prepared = std::make_shared<Prepared>();
  prepared->views = views;
  for (const Gradient gradient : {Gradient::kDx, Gradient::kDw, Gradient::kDb}) {
    const auto index = static_cast<std::size_t>(gradient);
    if (!mask.has(gradient) || views[3 + index].elements() == 0) continue;
    prepared->writes[3 + index] = true;
    prepared->steps.push_back(FillStep{static_cast<int>(3 + index), values[index]});
  }
  return prepared;
}

}  // namespace cubejit::acl
