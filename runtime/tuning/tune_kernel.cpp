// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that neighbours of the best choice are tried first, and a random one now and then.
#include "runtime/tuning/tune_kernel.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "cubejit/cubejit.hpp"
#include "runtime/host/fork.h"
#include "runtime/host/threads.h"
#include "runtime/text/json_object.h"
#include "runtime/tuning/digest.h"
#include "runtime/tuning/fingerprint.h"
#include "runtime/tuning/kernel_lab.h"
#include "runtime/tuning/store.h"

namespace cubejit {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kConfirmShare = 0.25;  // of the time allowed, kept for the last races
constexpr int kMostFailures = 3;        // in a row: nothing can be run any more
constexpr int kRandomEvery = 4;         // of tries

// Types, extents and strides of what callers pass.
std::string interfaceOf(const lang::Source& kernel) {
  std::string text;
  for (const lang::Tensor& t : kernel.tensors) {
    if (t.use != Buffer::Use::kInput && t.use != Buffer::Use::kOutput) continue;
    text += t.name + toString(t.element);
    for (const auto& d : t.dimensions) text += " " + std::to_string(d.extent) + "/" + std::to_string(d.stride);
  }
  return text;
}

// A list of values of which one is chosen.
struct Choice {
  std::string name;
  std::vector<std::string> values;
};

// Values, by the number of each Choice's.
using Pick = std::vector<std::size_t>;

class Space {
 public:
  static Result<Space> of(const std::string& text, const lang::Settings& fixed) {
    CUBEJIT_TRY(kernel, lang::parse(text, fixed));
    Space space;
    space.name = kernel.name;
    space.fixed_ = fixed;
    for (const lang::Parameter& p : kernel.parameters) {
      if (p.values.size() < 2 || fixed.count(p.name) != 0) continue;
      Choice choice{p.name, {}};
      bool inner = true;
      for (const std::int64_t v : p.values) {
        choice.values.push_back(p.textOf(v));
        lang::Settings other = fixed;
        other[p.name] = choice.values.back();
        const auto changed = lang::parse(text, other);
        inner = inner && (!changed.ok() || interfaceOf(*changed) == interfaceOf(kernel));
      }
      if (inner) space.choices.push_back(std::move(choice));
    }
    return space;
  }

  lang::Settings settingsOf(const Pick& pick) const {
    lang::Settings settings = fixed_;
    for (std::size_t c = 0; c < choices.size(); ++c) settings[choices[c].name] = choices[c].values[pick[c]];
    return settings;
  }
  std::string textOf(const Pick& pick) const {
    std::string text;
    for (std::size_t c = 0; c < choices.size(); ++c)
      text += (c == 0 ? "" : ",") + choices[c].name + "=" + choices[c].values[pick[c]];
    return text;
  }
  // Nothing for what another text, with other lists, has written.
  std::optional<Pick> pickOf(const std::string& text) const {
    Pick pick;
    std::size_t begin = 0;
    for (const Choice& choice : choices) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      if (end < begin) return std::nullopt;
      const std::string part = text.substr(begin, end - begin);
      const auto value = std::find_if(choice.values.begin(), choice.values.end(),
                                      [&](const std::string& v) { return choice.name + "=" + v == part; });
      if (value == choice.values.end()) return std::nullopt;
      pick.push_back(static_cast<std::size_t>(value - choice.values.begin()));
      begin = end + 1;
    }
    return textOf(pick) == text ? std::optional<Pick>(pick) : std::nullopt;
  }
  double size() const {
    double all = 1;
    for (const Choice& choice : choices) all *= static_cast<double>(choice.values.size());
    return all;
  }

  std::string name;
  std::vector<Choice> choices;

 private:
  lang::Settings fixed_;
};

KernelKey keyOf(const std::string& name, const std::string& text, const lang::Settings& fixed, const Machine& machine,
                const Options& options) {
  Digest digest;
  digest.add(text.data(), text.size());
  const Json identity{{"kernel", name}, {"text", digest.text()}, {"set", fixed}};
  return {identity.dump(), machineFingerprint(machine), toString(options.backend), threadsOf(options)};
}

std::string newRun() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(now).count()) + "-" +
         std::to_string(getpid());
}

class KernelSearch {
 public:
  KernelSearch(const KernelTuneSetup& setup, Space space, const Machine& machine, const Options& options)
      : setup_(setup),
        space_(std::move(space)),
        options_(options),
        lab_(setup.text, machine, options),
        contest_(lab_, setup.rules, setup.stop),
        random_(setup.seed),
        run_(newRun()),
        key_(keyOf(space_.name, setup.text, setup.fixed, machine, options)) {}

