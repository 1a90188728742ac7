// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides retries and the fallback file.
#include "runtime/tuning/record_keeper.h"

#include <utility>

#include "runtime/json_record.h"
#include "runtime/printable.h"
#include "runtime/text_file.h"
#include "runtime/whole_file.h"

namespace cubejit {

RecordKeeper::RecordKeeper(std::string path, std::function<void(const std::string&)> tell)
    : path_(std::move(path)), tell_(std::move(tell)) {
  StoreNotes notes;
  auto store = TuningStore::open(path_, StoreAccess::kReadWrite, &notes);
  for (const std::string& note : notes) tell_(note);
  if (store.ok()) {
    store_ = std::move(*store);
    return;
  }
  lastProblem_ = store.error().message;
  tell_(lastProblem_ + "; the run goes on, its records wait");
}

bool RecordKeeper::flush() {
  if (store_ == nullptr) {
    auto store = TuningStore::open(path_, StoreAccess::kReadWrite, nullptr);
    if (!store.ok()) return false;
    store_ = std::move(*store);
  }
  const Status kept = store_->addAll(waiting_);
  if (kept.ok()) {
    waiting_.clear();
    lastProblem_.clear();
    return true;
  }
  if (kept.error().message != lastProblem_) tell_(kept.error().message + "; the run goes on, its records wait");
  lastProblem_ = kept.error().message;
  return false;
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
  for (const TuneRecord& record : waiting_) {
    if (record.key.problem == key.problem && record.key.pass == key.pass && record.key.machine == key.machine &&
        record.key.threads == key.threads && record.key.backend == key.backend)
      records.push_back(record);
  }
  return records;
}

std::vector<TuneRecord> RecordKeeper::all() {
  std::vector<TuneRecord> records;
  if (store_ != nullptr) {
    auto stored = store_->all();
    if (stored.ok()) records = std::move(*stored);
  }
  records.insert(records.end(), waiting_.begin(), waiting_.end());
  return records;
}

bool RecordKeeper::finish(const std::string& fallback) {
  if (waiting_.empty() || flush()) return true;
  const Status written = appendRecords(fallback, waiting_);
  if (written.ok()) {
    tell_(std::to_string(waiting_.size()) + " records could not be stored (" + lastProblem_ + "); they are in " +
          fallback + ", which `cubejit db import` reads");
    waiting_.clear();
  } else {
    tell_(std::to_string(waiting_.size()) + " records are lost: " + lastProblem_ + "; " + written.error().message);
  }
  return false;
}

Status appendRecords(const std::string& path, const std::vector<TuneRecord>& records) {
  std::string lines;
  for (const TuneRecord& record : records) lines += recordToJson(record) + "\n";
  return appendWhole(path, lines, 0600, Links::kRefuse);
}

Result<RecordLines> readRecords(const std::string& path) {
  constexpr std::size_t kMostRefused = 1000;
  CUBEJIT_TRY(file, TextLines::open(path, "records as JSON objects, one a line", Stage::kPlan));
  RecordLines out;
  for (std::string line;;) {
    const auto more = file.next(line);
    if (!more.ok() && more.error().code == ErrorCode::kIo) return more.error();
    if (!more.ok()) {  // the line is too long; those behind it may be right
      out.refused.push_back(more.error().message);
      continue;
    }
    if (!*more) return out;
    if (out.refused.size() == kMostRefused)
      return Error{ErrorCode::kInvalidProblem, Stage::kPlan,
                   printable(path) + ": more than " + std::to_string(kMostRefused) +
                       " lines are no records, the first " + out.refused.front() + "; it is no file of records"};
    auto record = recordFromJson(line);
    if (record.ok())
      out.records.push_back(std::move(*record));
    else
      out.refused.push_back(file.place() + ": " + record.error().message);
  }
}

}  // namespace cubejit
