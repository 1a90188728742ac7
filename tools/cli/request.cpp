// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides names, help texts and meanings of the shared flags.
#include "request.h"
#include "cubejit/machines.h"

#include <sstream>

#include "algorithms/algorithm.h"
#include "failure.h"
#include "runtime/host/threads.h"
#include "runtime/loader/backends.h"
#include "runtime/text/json_machine.h"
#include "runtime/text/json_object.h"
#include "runtime/text/json_problem.h"
#include "runtime/text/json_value.h"
#include "runtime/text/text_file.h"
#include "tiling/check_problem.h"

namespace cubejit::cli {
namespace {

Result<std::vector<int>> parseThreads(const std::string& text) {
  if (text.empty()) return std::vector<int>{0};
  std::vector<int> out;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto value = parseThreadCount(text.substr(begin, end - begin));
    if (!value.ok()) return invalidInput("--threads: " + value.error().message);
    out.push_back(*value);
    begin = end + 1;
  }
  return out;
}

// The plan of a line: the line itself, or what `plan --json` or `tiling --import --json` told of it.
std::string planIn(const std::string& line) {
  const auto json = parseJson(line);
  return json.is_object() && json.contains("plan") && json["plan"].is_object() ? json["plan"].dump() : line;
}

// Everything wrong with the file is said at once.
Result<std::vector<TilingPlan>> readPlans(const std::string& path) {
  CUBEJIT_TRY(file, TextLines::open(path, "plans as JSON objects, one a line", Stage::kPlan));
  std::vector<TilingPlan> plans;
  constexpr int kMostWrong = 20;
  int wrong = 0;
  std::string broken;
  ErrorCode code = ErrorCode::kInvalidProblem;
  for (std::string line;;) {
    CUBEJIT_TRY(more, file.next(line));
    if (!more) break;
    const auto plan = planFromJson(planIn(line));
    if (plan.ok()) {
      plans.push_back(*plan);
      continue;
    }
    broken += (broken.empty() ? "" : "\n") + file.place() + ": " + plan.error().message;
    if (plan.error().code != ErrorCode::kInvalidProblem) code = plan.error().code;
    if (++wrong < kMostWrong) continue;
    broken += "\nwhat follows was not read";
    break;
  }
  if (!broken.empty()) return Error{code, Stage::kPlan, broken};
  return plans;
}

std::string namesOf(PassMask mask) {
  std::string names;
  for (const Pass pass : passesOf(mask)) names += (names.empty() ? "" : ", ") + std::string(toString(pass));
  return names.empty() ? "no pass" : names;
}

// Whoever gives plans means to compute with them: the planner must not step in unnoticed. Beside others db may be left out: it is a sum with
// little to decide, of which a chip has no plan.
Status eachIsGiven(PassMask asked, const std::vector<TilingPlan>& plans, const std::string& path) {
  PassMask given, needed = asked, missing;
  if (asked.y || asked.dx || asked.dw) needed.db = false;
  for (const TilingPlan& plan : plans) given.add(plan.pass);
  for (const Pass pass : passesOf(needed)) {
    if (!given.has(pass)) missing.add(pass);
  }
  if (!missing.any()) return Unit{};
  return invalidInput("--plan " + printable(path) + " has plans of " + namesOf(given) + ", and " + namesOf(asked) +
                      " are asked for; add plans of " + namesOf(missing) + ", or leave --plan out");
}

}  // namespace

CLI::Validator numberFrom(double least, double most) {
  const std::function<std::string(std::string&)> wrong = [least, most](std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool right = end == text.c_str() + text.size() && value >= least && value <= most;
    std::ostringstream out;
    out.exceptions(std::ios::badbit);  // where memory ends
    out << text << " must be a number from " << least << " to " << most;
    if (*end == ',') out << ", with a point where it has a fraction";
    return right ? std::string() : out.str();
  };
  return {wrong, "", ""};
}