  Result<KernelTuneOutcome> run() {
    out_.choices = space_.size();
    bestPick_.assign(space_.choices.size(), 0);
    CUBEJIT_RETURN_IF_ERROR(begin());
    learnKnown();
    int failures = 0;
    while (!over()) {
      const std::optional<Pick> pick = next();
      out_.exhausted = !pick;
      if (!pick) break;
      const KernelRecord record = tryOne(*pick);
      failures = record.status == TrialStatus::kFailed ? failures + 1 : 0;
      if (failures == kMostFailures)
        return Error{ErrorCode::kLimitExceeded, Stage::kRun, "kernels can no longer be tried: " + record.message};
    }
    finish();
    return out_;
  }

 private:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool over() {
    out_.interrupted = contest_.stopped();
    return out_.interrupted || (setup_.mostTrials > 0 && out_.tried >= setup_.mostTrials) ||
           (setup_.mostSeconds > 0 && seconds() >= setup_.mostSeconds * (1 - kConfirmShare));
  }

  KernelRecord blank(const Pick& pick) const {
    KernelRecord record;
    record.key = key_;
    record.name = space_.name;
    record.settings = space_.textOf(pick);
    record.version = version();
    record.run = run_;
    record.unixTime = static_cast<std::int64_t>(std::time(nullptr));
    return record;
  }

  void keep(const KernelRecord& record) {
    contest_.know(record);
    if (setup_.tried) setup_.tried(record);
    if (store_ == nullptr) return;
    if (const Status kept = store_->addKernel(record); !kept.ok()) {
      out_.notes.push_back(kept.error().message + "; this run goes on, and is not kept");
      store_.reset();
    }
  }

  Status begin() {
    if (!options_.store.empty()) {
      auto store =
          TuningStore::open(options_.store, StoreAccess::kReadWrite, &out_.notes, false, options_.storeWaitSeconds);
      if (store.ok())
        store_ = std::move(*store);
      else
        out_.notes.push_back(store.error().message + "; this run is not kept");
    }
    out_.untuned = blank(bestPick_);
    LabReply reply = lab_.load(kUntuned, space_.settingsOf(bestPick_));
    out_.untuned.code = reply.code;
    if (reply.ok()) reply = lab_.verify(kUntuned);
    if (reply.ok()) {
      const LabReply times = lab_.sample({kUntuned}, setup_.rules.firstPairs + 2);
      if (times.ok()) out_.untuned.samplesNs = times.samplesNs.front();
      reply = times;
    }
    if (!reply.ok())
      return Error{
          reply.status == TrialStatus::kWrong ? ErrorCode::kInternal : ErrorCode::kLimitExceeded, Stage::kRun,
          space_.name + " with " + out_.untuned.settings + " is " + toString(reply.status) + ": " + reply.message};
    out_.untuned.untuned = out_.untuned.won = out_.untuned.verified = true;
    out_.untuned.relative = 1;
    out_.best = out_.untuned;
    contest_.expect(medianNs(out_.untuned.samplesNs));
    seen_.insert(bestPick_);
    keep(out_.untuned);
    return Unit{};
  }

  // What earlier runs measured is not measured again. Their winner is the one to beat, if it still runs and is right.
  void learnKnown() {
    if (store_ == nullptr) return;
    const auto known = store_->kernelsOf(key_, version());
    if (!known.ok()) return;
    for (const KernelRecord& record : *known) {
      const std::optional<Pick> pick = space_.pickOf(record.settings);
      const bool decided = record.status != TrialStatus::kFailed && record.run != run_;
      if (!pick || !decided || !seen_.insert(*pick).second) continue;
      ++out_.known;
      if (!record.won || record.untuned || record.relative >= out_.best.relative) continue;
      const int number = nextNumber_++;
      if (lab_.load(number, space_.settingsOf(*pick)).ok() && lab_.verify(number).ok())
        lead(number, *pick, record);
      else
        lab_.drop(number);
    }
  }

  void lead(int number, const Pick& pick, const KernelRecord& record) {
    if (bestNumber_ != kUntuned) lab_.drop(bestNumber_);
    bestNumber_ = number;
    bestPick_ = pick;
    out_.best = record;
    contest_.expect(medianNs(record.samplesNs));
  }

