// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides by lowering: what a plan's program takes is known when it is there.
#include "runtime/choose_within.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "algorithms/kit/adjoint.h"
#include "algorithms/kit/reorder.h"
#include "algorithms/lower.h"
#include "codegen/tile/workspace.h"
#include "cubejit/index_map.h"
#include "runtime/threads.h"
#include "tiling/no_throw.h"

namespace cubejit {
namespace {

// Plans of tensors of fewer bytes are lowered in bounded work and little memory, whatever they are.
constexpr std::int64_t kTriedFrom = std::int64_t{8} << 20;
constexpr std::int64_t kFreeBytes = std::int64_t{64} << 20, kMostForSpeed = std::int64_t{256} << 20;
constexpr double kWorthMemory = 2.0;
// Lowering takes milliseconds: so many plans are tried where no limit is said.
constexpr int kMostTrials = 32;

std::int64_t tensorBytes(const Problem& problem, Pass pass) {
  const PassTensors tensors = tensorsOf(pass);
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < tensors.count; ++i) bytes += formatBytes(problem, tensors.ids[i]);
  return bytes;
}

// Bytes of all copies that the plan's reorders make; the workspace holds every one.
std::int64_t reorderedBytes(const Problem& problem, const TilingPlan& plan) {
  if (plan.pass == Pass::kY) return reorderedBytes(adjointOf(problem), asData(plan));
  const Problem core = coreProblem(problem, plan);
  const PassTensors tensors = tensorsOf(plan.pass);
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < tensors.count; ++i) {
    if (isReordered(plan.reorders, tensors.ids[i])) bytes += formatBytes(core, tensors.ids[i]);
  }
  return bytes;
}

std::string limitOf(const Options& options) {
  return std::to_string(options.memLimit) + " bytes (Options::memLimit, --mem-limit, CUBEJIT_MEM_LIMIT) on " +
         std::to_string(threadsOf(options)) + " threads";
}

class Trials {
 public:
  Trials(const Problem& problem, Pass pass, const Machine& machine, const Options& options, std::int64_t kept)
      : problem_(problem),
        pass_(pass),
        machine_(machine),
        options_(options),
        kept_(kept),
        said_(options.memLimit > 0),
        limit_(said_ ? options.memLimit - kept : std::max(kFreeBytes, tensorBytes(problem, pass) / 2)) {}

  // Why the plan is not taken; nothing if it is.
  Result<std::optional<std::string>> refuses(const TilingPlan& plan) {
    bytes_ = -1;
    if (!said_ && (tried_ >= kMostTrials || reorderedBytes(problem_, plan) > limit_))
      return std::optional<std::string>(overText());
    ++tried_;
    const auto bytes = workspaceBytes(problem_, plan, machine_, options_);
    if (!bytes.ok()) {
      if (bytes.error().code != ErrorCode::kLimitExceeded || isOutOfMemory(bytes.error())) return bytes.error();
      tooLong_ = bytes.error();
      return std::optional<std::string>(bytes.error().message);
    }
    bytes_ = *bytes;
    least_ = std::min(least_, bytes_);
    return bytes_ <= limit_ ? std::optional<std::string>() : std::optional<std::string>(overText());
  }

  // The first of the legal candidates, which come first and cheapest first, that is taken.
  Result<PlanChoice> first(PlanChoice choice) {
    std::vector<Candidate>& considered = choice.considered;
    auto fastest = considered.end(), smallest = considered.end();
    std::int64_t bytesOfFastest = 0;
    for (auto candidate = considered.begin(); candidate != considered.end() && candidate->refusedBy.empty();
         ++candidate) {
      CUBEJIT_TRY(why, refuses(candidate->plan));
      if (bytes_ >= 0 && fastest == considered.end()) {
        fastest = candidate;
        bytesOfFastest = bytes_;
      }
      if (!why) {
        const bool worthIt = !said_ && bytesOfFastest <= kMostForSpeed &&
                             candidate->cost.totalCycles >= kWorthMemory * fastest->cost.totalCycles;
        take(choice, worthIt ? fastest : candidate);
        return choice;
      }
      if (bytes_ >= 0 && bytes_ == least_) smallest = candidate;
      candidate->refusedBy = {*why};
    }
    if (!said_ && smallest != considered.end()) {
      take(choice, smallest);
      return choice;
    }
    if (said_ && least_ < std::numeric_limits<std::int64_t>::max())
      return overLimit(std::string("of all plans of ") + toString(pass_) + " the one that takes least" +
                           (kept_ > 0 ? ", with " + std::to_string(kept_) + " bytes that passes share," : ""),
                       kept_ + least_, options_);
    return tooLong_ ? *tooLong_ : Error{ErrorCode::kNoFeasiblePlan, Stage::kPlan, "no legal plan"};
  }

 private:
  std::string overText() const {
    return said_ ? "takes more workspace than the limit of " + limitOf(options_)
                 : "takes more workspace than " + std::to_string(limit_) +
                       " bytes, half of what the tensors have, and another plan does not";
  }

  static void take(PlanChoice& choice, std::vector<Candidate>::iterator candidate) {
    candidate->refusedBy.clear();
    choice.plan = candidate->plan;
    choice.cost = candidate->cost;
    std::vector<Candidate>& considered = choice.considered;
    // Those before it are refused: they come behind all that are not.
    std::stable_partition(considered.begin(), considered.end(), [](const Candidate& c) { return c.refusedBy.empty(); });
  }

  const Problem& problem_;
  const Pass pass_;
  const Machine& machine_;
  const Options& options_;
  const std::int64_t kept_;
  const bool said_;
  const std::int64_t limit_;
  int tried_ = 0;
  std::int64_t bytes_ = -1;  ///< of the plan that was tried last; -1: not known
  std::int64_t least_ = std::numeric_limits<std::int64_t>::max();
  std::optional<Error> tooLong_;
};

}  // namespace

Result<std::int64_t> workspaceBytes(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                                    const Options& options) {
  CUBEJIT_TRY(tile, lower(problem, plan, machine));
  return workspaceOf(tile).bytes.on(threadsOf(options));
}

Error overLimit(const std::string& what, std::int64_t bytes, const Options& options) {
  return Error{ErrorCode::kLimitExceeded, Stage::kPlan,
               what + " takes " + std::to_string(bytes) + " bytes of workspace, the limit is " + limitOf(options) +
                   "; raise it, or use fewer threads"};
}

Result<PlanChoice> choosePlanWithin(const Problem& problem, Pass pass, const Machine& machine, bool explain,
                                    WeightsUse weights, const Options& options, std::int64_t kept) {
  CUBEJIT_TRY(choice, choosePlan(problem, pass, machine, explain, weights, options.algorithm));
  if (machine.isNpu() || (options.memLimit <= 0 && tensorBytes(problem, pass) < kTriedFrom)) return choice;
  CUBEJIT_TRY(why, Trials(problem, pass, machine, options, kept).refuses(choice.plan));
  if (!why) return choice;
  if (!explain) {
    CUBEJIT_TRY(all, choosePlan(problem, pass, machine, true, weights, options.algorithm));
    choice = std::move(all);
  }
  return Trials(problem, pass, machine, options, kept).first(std::move(choice));
}

}  // namespace cubejit
