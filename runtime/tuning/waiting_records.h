// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how records are kept as text, one JSON object a line: those that people exchange, and those that wait beside a store which could
// not take them, until it can. Leaves what a record is to json_record, and transactions to store.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cubejit/result.h"
#include "runtime/tuning/record.h"

namespace cubejit {

/// Appends records to a file, one JSON object a line: all of them, on the disk, or none.
Status appendRecords(const std::string& path, const std::vector<TuneRecord>& records);

struct RecordLines {
  std::vector<TuneRecord> records;
  std::vector<std::string> refused;  ///< what is wrong with a line, with its number
};
/// Reads such a file. A last line that was cut off in the middle is refused like any other that does not parse.
Result<RecordLines> readRecords(const std::string& path);

/// Where records wait for a store: beside it, STORE.waiting.jsonl.
std::string waitingFile(const std::string& store);
bool recordsWait(const std::string& store);

/// Adds to them. Errors: kIo; files that may not be trusted (checkStoreFile), the store's own among them, get none.
Status addWaiting(const std::string& store, const std::vector<TuneRecord>& records);

/// Calls commit(records) with all of them, while nobody adds any, and removes the file once that has succeeded: whoever is ended in between
/// leaves what is committed again, which changes nothing. A file with lines that are no records is renamed, and `note` is told.
Status takeWaiting(const std::string& store, const std::function<Status(const std::vector<TuneRecord>&)>& commit,
                   const std::function<void(const std::string&)>& note);

}  // namespace cubejit
