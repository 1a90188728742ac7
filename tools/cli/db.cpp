// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what can be done with a store of tuning records: look, exchange, merge, compare, clean, check.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <system_error>

#include "commands.h"
#include "cubejit/cubejit.hpp"
#include "cubejit/machines.h"
#include "cubejit/words.h"
#include "failure.h"
#include "json_line.h"
#include "request.h"
#include "runtime/text/json_problem.h"
#include "runtime/text/json_value.h"
#include "runtime/tuning/fingerprint.h"
#include "runtime/tuning/json_record.h"
#include "runtime/tuning/record_keeper.h"
#include "runtime/tuning/store.h"
#include "tiling/check_problem.h"
#include "tiling/known_machines.h"
#include "tiling/planner.h"

namespace cubejit::cli {
namespace {

struct DbFlags {
  std::string db, name, pass, machine, file, before;
  std::optional<double> wait;
  bool json = false, jsonl = false, failures = false, losers = false, oldVersions = false, best = false;
};

Result<std::string> fileOf(const DbFlags& flags) {
  if (!flags.db.empty()) return flags.db;
  CUBEJIT_TRY(options, optionsFromEnvironment());
  if (options.store.empty())
    return Error{ErrorCode::kIo, Stage::kPlan, "HOME is not set; name the store's file with --db"};
  return options.store;
}

Result<double> waitOf(const DbFlags& flags) {
  if (flags.wait) return *flags.wait;
  CUBEJIT_TRY(options, optionsFromEnvironment());
  return options.storeWaitSeconds;
}

Result<std::unique_ptr<TuningStore>> openStore(const std::string& path, StoreAccess access, const DbFlags& flags) {
  CUBEJIT_TRY(wait, waitOf(flags));
  StoreNotes notes;
  auto store = TuningStore::open(path, access, &notes, false, wait);
  for (const std::string& note : notes) fmt::print(stderr, "note: {}\n", printable(note));
  return store;
}

// What several rules are told in, as a terminal may show it.
std::string onOneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ';');
  return printable(text);
}

bool matches(const TuneRecord& r, const DbFlags& flags) {
  return (flags.name.empty() || r.key.problem.name.find(flags.name) != std::string::npos) &&
         (flags.pass.empty() || flags.pass == toString(r.key.pass)) &&
         r.key.machine.find(flags.machine) != std::string::npos;
}

std::string keyText(const TuneRecord& r) {
  return fmt::format("{} {} {} {} {}", problemIdentity(r.key.problem), toString(r.key.pass), r.key.machine,
                     r.key.backend, r.key.threads);
}

constexpr const char* kKernel = "kernel";  // as a pass is called

// "gemm(K=64,M=96)": the kernel, and the parameters that the caller chose.
std::string nameOf(const KernelRecord& r) {
  const Json identity = Json::parse(r.key.identity, nullptr, false);
  std::string set;
  if (identity.is_object() && identity.contains("set") && identity["set"].is_object()) {
    for (const auto& [name, value] : identity["set"].items()) {
      if (value.is_string()) set += (set.empty() ? "" : ",") + name + "=" + value.get<std::string>();
    }
  }
  return r.name + (set.empty() ? "" : "(" + set + ")");
}

// What was tried, of a problem's pass or of a kernel in the kernel language.
struct Tried {
  std::string key, name, pass, machine;
  int threads = 1;
  const Trial* trial = nullptr;
  std::string choice;  // a plan, or parameters' values
};

std::vector<Tried> triedOf(const std::vector<TuneRecord>& records, const std::vector<KernelRecord>& kernels,
                           const DbFlags& flags) {
  std::vector<Tried> all;
  for (const TuneRecord& r : records) {
    if (matches(r, flags))
      all.push_back(
          {keyText(r), r.key.problem.name, toString(r.key.pass), r.key.machine, r.key.threads, &r, planToJson(r.plan)});
  }
  for (const KernelRecord& r : kernels) {
    const std::string name = nameOf(r);
    if (name.find(flags.name) == std::string::npos || (!flags.pass.empty() && flags.pass != kKernel) ||
        r.key.machine.find(flags.machine) == std::string::npos)
      continue;
    const std::string key =
        fmt::format("{} {} {} {} {}", kKernel, r.key.identity, r.key.machine, r.key.backend, r.key.threads);
    all.push_back({key, name, kKernel, r.key.machine, r.key.threads, &r, r.settings});
  }
  return all;
}

