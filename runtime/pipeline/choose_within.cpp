// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides by lowering: what a plan's program takes is known when it is there.
#include "runtime/pipeline/choose_within.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "algorithms/kit/adjoint.h"
#include "algorithms/kit/reorder.h"
#include "algorithms/lower.h"
#include "codegen/tile/workspace.h"
#include "cubejit/index_map.h"
#include "runtime/host/threads.h"
#include "tiling/no_throw.h"
#include "tiling/work_limit.h"

namespace cubejit {
namespace {

// Plans of tensors of fewer bytes are lowered in bounded work and little memory, whatever they are.
constexpr std::int64_t kTriedFrom = std::int64_t{8} << 20;
constexpr std::int64_t kFreeBytes = std::int64_t{64} << 20, kMostForSpeed = std::int64_t{256} << 20;
constexpr double kWorthMemory = 2.0;
// Where no limit is said, trials end after so many plans, or so much work of lowering them, if there is a plan that can be taken.
constexpr int kMostTrials = 32;
constexpr std::int64_t kMostTriedWork = kMostSteps / 2;
// A program of more steps takes tens of milliseconds to make, and megabytes: a plan that costs hardly more and has fewer is taken.
constexpr std::int64_t kUsualSteps = kMostSteps / 32;
constexpr double kHardlyMore = 1.25;
constexpr int kMostLongTrials = 3;  // of plans that are cheaper and may have more steps, beside one that has few
constexpr int kMostTooLong = 5;     // plans in a row that have more steps than usual: the others are taken to have, too

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

// Steps, variants, and segments of these: what lowering a plan takes grows with it.
std::int64_t workOf(const std::vector<Node>& body, const std::vector<SegmentList>& lists) {
  std::int64_t work = 0;
  for (const Node& node : body) {
    work += workOf(node.body, lists);
    work += std::ssize(node.call.variants);
    for (const Variant& v : node.call.variants) {
      if (v.list < 0) continue;
      for (const auto& section : lists[static_cast<std::size_t>(v.list)]) work += std::ssize(section);
    }
  }
  return work;
}

std::int64_t workOf(const TileProgram& program) {
  std::int64_t work = 0;
  for (const Phase& phase : program.phases) {
    for (const Axis& axis : phase.axes) work += std::ssize(axis.steps);
    work += workOf(phase.body, program.lists);
  }
  return work;
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
    const bool spent = tried_ >= kMostTrials || work_ >= kMostTriedWork;
    if (!said_ && ((spent && least_ < kNone) || reorderedBytes(problem_, plan) > limit_))
      return std::optional<std::string>(overText());
    return tried(plan);
  }

  // The first of the legal candidates, which come first and cheapest first, that is taken; of those that cost less than so much, and only
  // some of them are tried, if there is a bound. `mostTooLong` plans in a row that have too many steps end the search.
  Result<PlanChoice> first(PlanChoice choice, double mostCycles, int mostTooLong) {
    std::vector<Candidate>& considered = choice.considered;
    auto fastest = considered.end(), smallest = considered.end();
    std::int64_t bytesOfFastest = 0;
    const auto legal = [&](auto candidate) {
      return candidate != considered.end() && candidate->refusedBy.empty() && candidate->cost.totalCycles < mostCycles;
    };
    std::vector<std::vector<Candidate>::iterator> untried;
    const bool bounded = mostCycles < kAnyCycles;
    for (auto candidate = considered.begin(); legal(candidate) && !(bounded && tried_ >= kMostLongTrials);
         ++candidate) {
      if (tooLongInARow_ >= mostTooLong) return *tooLong_;
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
      if (!said_ && reorderedBytes(problem_, candidate->plan) > limit_) untried.push_back(candidate);
      candidate->refusedBy = {*why};
    }
    if (bounded) return Error{ErrorCode::kNoFeasiblePlan, Stage::kPlan, "no plan that costs less"};
    // Where every plan makes copies beyond the limit, that which copies least is taken.
    if (!said_ && smallest == considered.end()) {
      std::stable_sort(untried.begin(), untried.end(), [&](auto x, auto y) {
        return reorderedBytes(problem_, x->plan) < reorderedBytes(problem_, y->plan);
      });
      for (auto candidate = untried.begin(); candidate != untried.end() && smallest == considered.end(); ++candidate) {
        const auto why = tried((*candidate)->plan);
        if (!why.ok()) return why.error();
        if (bytes_ >= 0) smallest = *candidate;
      }
    }
    if (!said_ && smallest != considered.end()) {
      take(choice, smallest);
      return choice;
    }
    if (said_ && least_ < kNone)
      return overLimit(std::string("of all plans of ") + toString(pass_) + " the one that takes least" +
                           (kept_ > 0 ? ", with " + std::to_string(kept_) + " bytes that passes share," : ""),
                       kept_ + least_, options_);
    return tooLong_ ? *tooLong_ : Error{ErrorCode::kNoFeasiblePlan, Stage::kPlan, "no legal plan"};
  }

  static constexpr double kAnyCycles = std::numeric_limits<double>::infinity();
  static constexpr int kAnyTooLong = std::numeric_limits<int>::max();

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

  // refuses(), decided by lowering.
  Result<std::optional<std::string>> tried(const TilingPlan& plan) {
    ++tried_;
    const auto program = lower(problem_, plan, machine_);
    if (!program.ok()) {
      if (program.error().code != ErrorCode::kLimitExceeded || isOutOfMemory(program.error())) return program.error();
      work_ += FewerSteps::most();
      tooLong_ = program.error();
      ++tooLongInARow_;
      return std::optional<std::string>(program.error().message);
    }
    tooLongInARow_ = 0;
    work_ += workOf(*program);
    bytes_ = workspaceOf(*program).bytes.on(threadsOf(options_));
    least_ = std::min(least_, bytes_);
    return bytes_ <= limit_ ? std::optional<std::string>() : std::optional<std::string>(overText());
  }

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
  std::int64_t work_ = 0;    ///< of all that was tried
  std::int64_t bytes_ = -1;  ///< of the plan that was tried last; -1: not known
  std::int64_t least_ = kNone;
  std::optional<Error> tooLong_;
  int tooLongInARow_ = 0;
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
  if (machine.isEmulated() || (options.memLimit <= 0 && tensorBytes(problem, pass) < kTriedFrom)) return choice;
  const bool said = options.memLimit > 0;
  {
    const FewerSteps usual(said ? kMostSteps : kUsualSteps);
    CUBEJIT_TRY(why, Trials(problem, pass, machine, options, kept).refuses(choice.plan));
    if (!why) return choice;
  }
  if (!explain) {
    CUBEJIT_TRY(all, choosePlan(problem, pass, machine, true, weights, options.algorithm));
    choice = std::move(all);
  }
  const auto first = [&](std::int64_t mostSteps, double mostCycles, int mostTooLong = Trials::kAnyTooLong) {
    const FewerSteps limit(mostSteps);
    return Trials(problem, pass, machine, options, kept).first(choice, mostCycles, mostTooLong);
  };
  if (said) return first(kMostSteps, Trials::kAnyCycles);
  auto few = first(kUsualSteps, Trials::kAnyCycles, kMostTooLong);
  if (!few.ok()) return isOutOfMemory(few.error()) ? few : first(kMostSteps, Trials::kAnyCycles);
  if (few->cost.totalCycles <= kHardlyMore * choice.cost.totalCycles) return few;
  auto longer = first(kMostSteps, few->cost.totalCycles);
  return longer.ok() || isOutOfMemory(longer.error()) ? longer : few;
}

}  // namespace cubejit
