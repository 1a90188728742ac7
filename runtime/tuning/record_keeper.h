// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a tuning run goes on when its store cannot be written: records wait, are tried again, and end in a text file
// rather than nowhere.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/tuning/store.h"

namespace cubejit {

class RecordKeeper {
 public:
  /// `tell` gets what people should know, once each. The store is opened now; if it cannot be, records wait.
  RecordKeeper(std::string path, std::function<void(const std::string&)> tell);

  void keep(const TuneRecord& record);
  /// Records of a key that are in the store or wait; empty if the store cannot be read.
  std::vector<TuneRecord> of(const TuneKey& key, const std::string& version);
  /// All records that are in the store or wait.
  std::vector<TuneRecord> all();
  /// True if everything is in the store. Otherwise what waits is written to `fallback` as JSON lines; the message says so, or
  /// that even this failed.
  bool finish(const std::string& fallback);
  std::size_t waiting() const { return waiting_.size(); }

 private:
  bool flush();
  std::string path_;
  std::function<void(const std::string&)> tell_;
  std::unique_ptr<TuningStore> store_;
  std::vector<TuneRecord> waiting_;
  std::string lastProblem_;
};

/// Appends records to a file, one JSON object a line, each with one write.
Status appendRecords(const std::string& path, const std::vector<TuneRecord>& records);

struct RecordLines {
  std::vector<TuneRecord> records;
  std::vector<std::string> refused;  ///< what is wrong with a line, with its number
};
/// Reads such a file. A last line that was cut off in the middle is refused like any other that does not parse.
Result<RecordLines> readRecords(const std::string& path);

}  // namespace cubejit