// Per key: how much was tried, and the best.
int list(const std::vector<Tried>& all, const DbFlags& flags) {
  struct Line {
    const Tried* any = nullptr;
    const Trial* best = nullptr;
    int trials = 0, bad = 0;
  };
  std::map<std::string, Line> lines;
  for (const Tried& tried : all) {
    const Trial& r = *tried.trial;
    Line& line = lines[tried.key];
    line.any = &tried;
    ++line.trials;
    const bool bad =
        r.status == TrialStatus::kWrong || r.status == TrialStatus::kCrashed || r.status == TrialStatus::kTimedOut;
    line.bad += bad ? 1 : 0;
    if (r.won && r.verified && r.status == TrialStatus::kMeasured &&
        (line.best == nullptr || r.relative < line.best->relative))
      line.best = &r;
  }
  if (!flags.json)
    fmt::print("{:<36} {:<6} {:>4} {:>7} {:>5} {:>10} {:>7}  machine\n", "problem or kernel", "", "thr", "trials",
               "bad", "best ms", "gain");
  for (const auto& [key, line] : lines) {
    const double ms = line.best == nullptr ? 0 : static_cast<double>(medianNs(line.best->samplesNs)) * 1e-6;
    const double gain = line.best == nullptr ? 0 : 1 / line.best->relative;
    const Tried& r = *line.any;
    if (flags.json) {
      fmt::print("{}", jsonLine(Json{{"schema", "cubejit.db/1"},
                                     {"name", r.name},
                                     {"pass", r.pass},
                                     {"threads", r.threads},
                                     {"machine", r.machine},
                                     {"trials", line.trials},
                                     {"bad", line.bad},
                                     {"best_ns", line.best == nullptr ? 0 : medianNs(line.best->samplesNs)},
                                     {"gain", gain}}));
    } else {
      fmt::print("{:<36} {:<6} {:>4} {:>7} {:>5} {:>10.3f} {:>6.2f}x  {}\n", printable(r.name.substr(0, 36)), r.pass,
                 r.threads, line.trials, line.bad, ms, gain, printable(r.machine));
    }
  }
  return 0;
}

int show(const std::vector<TuneRecord>& records, const std::vector<Tried>& all, const DbFlags& flags) {
  if (flags.json) {
    for (const TuneRecord& r : records) {
      if (matches(r, flags)) fmt::print("{}\n", recordToJson(r));
    }
  }
  for (const Tried& tried : all) {
    const Trial& r = *tried.trial;
    if (flags.json && tried.pass != kKernel) continue;  // above, as export writes it
    if (flags.json) {
      fmt::print("{}", jsonLine(Json{{"schema", "cubejit.kernel_record/1"},
                                     {"name", tried.name},
                                     {"settings", tried.choice},
                                     {"threads", tried.threads},
                                     {"machine", tried.machine},
                                     {"status", toString(r.status)},
                                     {"untuned", r.untuned},
                                     {"won", r.won},
                                     {"verified", r.verified},
                                     {"relative", r.relative},
                                     {"samples_ns", r.samplesNs},
                                     {"run", r.run},
                                     {"message", r.message}}));
      continue;
    }
    fmt::print("{} {} {}{}{} relative {:.4f} median {:.3f} ms ({} samples) code {} run {}{}{}\n  {}\n",
               printable(tried.name), tried.pass, toString(r.status),
               r.untuned ? " untuned"
               : r.won   ? " won"
                         : "",
               r.verified ? " verified" : "", r.relative, static_cast<double>(medianNs(r.samplesNs)) * 1e-6,
               r.samplesNs.size(), printable(r.code), printable(r.run), r.message.empty() ? "" : ": ",
               onOneLine(r.message), printable(tried.choice));
  }
  return 0;
}