void addProblemFlags(CLI::App& app, RequestFlags& f, bool suite) {
  app.add_option("--input", f.problem.input,
                 "Sizes of x as N,C,spatial (1 to 3 axes) whatever --layout is, e.g. 1,64,16,16,16")
      ->group("Problem");
  app.add_option("--weight", f.problem.weight, "Sizes of w as O,I/groups,spatial (transposed: I,O/groups,spatial)")
      ->group("Problem");
  app.add_option("--stride", f.problem.stride, "One value or one per axis")->group("Problem");
  app.add_option("--padding", f.problem.padding, "One value, one per axis, or before and after per axis")
      ->group("Problem");
  app.add_option("--dilation", f.problem.dilation, "One value or one per axis; 1 = none")->group("Problem");
  app.add_option("--groups", f.problem.groups, "Channel groups")
      ->group("Problem")
      ->transform(wholeFrom(std::numeric_limits<std::int64_t>::min()));
  app.add_flag("--transposed", f.problem.transposed, "Transposed convolution")->group("Problem");
  app.add_option("--output-padding", f.problem.outputPadding, "Of a transposed convolution: one value or one per axis")
      ->group("Problem");
  app.add_option("--prb", f.prb, "benchdnn descriptor, e.g. mb1ic64id16oc64kd3pd1 (its dilation is d-1)")
      ->group("Problem");
  app.add_option("--problem", f.problemFile, "JSON problem: FILE, FILE:NAME, or - for one line of standard input")
      ->group("Problem");
  if (suite) app.add_option("--suite", f.suite, "File of JSON problems, one a line")->group("Problem");
  app.add_option(
         "--layout", f.layout,
         "Memory order of x, dx, dy (any rank): ncdhw, ndhwc, ndc1hwc0 or, with blocks of 16 channels, ndc1hwc16; of "
         "one tensor: w=fractal_z_3d,... (default: as the problem says, else ndhwc; weights ncdhw)")
      ->group("Problem");
  app.add_option(
         "--math", f.math,
         "strict: sums of the definition's products; relaxed: Winograd is allowed (default: as the problem says)")
      ->group("Problem");
  app.add_option("--post-ops", f.postOps,
                 "Of y, in this order: bias (b), add (z), relu or leaky_relu:SLOPE or clip:LOW:HIGH, e.g. bias,relu "
                 "(default: as the problem says)")
      ->group("Problem");
  app.add_option("--passes,--gradients", f.passes, "Which of y (forward), dx, dw and db");
  app.add_option("--dtype", f.dtype,
                 "Element type: f32, f16, bf16, hf32 or hf32_low; of one tensor: dw=f32,... (default: as the problem "
                 "says, else f32)");
}

void addRunFlags(CLI::App& app, RequestFlags& f) {
  app.add_option(
      "--isa", f.isa,
      "avx2, avx512, avx512_bf16, avx512_amx, avx512_amx_fp16, neon or sve256 (default: the best this CPU has)");
  app.add_option(
      "--backend", f.backend,
      "xbyak, llvm, interpreter or tile_interpreter (default: $CUBEJIT_BACKEND, or the usual one of the ISA)");
  app.add_option("--algorithm", f.algorithm, "For y, dx and dw: " + algorithmNames() + " (default: the fastest)");
  app.add_option("--threads", f.threads,
                 "Threads of runs and cores that plans are for (default: the CPUs this process may use, plans for "
                 "all); verify takes "
                 "a list, and plans for its first");
  app.add_option("--mem-limit", f.memLimit,
                 "Most bytes of workspace of a run, e.g. 64M: slower plans that fit are taken (default: no limit)");
  app.add_flag("--batch-invariant", f.batchInvariant,
               "Plans of y and dx are those of one image, so that its bits do not depend on the batch");
  app.add_option("--plan", f.planFile, "File with plans as JSON, one a line, instead of the planner's choice");
  app.add_option("--pin", f.pins, "File of plans to compute with; plans chosen now are added to it");
  app.add_flag("--json", f.json, "One JSON object a line on standard output");
}

void addStoreWaitFlag(CLI::App& app, std::optional<double>& seconds) {
  app.add_option("--db-wait", seconds,
                 "Seconds to wait for other processes that hold the file of records (default: CUBEJIT_DB_WAIT, or 10)")
      ->check(numberFrom(0, 86400));
}

void addEmulationFlags(CLI::App& app, RequestFlags& flags) {
  app.add_flag("--fast", flags.fast,
               "With --soc: what only copies between L1 and the cube is left out; the same bits and counts");
  app.add_option(
      "--for", flags.goal,
      "With --soc: plans that `tune` found for the chip's modelled cycles, or for the host-time of emulating "
      "it (default: $CUBEJIT_TUNE_FOR, or cycles)");
}

void addSanitizeFlag(CLI::App& app, RequestFlags& flags) {
  app.add_flag(
      "--sanitize", flags.sanitize,
      "With --soc: check the chip's program before it runs for races, memory that nobody wrote, bounds, flags and "
      "lost results; exit code 6 if there are any");
}

