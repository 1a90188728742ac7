// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a tuning run goes on when its store cannot be written: records wait beside it for whoever opens it next, or, where that is not
// possible, in memory; they are tried again, and end in a text file rather than nowhere.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/tuning/store.h"
#include "runtime/tuning/waiting_records.h"

namespace cubejit {

class RecordKeeper {
 public:
  /// `tell` gets what people should know, once each. The store is opened now; if it cannot be, records wait. Other processes that hold
  /// it are waited for as long, once; after that it is tried for each record.
  RecordKeeper(std::string path, std::function<void(const std::string&)> tell, double waitSeconds = kStoreWaitSeconds);

  void keep(const TuneRecord& record);
  /// Records of a key that are in the store or wait; empty if the store cannot be read.
  std::vector<TuneRecord> of(const TuneKey& key, const std::string& version);
  /// All records that are in the store or wait.
  std::vector<TuneRecord> all();
  /// True if everything is in the store, or waits beside it, which is told. What waits in memory is written to `fallback` as JSON lines;
  /// the message says so, or that even this failed. An empty fallback: nowhere.
  bool finish(const std::string& fallback);
  /// Records that are not in the store.
  std::size_t waiting() const { return beside_.size() + waiting_.size(); }

 private:
  bool flush();
  Status store();
  void waits(const Error& why);
  std::string path_;
  std::function<void(const std::string&)> tell_;
  std::unique_ptr<TuningStore> store_;
  double patience_;                  ///< seconds
  std::vector<TuneRecord> beside_;   ///< in waitingFile()
  std::vector<TuneRecord> waiting_;  ///< nowhere else
  std::string lastProblem_, besideProblem_;
};

}  // namespace cubejit
