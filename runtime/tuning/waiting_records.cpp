// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the file's name, who may be in it when, and what becomes of lines that do not read.
#include "runtime/tuning/waiting_records.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/text/printable.h"
#include "runtime/text/text_file.h"
#include "runtime/text/whole_file.h"
#include "runtime/tuning/json_record.h"
#include "runtime/tuning/store_file.h"
#include "tiling/no_throw.h"

namespace cubejit {
namespace {

constexpr unsigned kRights = 0600;

}  // namespace

Status appendRecords(const std::string& path, const std::vector<TuneRecord>& records) {
  std::string lines;
  for (const TuneRecord& record : records) lines += recordToJson(record) + "\n";
  return appendWhole(path, lines, kRights, Links::kRefuse);
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
      return invalidInput(printable(path) + ": more than " + std::to_string(kMostRefused) +
                              " lines are no records, the first " + out.refused.front() + "; it is no file of records",
                          Stage::kPlan);
    auto record = recordFromJson(line);
    if (record.ok())
      out.records.push_back(std::move(*record));
    else
      out.refused.push_back(file.place() + ": " + toReword(record.error()).message);
  }
}

std::string waitingFile(const std::string& store) { return store + ".waiting.jsonl"; }

bool recordsWait(const std::string& store) { return access(waitingFile(store).c_str(), F_OK) == 0; }

Status addWaiting(const std::string& store, const std::vector<TuneRecord>& records) {
  for (const std::string& file : {store, waitingFile(store)}) {
    CUBEJIT_RETURN_IF_ERROR(checkStoreFile(file));
  }
  return appendRecords(waitingFile(store), records);
}

Status takeWaiting(const std::string& store, const std::function<Status(const std::vector<TuneRecord>&)>& commit,
                   const std::function<void(const std::string&)>& note) {
  const std::string path = waitingFile(store);
  CUBEJIT_RETURN_IF_ERROR(checkStoreFile(path));
  const FileDescriptor file = openLocked(path, O_RDWR | O_NOFOLLOW, kRights);
  if (!file && errno == ENOENT) return Unit{};  // somebody else has taken them
  if (!file) return cannotRead(path, errno, Stage::kPlan);
  auto lines = readRecords(path);
  if (!lines.ok() && lines.error().code == ErrorCode::kIo) return lines.error();
  if (lines.ok() && !lines->records.empty()) {
    CUBEJIT_RETURN_IF_ERROR(commit(lines->records));
  }
  if (lines.ok() && lines->refused.empty()) {
    static_cast<void>(unlink(path.c_str()));  // else they are committed again
    return Unit{};
  }
  CUBEJIT_TRY(aside, setAside(path));
  note(printable(path) + " is damaged: " + (lines.ok() ? lines->refused.front() : lines.error().message) +
       "; its records are stored, and it is kept as " + printable(aside));
  return Unit{};
}

}  // namespace cubejit