void addSocFlag(CLI::App& app, RequestFlags& f) {
  app.add_option("--soc", f.soc,
                 "An NPU by name (`cubejit targets` lists them) or family (910b, 950), or a file with one as JSON");
}

// What is typed goes before what a file of problems says. Both texts have been read once: they are right.
void applyFlags(Problem& p, const RequestFlags& f) {
  const std::string dtypes = f.dtype.empty() ? dtypeText(p) : f.dtype,
                    layouts = f.layout.empty() ? layoutText(p) : f.layout;
  p.dtype = Problem{}.dtype;
  p.layout = Problem{}.layout;
  p.formats = {};
  static_cast<void>(applyFormats(p, dtypes, layouts));
}

Result<Request> resolve(const RequestFlags& f) {
  Request r;
  std::string broken;
  ErrorCode code = ErrorCode::kInvalidProblem;
  const auto note = [&](const Error& e) {
    broken += (broken.empty() ? "" : "\n") + e.message;
    if (e.code != ErrorCode::kInvalidProblem) code = e.code;
  };
  // Gives a field what was parsed.
  const auto take = [&](const auto& parsed, auto& field) {
    if (parsed.ok())
      field = *parsed;
    else
      note(parsed.error());
  };
  const auto mask = parsePasses(f.passes);
  Problem formats;
  const Status formatted = applyFormats(formats, f.dtype, f.layout);
  const auto backend = f.backend.empty() ? Result<BackendKind>(kUsualBackend) : parseBackend(f.backend);
  const auto threads = parseThreads(f.threads);
  const auto math = f.math.empty() ? Result<MathMode>(MathMode::kStrict) : parseMathMode(f.math);
  const auto postOps = parsePostOps(f.postOps);
  const auto algorithm = f.algorithm.empty() ? Result<std::string>(f.algorithm) : parseAlgorithm(f.algorithm);
  const auto memLimit = f.memLimit.empty() ? Result<std::int64_t>(0) : parseBytes(f.memLimit);
  auto environment = optionsFromEnvironment();
  for (const Error* e : {mask.ok() ? nullptr : &mask.error(), formatted.ok() ? nullptr : &formatted.error(),
                         backend.ok() ? nullptr : &backend.error(), threads.ok() ? nullptr : &threads.error(),
                         environment.ok() ? nullptr : &environment.error(), math.ok() ? nullptr : &math.error(),
                         algorithm.ok() ? nullptr : &algorithm.error(), postOps.ok() ? nullptr : &postOps.error()}) {
    if (e != nullptr) note(*e);
  }
  if (!f.memLimit.empty() && !f.soc.empty())
    note(invalidInput(
        "--mem-limit is for this host's plans; those of a chip take what its buffers hold: leave it out with --soc"));
  if (!memLimit.ok()) note(invalidInput("--mem-limit = " + memLimit.error().message));
  if (environment.ok()) r.options = *environment;
  if (!f.soc.empty()) take(readMachine(f.soc), r.options.machine);
  if (f.batchInvariant && !f.soc.empty())
    note(invalidInput("--batch-invariant is for this host's plans; leave it out with --soc"));
  if (f.sanitize && f.soc.empty()) note(invalidInput("--sanitize checks the program of an emulated chip; add --soc"));
  if (f.fast && f.soc.empty()) note(invalidInput("--fast leaves out copies of an emulated chip; add --soc"));
  if (!f.goal.empty()) {
    take(parseTuneGoal(f.goal), r.options.tuneFor);
    if (f.soc.empty())
      note(invalidInput(
          "--for = " + f.goal +
          " says what an emulated chip's plans are tuned for; add --soc, or leave it out: plans of this host "
          "are tuned for time"));
  }
  if (!f.pins.empty()) r.options.pins = f.pins;
  r.options.batchInvariant = f.batchInvariant;
  if (!f.algorithm.empty() && algorithm.ok()) r.options.algorithm = *algorithm;
  if (!f.algorithm.empty() && !f.soc.empty())
    note(invalidInput("--algorithm = " + f.algorithm + " is one of the host's; an NPU's cube has a single one"));
  if (!f.isa.empty()) {
    const auto isa = parseIsa(f.isa);
    if (isa.ok())
      r.options.isa = *isa;
    else
      note(isa.error());
  }
  if (threads.ok() && threads->size() > 1 && !f.manyThreads)
    note(invalidInput("--threads = " + f.threads + " is a list; only verify takes one"));
  const ProblemFlags& typed = f.problem;
  const bool flagsOnly = !typed.stride.empty() || !typed.padding.empty() || !typed.dilation.empty() ||
                         !typed.outputPadding.empty() || typed.transposed || typed.groups != 1;
  if (flagsOnly && typed.input.empty() && typed.weight.empty())
    note(invalidInput(
        "--stride, --padding, --dilation, --groups, --transposed and --output-padding belong to --input and --weight"));
  const int ways = (f.prb.empty() ? 0 : 1) + (f.problemFile.empty() ? 0 : 1) + (f.suite.empty() ? 0 : 1) +
                   (f.problem.input.empty() && f.problem.weight.empty() ? 0 : 1);
  if (ways != 1) {
    note(invalidInput(
        ways == 0
            ? "no problem given; use --input and --weight, --prb, --problem or --suite"
            : "the problem is given in more than one way; use one of --input/--weight, --prb, --problem, --suite"));
    return Error{code, Stage::kProblem, broken};
  }
  const auto keep = [&](const Result<Problem>& problem) {
    if (problem.ok())
      r.problems.push_back(*problem);
    else
      note(problem.error());
  };
  if (!f.prb.empty())
    keep(parsePrb(f.prb));
  else if (!f.problemFile.empty())
    keep(readProblem(f.problemFile));
  else if (!f.suite.empty()) {
    r.isSuite = true;
    auto suite = readSuite(f.suite);
    if (suite.ok())
      r.problems = *suite;
    else
      note(suite.error());
  } else
    keep(parseProblemFlags(f.problem));
  if (!f.planFile.empty()) {
    const auto plans = readPlans(f.planFile);
    take(plans, r.plans);
    if (plans.ok() && mask.ok()) {
      const Status given = eachIsGiven(*mask, *plans, f.planFile);
      if (!given.ok()) note(given.error());
    }
  }
  for (Problem& p : r.problems) {
    applyFlags(p, f);
    if (!f.math.empty() && math.ok()) p.math = *math;
    if (!f.postOps.empty() && postOps.ok()) p.postOps = *postOps;
    if (mask.ok()) p = seenBy(std::move(p), *mask);
    const Status legal = r.isSuite ? Status(Unit{}) : checkProblem(p);
    if (!legal.ok()) note(legal.error());
  }
  if (!broken.empty()) return Error{code, Stage::kProblem, broken};
  r.passes = *mask;
  r.options.elideCopies = f.fast;
  r.options.sanitize = r.options.sanitize || f.sanitize;
  if (!f.backend.empty())
    r.options.backend = *backend;
  else if (r.options.isa && r.options.backend == kUsualBackend)
    r.options.backend = usualBackend(*r.options.isa);
  if (*memLimit > 0) r.options.memLimit = *memLimit;
  r.threads = *threads;
  if (r.threads[0] > 0)
    r.options.threads = r.threads[0];
  else
    r.threads[0] = threadsOf(r.options);
  return r;
}