std::vector<const TuneRecord*> winners(const std::vector<TuneRecord>& records, const DbFlags& flags) {
  std::map<std::string, const TuneRecord*> best;
  for (const TuneRecord& r : records) {
    if (!matches(r, flags) || !r.won || !r.verified || r.status != TrialStatus::kMeasured) continue;
    const TuneRecord*& now = best[keyText(r)];
    if (now == nullptr || r.relative < now->relative) now = &r;
  }
  std::vector<const TuneRecord*> out;
  for (const auto& [key, record] : best) out.push_back(record);
  return out;
}

// Plans of the winners, one a line: what --plan and --pin read.
int best(const std::vector<TuneRecord>& records, const DbFlags& flags) {
  for (const TuneRecord* r : winners(records, flags)) {
    const std::string& machine = r->key.machine;  // the second part of a fingerprint is the ISA level or the chip
    const std::size_t begin = machine.find('/') + 1;
    const std::string isa = machine.substr(begin, machine.find('/', begin) - begin);
    fmt::print("{}\n", flags.json ? recordToJson(*r) : pinToJson({r->key.problem, r->plan, isa}));
  }
  return 0;
}

int exportRecords(const std::vector<TuneRecord>& records, const DbFlags& flags) {
  for (const TuneRecord& r : records) {
    if (matches(r, flags)) fmt::print("{}\n", recordToJson(r));
  }
  return 0;
}

int addFrom(TuningStore& store, const std::vector<TuneRecord>& records, const std::string& from,
            const std::string& typed) {
  const auto before = store.all();
  const Status added = store.addAll(records);
  if (!added.ok()) return report(added.error(), typed);
  const auto after = store.all();
  const std::size_t grown = before.ok() && after.ok() ? after->size() - before->size() : 0;
  fmt::print(stderr, "{}: {} records, {} new\n", printable(from), records.size(), grown);
  return 0;
}

int import(TuningStore& store, const DbFlags& flags, const std::string& typed) {
  const auto lines = readRecords(flags.file);
  if (!lines.ok()) return report(lines.error(), typed);
  const int code = addFrom(store, lines->records, flags.file, typed);
  for (const std::string& line : lines->refused) fmt::print(stderr, "left out {}\n", onOneLine(line));
  return code != 0 ? code : lines->refused.empty() ? 0 : 1;
}

int merge(TuningStore& store, const DbFlags& flags, const std::string& typed) {
  const auto other = openStore(flags.file, StoreAccess::kRead, flags);
  if (!other.ok()) return report(other.error(), typed);
  std::int64_t unreadable = 0;
  const auto records = (*other)->all(&unreadable);
  if (!records.ok()) return report(records.error(), typed);
  if (unreadable > 0) fmt::print(stderr, "left out {} records that do not read\n", unreadable);
  return addFrom(store, *records, flags.file, typed);
}

// Keys whose best differs, and by how much. Exit 1 if any does, as diff(1) has it.
int diff(const std::vector<TuneRecord>& mine, const DbFlags& flags, const std::string& typed) {
  const auto other = openStore(flags.file, StoreAccess::kRead, flags);
  if (!other.ok()) return report(other.error(), typed);
  const auto theirs = (*other)->all();
  if (!theirs.ok()) return report(theirs.error(), typed);
  std::map<std::string, std::pair<const TuneRecord*, const TuneRecord*>> pairs;
  for (const TuneRecord* r : winners(mine, flags)) pairs[keyText(*r)].first = r;
  for (const TuneRecord* r : winners(*theirs, flags)) pairs[keyText(*r)].second = r;
  int differing = 0;
  for (const auto& [key, pair] : pairs) {
    const auto& [a, b] = pair;
    if (a != nullptr && b != nullptr && planIdentity(a->plan) == planIdentity(b->plan)) continue;
    ++differing;
    const TuneRecord& any = a != nullptr ? *a : *b;
    const auto gain = [](const TuneRecord* r) {
      return r == nullptr ? std::string("-") : fmt::format("{:.3f}x", 1 / r->relative);
    };
    if (flags.json)
      fmt::print("{}", jsonLine(Json{{"schema", "cubejit.db_diff/1"},
                                     {"name", any.key.problem.name},
                                     {"pass", toString(any.key.pass)},
                                     {"gain", a == nullptr ? 0 : 1 / a->relative},
                                     {"other_gain", b == nullptr ? 0 : 1 / b->relative}}));
    else
      fmt::print("{:<36} {:<3} {:>8} {:>8}\n", printable(any.key.problem.name.substr(0, 36)), toString(any.key.pass),
                 gain(a), gain(b));
  }
  fmt::print(stderr, "{} of {} keys differ\n", differing, pairs.size());
  return differing > 0 ? 1 : 0;
}