  // One that is not seen and that the text's `require` lines accept.
  std::optional<Pick> next() {
    for (bool nearer = ++turn_ % kRandomEvery != 0;; nearer = false) {
      for (;;) {
        const std::optional<Pick> pick = nearer ? neighbour() : anyOther();
        if (!pick) break;
        seen_.insert(*pick);
        if (lang::parse(setup_.text, space_.settingsOf(*pick)).ok()) return pick;
      }
      if (!nearer) return std::nullopt;
    }
  }
  // The best with another value of one parameter.
  std::optional<Pick> neighbour() {
    std::vector<Pick> all;
    for (std::size_t c = 0; c < space_.choices.size(); ++c) {
      for (std::size_t v = 0; v < space_.choices[c].values.size(); ++v) {
        Pick pick = bestPick_;
        pick[c] = v;
        if (seen_.count(pick) == 0) all.push_back(std::move(pick));
      }
    }
    if (all.empty()) return std::nullopt;
    return all[random_() % all.size()];
  }
  std::optional<Pick> anyOther() {
    if (static_cast<double>(seen_.size()) >= space_.size()) return std::nullopt;
    Pick pick;
    for (const Choice& choice : space_.choices) pick.push_back(random_() % choice.values.size());
    while (seen_.count(pick) != 0) {  // the one behind it
      for (std::size_t c = 0; c < pick.size() && (pick[c] = (pick[c] + 1) % space_.choices[c].values.size()) == 0;) ++c;
    }
    return pick;
  }

  KernelRecord tryOne(const Pick& pick) {
    const int number = nextNumber_++;
    KernelRecord record = blank(pick);
    contest_.attempt(record, lab_.load(number, space_.settingsOf(pick)), bestNumber_, out_.best.relative, number);
    ++out_.tried;
    if (record.verified)
      lead(number, pick, record);
    else
      lab_.drop(number);
    keep(record);
    return record;
  }

  void finish() {
    if (bestNumber_ != kUntuned && !out_.interrupted) {
      const auto confirmed = contest_.confirm(bestNumber_);
      out_.confirmed = confirmed.has_value();
      out_.best.won = out_.confirmed;
      out_.best.unixTime = static_cast<std::int64_t>(std::time(nullptr));
      if (confirmed) {
        out_.best.relative = confirmed->relative;
        out_.best.samplesNs = confirmed->samplesNs;
      } else {
        out_.best.message = "not faster than the untuned choice when measured again";
      }
      keep(out_.best);
    }
    if (!out_.best.won) {
      out_.best = out_.untuned;
      bestPick_.assign(space_.choices.size(), 0);
    }
    out_.settings = space_.settingsOf(bestPick_);
    out_.seconds = seconds();
  }

  const KernelTuneSetup& setup_;
  const Space space_;
  const Options& options_;
  KernelLab lab_;
  Contest contest_;
  std::mt19937_64 random_;
  const std::string run_;
  const KernelKey key_;
  const Clock::time_point start_ = Clock::now();
  std::unique_ptr<TuningStore> store_;
  KernelTuneOutcome out_;
  Pick bestPick_;
  std::set<Pick> seen_;
  int bestNumber_ = kUntuned, nextNumber_ = 1, turn_ = 0;
};

}  // namespace

Result<KernelTuneOutcome> tuneKernel(const KernelTuneSetup& setup, const Machine& machine, const Options& options) {
  CUBEJIT_TRY(space, Space::of(setup.text, setup.fixed));
  if (space.choices.empty())
    return invalidInput(space.name +
                            " has no parameter to vary: one with values behind 'in' that is not set, and on which no "
                            "input or output depends",
                        Stage::kPlan);
  return KernelSearch(setup, std::move(space), machine, options).run();
}

std::string lineOf(const KernelRecord& record) {
  std::string line = record.settings + ": ";
  if (record.status != TrialStatus::kMeasured) line += toString(record.status);
  if (record.relative > 0) {
    std::array<char, 64> share{};
    std::snprintf(share.data(), share.size(), "%s%.3f of the untuned time%s",
                  record.status == TrialStatus::kMeasured ? "" : ", ", record.relative,
                  record.untuned ? ", which this is"
                  : record.won   ? ", confirmed"
                                 : "");
    line += share.data();
  }
  return record.message.empty() ? line : line + "; " + record.message;
}

lang::Settings withTunedSettings(const std::string& text, const lang::Settings& fixed, const Machine& machine,
                                 const Options& options) {
  if (options.tune == TuneMode::kOff || machine.isEmulated()) return fixed;
  const auto space = Space::of(text, fixed);
  if (!space.ok() || space->choices.empty()) return fixed;
  const KernelKey key = keyOf(space->name, text, fixed, machine, options);
  for (const std::string& path : {options.store, options.systemStore}) {
    if (path.empty() || access(path.c_str(), F_OK) != 0) continue;
    const NoFork whole;  // a child that inherits the store open may not use any
    const auto store = TuningStore::open(path, StoreAccess::kRead, nullptr, false, options.storeWaitSeconds);
    if (!store.ok()) continue;
    const auto known = (*store)->kernelsOf(key, version());
    if (!known.ok()) continue;
    for (const KernelRecord& record : *known) {
      const std::optional<Pick> pick = record.won && record.verified ? space->pickOf(record.settings) : std::nullopt;
      if (pick && lang::parse(text, space->settingsOf(*pick)).ok()) return space->settingsOf(*pick);
    }
  }
  return fixed;
}

}  // namespace cubejit
