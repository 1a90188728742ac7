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

class Preparation {
 public:
  Preparation(const ConvCall& call, Session& session)
      : call_(call), session_(session), prepared_(std::make_shared<Prepared>()) {
    prepared_->views = call.views;
    for (std::size_t i = 0; i < kTensors; ++i) places_[i].tensor = static_cast<int>(i);
  }

  Result<std::shared_ptr<const Prepared>> make() {
    Problem problem = call_.geometry;
    for (const TensorId id : tensors()) problem.formats[at(id)] = formatOf(call_.views[at(id)]);
    for (const TensorId id : results()) denseResult(problem, id);
    for (const TensorId id : kOperands) widenOperand(problem, id);
    problem.postOps.bias = biasIsPostOp();
    PassMask mask = call_.mask;
    // A sum of gradOutput as it is: the bias gradient is not rounded on the way.
    if (mask.db && !operandAsIs(TensorId::kDy)) {
      CUBEJIT_RETURN_IF_ERROR(compute(problem, {false, false, true}));
      mask.db = false;
    }
    if (mask.any()) {
      CUBEJIT_RETURN_IF_ERROR(roundOperands(problem));
      CUBEJIT_RETURN_IF_ERROR(compute(problem, mask));
    }
    finish();
    return std::shared_ptr<const Prepared>(prepared_);
  }

 private:
  static constexpr std::array kOperands{TensorId::kDy, TensorId::kX, TensorId::kW};

  // What the two kinds of operators have; the other kind's tensors keep a problem's usual formats.
  static std::vector<TensorId> resultsOf(PassMask mask) {
    return mask.y ? std::vector{TensorId::kY} : std::vector{TensorId::kDx, TensorId::kDw, TensorId::kDb};
  }
  std::vector<TensorId> results() const { return resultsOf(call_.mask); }
  std::vector<TensorId> tensors() const {
    std::vector<TensorId> ids = results();
    ids.insert(ids.end(), kOperands.begin() + (call_.mask.y ? 1 : 0), kOperands.end());
    return ids;
  }
  static bool gives(PassMask mask, TensorId id) {
    return std::any_of(kPasses.begin(), kPasses.end(), [&](Pass g) { return mask.has(g) && resultOf(g) == id; });
  }
  bool wants(TensorId id) const { return gives(call_.mask, id); }

  // Kernels add a bias of y's type, dense, before they round. Any other one is added to sums in the workspace.
  bool biasIsPostOp() const {
    const View &y = call_.views[at(TensorId::kY)], &b = call_.views[at(TensorId::kB)];
    return call_.bias && call_.chip == nullptr && y.eightBit == EightBit::kNone && b.eightBit == EightBit::kNone &&
           b.dtype == y.dtype && (b.extents[1] == 1 || b.strides[1] == 1);
  }
  bool biasIsAdded(TensorId id) const { return id == TensorId::kY && call_.bias && !biasIsPostOp(); }

  // Whether memory already holds what is multiplied. The host's kernels widen 16-bit operands as they read them; a cube multiplies
  // two of one type.
  bool operandAsIs(TensorId id) const {
    const DType type = call_.views[at(id)].dtype;
    if (type == call_.compute || call_.chip != nullptr) return type == call_.compute;
    return call_.compute == DType::kF32 || (isHf32(call_.compute) && type != DType::kF32);
  }

  bool unread(TensorId id) const { return !call_.mask.reads(id); }

  void widenOperand(Problem& problem, TensorId id) {
    const View& view = call_.views[at(id)];
    if (view.eightBit == EightBit::kNone || unread(id)) return;
    places_[at(id)] = Place{-1, reserve(view.elements() * byteSize(DType::kF16))};
    prepared_->steps.push_back(WidenStep{static_cast<int>(id), places_[at(id)]});
    prepared_->reads[at(id)] = true;
    problem.formats[at(id)] = TensorFormat{DType::kF16, Layout::kNcdhw, {}, 0};
  }

