// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "runtime/tuning/contest.h"

#include <algorithm>

namespace cubejit {
namespace {

constexpr int kBatchPairs = 2, kConfirmPairs = 3;  // taken at once
constexpr double kFirstLook = 1.6;                 // slower than this in the very first pair: out
constexpr int kFreshProcesses = 3;                 // in which the last races are run

}  // namespace

Duel Contest::duel(int incumbent, int challenger, bool confirming) {
  Duel duel;
  int discarded = 0;
  for (int batch = confirming ? kConfirmPairs : 1; duel.verdict == RaceVerdict::kOpen;
       batch = confirming ? kConfirmPairs : kBatchPairs) {
    const LabReply reply = track_.sample({incumbent, challenger}, batch);
    if (!reply.ok()) {
      duel.lost = reply;
      return duel;
    }
    const std::vector<std::int64_t>&mine = reply.samplesNs[0], &theirs = reply.samplesNs[1];
    if (discarded < rules_.mostDiscarded && disturbed(mine, bestNs_, rules_)) {
      ++discarded;
      ++discarded_;
      if (discarded == rules_.mostDiscarded) bestNs_ = 0;  // not a disturbance: the machine is slower now
      continue;
    }
    if (mine.size() > 1) bestNs_ = bestNs_ == 0 ? medianNs(mine) : std::min(bestNs_, medianNs(mine));
    duel.incumbent.insert(duel.incumbent.end(), mine.begin(), mine.end());
    duel.challenger.insert(duel.challenger.end(), theirs.begin(), theirs.end());
    duel.ratio = ratioOf(duel.incumbent, duel.challenger);
    if (confirming)
      duel.verdict = judgeConfirmation(duel.ratio, rules_);
    else if (duel.ratio.pairs == 1 && duel.ratio.median > kFirstLook)
      duel.verdict = RaceVerdict::kNotFaster;
    else
      duel.verdict = judge(duel.ratio, rules_);
    if (duel.verdict == RaceVerdict::kOpen && stopped()) duel.verdict = RaceVerdict::kNotFaster;
  }
  return duel;
}

void Contest::attempt(Trial& trial, const LabReply& loaded, int incumbent, double incumbentRelative, int challenger) {
  trial.status = loaded.status;
  trial.message = loaded.message;
  trial.code = loaded.code;
  if (!loaded.ok()) return;
  if (const auto twin = byCode_.find(trial.code); twin != byCode_.end()) {
    trial.status = TrialStatus::kDuplicate;
    trial.relative = twin->second;
    return;
  }
  const Duel duel = race(incumbent, challenger);
  trial.status = duel.lost.status;
  trial.message = duel.lost.message;
  trial.samplesNs = duel.challenger;
  if (duel.lost.ok()) trial.relative = duel.ratio.median * incumbentRelative;
  if (duel.verdict != RaceVerdict::kFaster) return;
  const LabReply right = track_.verify(challenger);
  trial.status = right.status;
  trial.message = right.message;
  trial.verified = right.ok();
  if (right.ok()) trial.relative = againstUntuned(challenger).value_or(trial.relative);
}

// A chip's model has no code.
void Contest::know(const Trial& trial) {
  if (!trial.code.empty() && trial.relative > 0) byCode_.emplace(trial.code, trial.relative);
}

std::optional<double> Contest::againstUntuned(int number) {
  constexpr int kPairs = 7;
  const LabReply times = track_.sample({kUntuned, number}, kPairs);
  if (!times.ok()) return std::nullopt;
  return ratioOf(times.samplesNs[0], times.samplesNs[1]).median;
}

std::optional<Contest::Confirmed> Contest::confirm(int number) {
  Confirmed all{0, {}};
  for (int fresh = 0; fresh < kFreshProcesses; ++fresh) {
    bestNs_ = 0;
    if (!track_.renew().ok()) return std::nullopt;
    const Duel duel = this->duel(kUntuned, number, true);
    if (!duel.lost.ok() || duel.verdict != RaceVerdict::kFaster) return std::nullopt;
    if (duel.ratio.median > 1 - rules_.margin) return std::nullopt;
    all.relative = std::max(all.relative, duel.ratio.median);
    all.samplesNs.insert(all.samplesNs.end(), duel.challenger.begin(), duel.challenger.end());
  }
  return all;
}

}  // namespace cubejit