std::string reproduction(const std::string& command, const RequestFlags& f, const Problem& problem) {
  std::ostringstream out;
  out.exceptions(std::ios::badbit);
  out << "cubejit " << command << " " << toFlags(problem) << " --passes " << f.passes;
  if (!f.isa.empty()) out << " --isa " << f.isa;
  if (!f.backend.empty()) out << " --backend " << f.backend;
  if (!f.algorithm.empty()) out << " --algorithm " << f.algorithm;
  if (!f.threads.empty()) out << " --threads " << f.threads;
  if (f.batchInvariant) out << " --batch-invariant";
  if (!f.memLimit.empty()) out << " --mem-limit " << f.memLimit;
  if (!f.planFile.empty()) out << " --plan " << quoted(f.planFile);
  if (!f.pins.empty()) out << " --pin " << quoted(f.pins);
  if (!f.soc.empty()) out << " --soc " << quoted(f.soc);
  if (f.fast) out << " --fast";
  if (f.sanitize) out << " --sanitize";
  if (!f.goal.empty()) out << " --for " << quoted(f.goal);
  return out.str();
}

std::string labelOf(const Problem& problem) {
  const std::string flags = toFlags(problem);
  const auto word = [&](const std::string& flag) {
    const std::size_t begin = flags.find(flag) + flag.size();
    return flags.substr(begin, flags.find(' ', begin) - begin);
  };
  return word("--input ") + " * " + word("--weight ");
}

std::vector<Pass> passesOf(PassMask mask) {
  std::vector<Pass> out;
  for (const Pass g : kPasses) {
    if (mask.has(g)) out.push_back(g);
  }
  return out;
}

}  // namespace cubejit::cli
