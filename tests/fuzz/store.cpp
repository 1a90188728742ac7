// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of any file that is to be a store of tuning records: it is refused, set aside or read; what is read can be written again, and a store
// that is opened to be written takes a record and has it. An input that begins with '!' is a store of one record, and values that some of its
// columns are changed to: bytes alone seldom leave a file that SQLite takes.
#include "runtime/tuning/store.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <filesystem>

#include "runtime/tuning/json_record.h"
#include "tests/fuzz/target.h"

using namespace cubejit;

namespace {

const TuneRecord& someRecord() {
  static const TuneRecord record = [] {
    const auto read = recordFromJson(
        R"({"schema":"cubejit.record/1","name":"","problem":{"rank":1},"gradient":"db","machine":"m","backend":"xbyak","threads":1,)"
        R"("version":"v","code":"c","plan":{"version":2,"gradient":"db","algorithm":"bias"},)"
        R"("cost":{"total":1,"compute":1,"memory":1,"move":1,"call":1},"status":"measured","won":true,"verified":true,)"
        R"("untuned":false,"relative":0.5,"samples_ns":[7],"message":"","run":"fuzz","time":4000000000})");
    fuzz::hold(read.ok(), "the target's own record is one", read.ok() ? "" : read.error().message);
    return *read;
  }();
  return record;
}

// Journals, and files set aside.
void removeBeside(const std::string& path) {
  const std::filesystem::path file(path);
  for (const auto& entry : std::filesystem::directory_iterator(file.parent_path())) {
    if (entry.path().filename().string().rfind(file.filename().string(), 0) == 0) std::filesystem::remove(entry.path());
  }
}

void makeOddStore(const std::string& path, fuzz::Bytes bytes) {
  static constexpr const char* kColumns[] = {"gradient", "backend",  "threads", "version",   "plan",      "run",
                                             "name",     "code",     "cost",    "status",    "won",       "verified",
                                             "untuned",  "relative", "message", "unix_time", "samples_ns"};
  {
    StoreNotes notes;
    const auto store = TuningStore::open(path, StoreAccess::kReadWrite, &notes, /*assumeNetwork=*/true);
    fuzz::hold(store.ok() && (*store)->add(someRecord()).ok(), "a new store takes a record");
  }
  sqlite3* db = nullptr;
  fuzz::hold(sqlite3_open(path.c_str(), &db) == SQLITE_OK, "SQLite opens it");
  while (!bytes.empty()) {
    const std::string column = kColumns[bytes.take<std::uint8_t>() % std::size(kColumns)];
    sqlite3_stmt* update = nullptr;
    sqlite3_prepare_v2(db, ("UPDATE record SET " + column + " = ?1").c_str(), -1, &update, nullptr);
    const auto kind = bytes.take<std::uint8_t>() % 4;
    std::string text;
    if (kind == 0) sqlite3_bind_int64(update, 1, bytes.take<std::int64_t>());
    if (kind == 1) sqlite3_bind_double(update, 1, bytes.take<double>());
    if (kind >= 2) text = bytes.rest();
    if (kind == 2) sqlite3_bind_text(update, 1, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
    if (kind == 3) sqlite3_bind_blob(update, 1, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
    sqlite3_step(update);
    sqlite3_finalize(update);
  }
  sqlite3_close(db);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::ScratchFile file("store");
  removeBeside(file.path());
  if (size > 0 && data[0] == '!') {
    makeOddStore(file.path(), fuzz::Bytes(data + 1, size - 1));
  } else {
    file.write(fuzz::textOf(data, size));
    ::chmod(file.path().c_str(), 0600);
  }
  StoreNotes notes;
  if (const auto store = TuningStore::open(file.path(), StoreAccess::kRead, &notes); store.ok()) {
    std::int64_t unreadable = 0;
    const auto records = (*store)->all(&unreadable);
    for (std::size_t i = 0; records.ok() && i < records->size(); ++i) {
      const std::string printed = recordToJson((*records)[i]);
      fuzz::hold(recordFromJson(printed).ok(), "a record that is read is one", printed);
    }
    static_cast<void>((*store)->winners(someRecord().key, someRecord().version));
    static_cast<void>((*store)->elsewhere(someRecord().key, someRecord().version));
    static_cast<void>((*store)->integrity());
  }
  const auto store = TuningStore::open(file.path(), StoreAccess::kReadWrite, &notes);
  if (store.ok() && (*store)->add(someRecord()).ok()) {
    const auto records = (*store)->of(someRecord().key, someRecord().version);
    fuzz::hold(records.ok() && !records->empty(), "a record that was added is there");
    static_cast<void>((*store)->prune({"v", true, true, 0}));
  }
  return 0;
}