int verifyStore(const TuningStore& store, const std::string& path, const std::string& typed) {
  auto findings = store.integrity();
  if (!findings.ok()) return report(findings.error(), typed);
  std::int64_t unreadable = 0;
  const auto records = store.all(&unreadable);
  if (!records.ok()) return report(records.error(), typed);
  if (unreadable > 0) findings->push_back(fmt::format("{} records do not read", unreadable));
  std::map<std::string, Machine> machines;
  for (const IsaLevel level : runnableIsas()) {
    Machine machine = detectHost(level);
    machines[machineFingerprint(machine)] = machine;
    for (const TuneRecord& r : *records) {  // --threads said how many cores plans are for
      machine.cores = r.key.threads;
      machines[machineFingerprint(machine)] = machine;
    }
  }
  for (const Machine& machine : knownMachines()) machines[machineFingerprint(machine)] = machine;
  std::int64_t foreign = 0, checked = 0;
  for (const TuneRecord& r : *records) {
    const auto machine = machines.find(planningFingerprint(r.key.machine));
    if (machine == machines.end()) {
      ++foreign;
      continue;
    }
    ++checked;
    const auto finding = [&](const std::string& what) {
      findings->push_back(fmt::format("{} {} of run {}: {}", r.key.problem.name, toString(r.key.pass), r.run, what));
    };
    const Status legal = checkProblem(r.key.problem);
    if (!legal.ok()) {
      finding("the problem is not legal: " + legal.error().message);
      continue;
    }
    const bool ran = r.status == TrialStatus::kMeasured;
    if (!ran) continue;
    const auto broken = checkPlan(r.key.problem, r.plan, machine->second);
    if (!broken.empty()) finding("the plan is not legal: " + broken.front());
    if (r.won && !r.verified) finding("a winner was not verified");
    if (r.samplesNs.empty()) finding("it is measured, but has no samples");
  }
  for (const std::string& finding : *findings) fmt::print("{}: {}\n", printable(path), onOneLine(finding));
  fmt::print(stderr, "{} records: {} checked, {} of other machines; {} findings\n", records->size(), checked, foreign,
             findings->size());
  return findings->empty() ? 0 : 1;
}

int prune(TuningStore& store, const DbFlags& flags, const std::string& typed) {
  TuningStore::Prune what;
  if (flags.oldVersions) what.keepVersion = version();
  what.failures = flags.failures;
  what.losers = flags.losers;
  if (!flags.oldVersions && !flags.failures && !flags.losers) {
    return reportUsage("say what to prune: --old-versions, --failures, --losers", typed);
  }
  const auto removed = store.prune(what);
  if (!removed.ok()) return report(removed.error(), typed);
  fmt::print("{} records removed\n", *removed);
  return 0;
}

enum class What : std::uint8_t { kList, kShow, kBest, kExport, kImport, kMerge, kDiff, kPrune, kVerify };