  Status roundOperands(Problem& problem) {
    for (const TensorId id : kOperands) {
      if (unread(id)) continue;
      CUBEJIT_RETURN_IF_ERROR(operand(problem, id));
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

  bool roundedFromSums(TensorId id) const { return call_.views[at(id)].eightBit != EightBit::kNone || biasIsAdded(id); }

  void denseResult(Problem& problem, TensorId id) {
    TensorFormat& format = *problem.formats[at(id)];
    if (!wants(id)) {  // is not touched: any legal format will do
      format = TensorFormat{DType::kF32, Layout::kNcdhw, {}, 0};
      return;
    }
    const View& view = call_.views[at(id)];
    if (!format.strided() && !roundedFromSums(id)) return;
    format = TensorFormat{roundedFromSums(id) ? DType::kF32 : view.dtype, Layout::kNcdhw, {}, 0};
    places_[at(id)] = Place{-1, reserve(view.elements() * byteSize(format.dtype))};
  }

  Status compute(const Problem& problem, PassMask mask) {
    Problem asked = problem;
    // Operands a pass does not read need not be anything in particular.
    for (const TensorId id : {TensorId::kX, TensorId::kW})
      if (!mask.reads(id)) asked.formats[at(id)] = TensorFormat{};
    for (const TensorId id : resultsOf(mask))
      if (!gives(mask, id)) asked.formats[at(id)] = TensorFormat{DType::kF32, Layout::kNcdhw, {}, 0};
    touch(mask);
    return run(asked, mask);
  }

  Status run(const Problem& asked, PassMask mask) {
    CUBEJIT_TRY(executable, session_.compile(asked, mask));
    const std::size_t bytes = executable->workspaceBytes();
    shared_ = std::max(shared_, bytes);
    prepared_->steps.push_back(RunStep{executable, places_, 0, bytes});
    return Unit{};
  }

  void touch(PassMask mask) {
    for (const TensorId id : kOperands) prepared_->reads[at(id)] |= mask.reads(id) && places_[at(id)].tensor >= 0;
    prepared_->reads[at(TensorId::kB)] |= call_.bias;
    for (const TensorId id : kTensorIds) prepared_->writes[at(id)] |= gives(mask, id);
  }

  // Runs share one scratch region behind what lives longer; results are scattered when everything has been read.
  void finish() {
    const std::size_t scratch = reserve(static_cast<std::int64_t>(shared_));
    for (Step& step : prepared_->steps) {
      if (auto* run = std::get_if<RunStep>(&step)) run->workspaceOffset = scratch;
    }
    for (const TensorId id : results()) {
      if (wants(id) && places_[at(id)].tensor < 0)
        prepared_->steps.push_back(
            ScatterStep{places_[at(id)], static_cast<int>(id), roundedFromSums(id), biasIsAdded(id)});
    }
  }

  const ConvCall& call_;
  Session& session_;
  std::shared_ptr<Prepared> prepared_;
  std::array<Place, kTensors> places_;
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
    options->elideCopies = true;
  }
  return shared->made
      .emplace(name, options.ok() ? Result<Session*>(new Session(*options)) : Result<Session*>(options.error()))
      .first->second;
}

Result<std::shared_ptr<const Prepared>> prepare(const ConvCall& call) {
  CUBEJIT_TRY(session, sharedSession(call.chip.get()));
  return Preparation(call, *session).make();
}

std::shared_ptr<const Prepared> prepareFill(const Views& views, PassMask mask, std::array<float, 3> values) {
  const auto prepared = std::make_shared<Prepared>();
  prepared->views = views;
  for (const Pass pass : {Pass::kDx, Pass::kDw, Pass::kDb}) {
    const std::size_t id = at(resultOf(pass));
    if (!mask.has(pass) || views[id].elements() == 0) continue;
    prepared->writes[id] = true;
    prepared->steps.push_back(FillStep{static_cast<int>(id), values[static_cast<std::size_t>(pass)]});
  }
  return prepared;
}

}  // namespace cubejit::acl
