// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what `verify` verifies: one problem, a suite, or N random problems; failures are shrunk and come with a repro line.
#include <fmt/core.h>

#include <functional>
#include <memory>
#include <optional>

#include "commands.h"
#include "crash_note.h"
#include "failure.h"
#include "json_line.h"
#include "progress.h"
#include "request.h"
#include "runtime/text/json_problem.h"
#include "runtime/text/json_value.h"
#include "runtime/verify/agree.h"
#include "runtime/verify/random_problem.h"
#include "runtime/verify/reference_conv.h"
#include "runtime/verify/verify_problem.h"
#include "tiling/check_problem.h"

namespace cubejit::cli {
namespace {

using Verdict = VerifyOutcome::Verdict;

struct Fuzz {
  std::int64_t count = 0;
  std::uint64_t seed = 1;
  std::optional<double> maxMultiplyAdds;  ///< not given: of problems that nobody spelled out, 2e9
  bool reals = false;
  std::string agree;  ///< backends, separated by commas
  bool keepWeights = false;
  std::int64_t mostElements = VerifyRequest::kMostElements;
};

const char* word(Verdict v) { return v == Verdict::kPassed ? "passed" : v == Verdict::kFailed ? "failed" : "skipped"; }

Result<Request> requestFor(RequestFlags flags, const Fuzz& fuzz) {
  if (fuzz.count <= 0) return resolve(flags);
  const bool layoutGiven = !flags.layout.empty();
  const bool anyDtype = flags.dtype == "any", anyLayout = flags.layout == "any", anyPostOps = flags.postOps == "any";
  const RequestFlags given = flags;
  if (anyDtype) flags.dtype = "f32";
  if (anyLayout) flags.layout.clear();
  if (anyPostOps) flags.postOps.clear();
  flags.prb = "ic1iw1oc1kw1";  // stands for the random problems
  auto request = resolve(flags);
  if (!request.ok()) return request;
  request->problems.clear();
  request->isSuite = true;
  std::mt19937_64 random(fuzz.seed);
  for (std::int64_t i = 0; i < fuzz.count; ++i) {
    Problem p = randomProblem(random);
    if (given.math == toString(MathMode::kRelaxed)) fitRelaxedMath(random, p);
    // What is given first: random layouts of tensors keep their type.
    const Status applied = applyFormats(p, anyDtype ? "" : given.dtype, layoutGiven && !anyLayout ? given.layout : "");
    if (!applied.ok()) return applied.error();
    if (anyDtype || anyLayout) randomFormats(random, p, anyDtype, anyLayout);
    if (anyPostOps) randomPostOps(random, p);
    p.name = fmt::format("fuzz{}", i);
    request->problems.push_back(p);
  }
  return request;
}

// Sessions of the backend that --backend names and of those that --agree names; none without --agree.
Result<std::vector<std::unique_ptr<Session>>> agreeingSessions(const Options& options, const std::string& names) {
  std::vector<BackendKind> backends{options.backend};
  for (std::size_t begin = 0; !names.empty() && begin <= names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    CUBEJIT_TRY(backend, parseBackend(names.substr(begin, end - begin)));
    backends.push_back(backend);
    begin = end + 1;
  }
  if (names.empty()) return std::vector<std::unique_ptr<Session>>();
  return sessionsFor(options, backends);
}

// With the data of that problem: its own seed.
std::string reproductionOf(const RequestFlags& flags, const Fuzz& fuzz, std::uint64_t seed, const Problem& p) {
  return reproduction("verify", flags, p) + (seed != 1 ? fmt::format(" --seed {}", seed) : "") +
         (fuzz.reals ? " --reals" : "") + (fuzz.keepWeights ? " --keep-weights" : "") +
         (fuzz.maxMultiplyAdds ? fmt::format(" --max-macs {}", *fuzz.maxMultiplyAdds) : "") +
         (fuzz.mostElements != VerifyRequest::kMostElements ? fmt::format(" --max-elements {}", fuzz.mostElements)
                                                            : "") +
         (fuzz.agree.empty() ? "" : " --agree " + fuzz.agree);
}

int verify(const RequestFlags& flags, const Fuzz& fuzz, const std::string& typed) {
  auto request = requestFor(flags, fuzz);
  if (!request.ok()) return report(request.error(), typed);
  const auto agreeing = agreeingSessions(request->options, fuzz.agree);
  if (!agreeing.ok()) return report(agreeing.error(), typed);
  request->options.wakeCycles = 0;  // small problems, too, run on all threads
  Session session(request->options);
  const std::function<VerifyOutcome(const VerifyRequest&)> verifyOne = [&](const VerifyRequest& one) {
    return verifyProblem(session, one);
  };
  Progress progress("verify", static_cast<std::int64_t>(request->problems.size()));
  std::int64_t counts[3] = {};
  CrashNote crash;
  for (std::size_t i = 0; i < request->problems.size(); ++i) {
    const Problem& p = request->problems[i];
    progress.update(static_cast<std::int64_t>(i), p.name);
    const std::string repro = reproductionOf(flags, fuzz, fuzz.seed + i, p);
    crash.set(repro);
    VerifyRequest one{p,
                      request->passes,
                      request->threads,
                      fuzz.seed + i,
                      fuzz.reals,
                      request->plans,
                      fuzz.maxMultiplyAdds.value_or(request->isSuite ? 2e9 : 0.0),
                      fuzz.keepWeights ? WeightsUse::kKept : WeightsUse::kEachRun,
                      fuzz.mostElements};
    const Status legal = checkProblem(p);
    VerifyOutcome outcome;
    if (!legal.ok())
      outcome = {Verdict::kFailed, legal.error().message, 0, 0, 0, legal.error().code};
    else
      outcome = agreeing->empty() ? verifyOne(one) : agreeBitByBit(*agreeing, one);
    ++counts[static_cast<int>(outcome.verdict)];
    if (flags.json) {
      progress.clear();
      fmt::print("{}", jsonLine(Json{{"schema", "cubejit.verify/1"},
                                     {"name", p.name},
                                     {"verdict", word(outcome.verdict)},
                                     {"message", outcome.message},
                                     {"elements", outcome.elements},
                                     {"compared", outcome.compared},
                                     {"relative_error", outcome.relativeError},
                                     {"repro", repro}}));
      std::fflush(stdout);
    }
    if (outcome.verdict == Verdict::kPassed) continue;
    progress.clear();
    if (outcome.verdict == Verdict::kSkipped) {
      fmt::print(stderr, "skipped {}: {}\n", p.name, outcome.message);
      continue;
    }
    if (outcome.refused) {  // nothing was checked
      const std::string named = request->isSuite && !p.name.empty() ? p.name + ": " : "";
      const int code = report(Error{*outcome.refused, Stage::kPlan, named + outcome.message}, repro);
      if (!request->isSuite) return code;
      continue;
    }
    fmt::print(stderr, "FAILED {}: {}\n  = repro: {}\n", p.name, outcome.message, repro);
    if (agreeing->empty())
      fmt::print(stderr, "  = shrunk: {}\n", reproductionOf(flags, fuzz, fuzz.seed + i, shrinkFailure(verifyOne, one)));
  }
  progress.clear();
  fmt::print(flags.json ? stderr : stdout, "{} passed, {} failed, {} skipped\n", counts[0], counts[1], counts[2]);
  if (counts[0] > 0 || counts[1] > 0) return counts[1] > 0 ? 1 : 0;
  return reportNothingChecked(
      "every problem was skipped: nothing was verified",
      "the lines above say why; --max-elements, --algorithm, --soc and --isa decide what can be", typed);
}

}  // namespace

void addVerify(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "verify", "Compare generated passes with the fp64 reference, on exact integer data and guarded memory");
  example(*command, "verify --fuzz 20 --seed 1");
  auto flags = std::make_shared<RequestFlags>();
  flags->manyThreads = true;
  auto fuzz = std::make_shared<Fuzz>();
  addProblemFlags(*command, *flags, true);
  addRunFlags(*command, *flags);
  addSocFlag(*command, *flags);
  addEmulationFlags(*command, *flags);
  addSanitizeFlag(*command, *flags);
  command->get_option("--layout")
      ->description(
          "As elsewhere (default: ndhwc; --fuzz: ncdhw and ndhwc in turns; any: every tensor one of its own)");
  command->get_option("--dtype")->description("As elsewhere; --fuzz takes any as well: every tensor one of its own");
  command->add_option("--fuzz", fuzz->count, "Verify this many random problems")
      ->transform(wholeFrom<std::int64_t>(1, 1000000000));
  command->add_option("--seed", fuzz->seed, "Seed of problems and data")->transform(wholeFrom<std::uint64_t>(0));
  command
      ->add_option("--max-macs", fuzz->maxMultiplyAdds,
                   "Above this many multiply-adds compare a sample of the results (the reference is slow; default: 2e9 "
                   "of suites and random problems, otherwise every result is compared)")
      ->check(numberFrom(0, 1e300));
  command
      ->add_option("--max-elements", fuzz->mostElements,
                   "Above this many elements of all tensors together a problem is skipped (memory)")
      ->transform(wholeFrom<std::int64_t>(0));
  command->add_flag("--reals", fuzz->reals, "Random reals with an error bound instead of integers with equality");
  command->add_flag("--keep-weights", fuzz->keepWeights, "Pack the weights once, before the runs that are compared");
  command->add_option("--agree", fuzz->agree,
                      "Backends that must give the same bits as --backend, on random reals, instead of the reference");
  command->callback([&action, flags, fuzz] {
    action = [flags, fuzz](const std::string& typed) { return verify(*flags, *fuzz, typed); };
  });
}

}  // namespace cubejit::cli