int db(What what, const DbFlags& flags, const std::string& typed) {
  const auto path = fileOf(flags);
  if (!path.ok()) return report(path.error(), typed);
  const bool writes = what == What::kImport || what == What::kMerge || what == What::kPrune;
  std::error_code ignored;
  const bool missing = std::filesystem::symlink_status(*path, ignored).type() == std::filesystem::file_type::not_found;
  if (missing && flags.db.empty() && !writes) {  // a file that was named is wanted
    fmt::print(stderr, "no records yet: there is no {}; `cubejit tune` begins one\n", printable(*path));
    return what == What::kDiff ? diff({}, flags, typed) : 0;
  }
  const auto store = openStore(*path, writes ? StoreAccess::kReadWrite : StoreAccess::kRead, flags);
  if (!store.ok()) return report(store.error(), typed);
  if (what == What::kImport) return import(**store, flags, typed);
  if (what == What::kMerge) return merge(**store, flags, typed);
  if (what == What::kPrune) return prune(**store, flags, typed);
  if (what == What::kVerify) return verifyStore(**store, *path, typed);
  std::int64_t unreadable = 0;
  const auto records = (*store)->all(&unreadable);
  if (!records.ok()) return report(records.error(), typed);
  if (unreadable > 0)
    fmt::print(stderr,
               "note: {} records do not read (of another version of cubejit, or damaged) and are left out; see "
               "`cubejit db verify`\n",
               unreadable);
  const auto kernels = (*store)->allKernels();
  if (!kernels.ok()) return report(kernels.error(), typed);
  const bool shown = what == What::kList || what == What::kShow;
  if (records->empty() && unreadable == 0 && (kernels->empty() || !shown)) {
    fmt::print(stderr, "no records yet: {} holds none; `cubejit tune` adds some\n", printable(*path));
    return what == What::kDiff ? diff(*records, flags, typed) : 0;
  }
  const std::vector<Tried> tried = triedOf(*records, *kernels, flags);
  if (what == What::kShow) return show(*records, tried, flags);
  if (what == What::kBest) return best(*records, flags);
  if (what == What::kExport) return exportRecords(*records, flags);
  if (what == What::kDiff) return diff(*records, flags, typed);
  return list(tried, flags);
}

}  // namespace

void addDb(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("db", "Look at, exchange and clean tuning records");
  example(*command, "db list");
  command->require_subcommand(1);
  auto flags = std::make_shared<DbFlags>();
  const auto add = [&](const char* name, const char* help, What what, const char* more = "") {
    CLI::App* sub = command->add_subcommand(name, help);
    example(*sub, fmt::format("db {}{}", name, more));
    sub->add_option("--db", flags->db, "File of records (default: CUBEJIT_DB, or the user's data folder)");
    addStoreWaitFlag(*sub, flags->wait);
    sub->callback([&action, flags, what] {
      action = [flags, what](const std::string& typed) { return db(what, *flags, typed); };
    });
    return sub;
  };
  const auto filters = [&](CLI::App* sub, bool kernels = false) {
    sub->add_option("--name", flags->name, "Only problems whose name holds this text");
    sub->add_option("--pass,--gradient", flags->pass,
                    kernels ? "Only y, dx, dw or db, or kernel: those of kernels in the kernel language"
                            : "Only y, dx, dw or db")
        ->check([kernels](const std::string& text) {
          const auto pass = parsePass(text);
          return pass.ok() || (kernels && text == kKernel) ? std::string() : pass.error().message;
        });
    sub->add_option(
        "--machine", flags->machine,
        "Only records whose machine, as `db list` shows it, holds this text: emulated/ascend910b2/, /fast/");
    return sub;
  };
  const auto json = [&](CLI::App* sub) { sub->add_flag("--json", flags->json, "One JSON object a line"); };
  json(filters(add("list", "Problems and kernels with the number of trials and the best gain", What::kList), true));
  json(filters(add("show", "Every record", What::kShow, " --pass dx"), true));
  json(filters(add("best", "The winners as pins (--pin), or with --json as records", What::kBest, " --pass dx")));
  filters(add("export", "Every record as a JSON line", What::kExport, " --jsonl"))
      ->add_flag("--jsonl", flags->jsonl, "The form of the export (there is one)");
  add("import", "Add records of JSON lines", What::kImport, " mine.jsonl")
      ->add_option("file", flags->file, "JSON lines")
      ->required();
  add("merge", "Add the records of another store", What::kMerge, " other.db")
      ->add_option("file", flags->file, "Another store")
      ->required();
  CLI::App* differ = filters(
      add("diff", "Compare the winners with those of another store; exit 1 if they differ", What::kDiff, " other.db"));
  differ->add_option("file", flags->file, "Another store")->required();
  json(differ);
  CLI::App* pruner = add("prune", "Remove records", What::kPrune, " --old-versions --failures");
  pruner->add_flag("--old-versions", flags->oldVersions, "Of other versions of cubejit");
  pruner->add_flag("--failures", flags->failures, "Plans that were refused, duplicates, or could not be run");
  pruner->add_flag("--losers", flags->losers, "All that did not win");
  add("verify", "Check the file, and every record as a stranger's; exit 1 with findings", What::kVerify);
}

}  // namespace cubejit::cli
