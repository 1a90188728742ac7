// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides retries and the fallback file.
#include "runtime/tuning/record_keeper.h"

#include <utility>

#include "runtime/text/printable.h"

namespace cubejit {

RecordKeeper::RecordKeeper(std::string path, std::function<void(const std::string&)> tell, double waitSeconds)
    : path_(std::move(path)), tell_(std::move(tell)), patience_(waitSeconds) {
  const Status opened = store();
  if (!opened.ok()) waits(opened.error());
}

// Opens the store, if it is not, and adds what waits: first what does so beside it, which is older.
Status RecordKeeper::store() {
  StoreNotes notes;
  if (store_ == nullptr) {
    auto store = TuningStore::open(path_, StoreAccess::kReadWrite, &notes, false, patience_);
    for (const std::string& note : std::exchange(notes, {})) tell_(note);
    if (!store.ok()) return store.error();
    store_ = std::move(*store);
  }
  if (!beside_.empty()) {
    const Status taken = store_->takeIn(&notes);
    for (const std::string& note : notes) tell_(note);
    if (!taken.ok()) return taken;
  }
  return waiting_.empty() ? Status(Unit{}) : store_->addAll(waiting_);
}

void RecordKeeper::waits(const Error& why) {
  patience_ = 0;
  if (store_ != nullptr) store_->waitFor(patience_);
  if (why.message != lastProblem_) tell_(why.message + "; the run goes on, its records wait");
  lastProblem_ = why.message;
  // Beside what is no store of this version nobody would look for them.
  if (waiting_.empty() || why.code == ErrorCode::kUnsupported) return;
  if (const Status added = addWaiting(path_, waiting_); !added.ok()) {
    besideProblem_ = "; " + added.error().message;
    return;
  }
  beside_.insert(beside_.end(), waiting_.begin(), waiting_.end());
  waiting_.clear();
}

bool RecordKeeper::flush() {
  const Status kept = store();
  if (!kept.ok()) {
    waits(kept.error());
    return false;
  }
  beside_.clear();
  waiting_.clear();
  lastProblem_.clear();
  return true;
}

void RecordKeeper::keep(const TuneRecord& record) {
  waiting_.push_back(record);
  flush();
}

std::vector<TuneRecord> RecordKeeper::of(const TuneKey& key, const std::string& version) {
  std::vector<TuneRecord> records;
  if (store_ != nullptr) {
    auto stored = store_->of(key, version);
    if (stored.ok()) records = std::move(*stored);
  }
  for (const auto& unstored : {beside_, waiting_}) {
    for (const TuneRecord& record : unstored) {
      if (record.key.problem == key.problem && record.key.pass == key.pass && record.key.machine == key.machine &&
          record.key.threads == key.threads && record.key.backend == key.backend)
        records.push_back(record);
    }
  }
  return records;
}

std::vector<TuneRecord> RecordKeeper::all() {
  std::vector<TuneRecord> records;
  if (store_ != nullptr) {
    auto stored = store_->all();
    if (stored.ok()) records = std::move(*stored);
  }
  records.insert(records.end(), beside_.begin(), beside_.end());
  records.insert(records.end(), waiting_.begin(), waiting_.end());
  return records;
}

bool RecordKeeper::finish(const std::string& fallback) {
  if (waiting() == 0 || flush()) return true;
  const auto told = [&](const std::vector<TuneRecord>& records) {
    return std::to_string(records.size()) + " records could not be stored (" + lastProblem_ + "); they are in ";
  };
  if (!beside_.empty())
    tell_(told(beside_) + printable(waitingFile(path_)) + ", from which whoever opens the store next takes them in");
  if (waiting_.empty()) return true;
  const auto lost = [&](const std::string& more) {
    tell_(std::to_string(waiting_.size()) + " records are lost: " + lastProblem_ + more);
    return false;
  };
  if (fallback.empty()) return lost(besideProblem_);
  if (const Status written = appendRecords(fallback, waiting_); !written.ok())
    return lost("; " + written.error().message);
  tell_(told(waiting_) + fallback + ", which `cubejit db import` reads");
  waiting_.clear();
  return false;
}

}  // namespace cubejit
