// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides tables, queries and what opening a file does.
#include "runtime/tuning/store.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <string_view>

#include "runtime/host/fork.h"
#include "runtime/text/json_object.h"
#include "runtime/text/json_problem.h"
#include "runtime/text/printable.h"
#include "runtime/tuning/json_record.h"
#include "runtime/tuning/statement.h"
#include "runtime/tuning/store_file.h"
#include "runtime/tuning/store_row.h"
#include "runtime/tuning/waiting_records.h"

namespace cubejit {
namespace {

constexpr int kSchema = 1;
constexpr int kApplication = 0x63626a74;  // "cbjt": tells our files from other SQLite files
constexpr int kMostTextBytes = 4 << 20;

// The column of the pass is called gradient, as in the files there are: several versions may share one.
constexpr const char* kTables =
    "CREATE TABLE problem(id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE);"
    "CREATE TABLE machine(id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE);"
    "CREATE TABLE record(id INTEGER PRIMARY KEY, problem INTEGER NOT NULL REFERENCES problem(id),"
    " gradient TEXT NOT NULL, machine INTEGER NOT NULL REFERENCES machine(id), backend TEXT NOT NULL,"
    " threads INTEGER NOT NULL, version TEXT NOT NULL, plan TEXT NOT NULL, run TEXT NOT NULL, name TEXT NOT NULL,"
    " code TEXT NOT NULL, cost TEXT NOT NULL, status TEXT NOT NULL, won INTEGER NOT NULL, verified INTEGER NOT NULL,"
    " untuned INTEGER NOT NULL, relative REAL NOT NULL, samples_ns TEXT NOT NULL, message TEXT NOT NULL,"
    " unix_time INTEGER NOT NULL,"
    " UNIQUE(problem, gradient, machine, backend, threads, version, plan, run));"
    "CREATE VIEW records AS SELECT record.*, identity, fingerprint FROM record"
    " JOIN problem ON problem.id = record.problem JOIN machine ON machine.id = record.machine;";

// A kernel's rows are told by their pass, which plans do not have.
constexpr const char* kKernelPass = "kernel";

std::string identityOfOld(const TilingPlan& plan) {
  std::string text = planIdentity(plan);
  const std::string pass = "\"pass\"";
  return text.replace(text.find(pass), pass.size(), std::string("\"") + kPassOfOld + '"');
}

StoredRow rowOf(const TuneKey& key, const std::string& version) {
  StoredRow row;
  row.identity = problemIdentity(key.problem);
  row.pass = toString(key.pass);
  row.machine = key.machine, row.backend = key.backend, row.threads = key.threads;
  row.name = key.problem.name;
  row.trial.version = version;
  return row;
}
StoredRow rowOf(const KernelKey& key, const std::string& version) {
  StoredRow row{key.identity, kKernelPass, key.machine, key.backend, key.threads, {}, {}, {}, {}, {}};
  row.trial.version = version;
  return row;
}
StoredRow rowOf(const TuneRecord& r) {
  StoredRow row = rowOf(r.key, r.version);
  // The plan as 0.2.0 wrote it, too: the same record is not to be there twice.
  row.plan = planIdentity(r.plan), row.planOfOld = identityOfOld(r.plan);
  row.cost = costToJson(r.cost);
  row.trial = r;
  return row;
}
StoredRow rowOf(const KernelRecord& r) {
  StoredRow row = rowOf(r.key, r.version);
  row.name = r.name, row.plan = r.settings;
  row.trial = r;
  return row;
}

// Plans and problems are read as a stranger's: what does not parse is no record.
Result<TuneRecord> recordOf(const StoredRow& row) {
  TuneRecord r;
  static_cast<Trial&>(r) = row.trial;
  CUBEJIT_TRY(problem, problemFromIdentity(row.identity));
  r.key.problem = problem;
  r.key.problem.name = row.name;
  CUBEJIT_TRY(plan, planFromJson(row.plan));
  r.plan = plan;
  r.key.pass = plan.pass;
  if (row.pass != toString(plan.pass)) return Error{ErrorCode::kIo, Stage::kPlan, "a record's pass is not its plan's"};
  r.key.machine = row.machine, r.key.backend = row.backend, r.key.threads = row.threads;
  CUBEJIT_TRY(cost, costFromJson(row.cost));
  r.cost = cost;
  return r;
}

Result<std::vector<TuneRecord>> readRecords(Statement& rows, std::int64_t* unreadable) {
  std::vector<TuneRecord> records;
  std::int64_t lost = 0;
  CUBEJIT_TRY(all, readRows(rows, &lost));
  for (const StoredRow& row : all) {
    auto record = recordOf(row);
    if (record.ok())
      records.push_back(std::move(*record));
    else
      ++lost;
  }
  if (unreadable != nullptr) *unreadable += lost;
  return records;
}

Result<std::vector<KernelRecord>> readKernels(Statement& rows) {
  std::vector<KernelRecord> records;
  CUBEJIT_TRY(all, readRows(rows, nullptr));
  for (const StoredRow& row : all) {
    KernelRecord& r = records.emplace_back();
    static_cast<Trial&>(r) = row.trial;
    r.key = {row.identity, row.machine, row.backend, row.threads};
    r.name = row.name, r.settings = row.plan;
  }
  return records;
}

Status insert(sqlite3* db, const TuneRecord& record) {
  return insertRow(db, rowOf(record), [](const StoredRow& row) { return recordOf(row).ok(); });
}

int milliseconds(double seconds) { return static_cast<int>(std::clamp(seconds * 1e3, 0.0, 1e9)); }

// Settings of a connection that hold for every file, hostile ones too.
void harden(sqlite3* db, double waitSeconds) {
  sqlite3_busy_timeout(db, milliseconds(waitSeconds));
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, kMostTextBytes);
}

bool isDamage(sqlite3* db) {
  const int code = sqlite3_errcode(db) & 0xff;
  return code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
}

enum class Condition : std::uint8_t { kSound, kEmpty, kNewer, kForeign, kDamaged, kUnreadable };

// The whole file is read through only before it is written to: a session that looks up a plan must not wait for that.
Condition examine(sqlite3* db, bool thoroughly) {
  const std::string application = askText(db, "PRAGMA application_id");
  const std::string version = application.empty() ? "" : askText(db, "PRAGMA user_version");
  if (version.empty()) return isDamage(db) ? Condition::kDamaged : Condition::kUnreadable;
  const std::string check = thoroughly ? askText(db, "PRAGMA quick_check(1)") : "ok";
  if (check != "ok") return isDamage(db) || !check.empty() ? Condition::kDamaged : Condition::kUnreadable;
  if (application == "0" && version == "0") {
    const std::string tables = askText(db, "SELECT count(*) FROM sqlite_master");
    if (tables == "0") return Condition::kEmpty;
    if (tables.empty()) return isDamage(db) ? Condition::kDamaged : Condition::kUnreadable;
  }
  if (application != std::to_string(kApplication)) return Condition::kForeign;
  if (std::atoi(version.c_str()) > kSchema) return Condition::kNewer;
  if (!askText(db, "SELECT count(*) FROM records WHERE 0").empty()) return Condition::kSound;
  // Without memory, or a lock, nothing is known of the tables: a file is set aside only for what is wrong with itself.
  return isDamage(db) || sqlite3_errcode(db) == SQLITE_ERROR ? Condition::kDamaged : Condition::kUnreadable;
}

Error unusable(sqlite3* db, Condition condition, const std::string& path) {
  if (condition == Condition::kNewer) {
    return Error{ErrorCode::kUnsupported, Stage::kPlan,
                 "the tuning store " + printable(path) + " has schema " + askText(db, "PRAGMA user_version") +
                     ", written by a newer cubejit; this one reads schema " + std::to_string(kSchema) +
                     " (another file can be named with --db or CUBEJIT_DB)"};
  }
  if (condition == Condition::kForeign)
    return Error{ErrorCode::kUnsupported, Stage::kPlan,
                 printable(path) + " is an SQLite file, but not a tuning store; it is left alone"};
  if (condition == Condition::kDamaged)
    return Error{ErrorCode::kIo, Stage::kPlan, "the tuning store " + printable(path) + " is damaged"};
  return storeError(db, "cannot read the tuning store " + path);
}

Status createTables(sqlite3* db) {
  return execute(db,
                 "BEGIN IMMEDIATE;" + std::string(kTables) + "PRAGMA application_id = " + std::to_string(kApplication) +
                     ";PRAGMA user_version = " + std::to_string(kSchema) + ";COMMIT;",
                 "cannot begin a tuning store");
}

// Chooses the journal; says why it is not that one, if it is not.
std::string setJournal(sqlite3* db, const std::string& mode, const std::string& path) {
  const std::string other = "the tuning store " + printable(path) + " keeps a rollback journal";
  Statement statement(db, ("PRAGMA journal_mode = " + mode).c_str());
  const auto row = statement.step(other);
  if (!row.ok()) return row.error().message;
  return *row && statement.text(0) == mode ? std::string() : other + ": another process has it open";
}

// SQLite refuses links anywhere in a path; those of folders are resolved here, that of the file itself is not followed.
std::string resolved(const std::string& path) {
  std::error_code error;
  const std::filesystem::path full = std::filesystem::absolute(path, error);
  const std::filesystem::path folder = std::filesystem::weakly_canonical(full.parent_path(), error);
  return error ? path : (folder / full.filename()).string();
}

// What a path holds that a URI reads as something else is spelled.
std::string uriOf(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '%')
      uri += "%25";
    else if (c == '?')
      uri += "%3f";
    else if (c == '#')
      uri += "%23";
    else
      uri += c;
  }
  return uri;
}

// SQLite's file locks are the process's, but what it knows of them is copied to a forked child: no store is opened beside an inherited one.
struct OpenStores {
  std::mutex mutex;
  int count = 0;
  int inherited = 0;
  ForkGuard fork{mutex, [this] { inherited = count; }};
};

// Never destroyed: a process may fork while it exits.
OpenStores& openStores() {
  static auto* const instance = new OpenStores;
  return *instance;
}

Status checkNoneInherited() {
  const std::lock_guard<std::mutex> lock(openStores().mutex);
  if (openStores().inherited == 0) return Unit{};
  return Error{ErrorCode::kUnsupported, Stage::kPlan,
               "this process was forked from one that had a tuning store open: its tuning stores are not used; fork "
               "before or after "
               "tuning, or start a new program"};
}

}  // namespace

TuningStore::TuningStore(sqlite3* db, std::string path) : db_(db), path_(std::move(path)) {
  const std::lock_guard<std::mutex> lock(openStores().mutex);
  ++openStores().count;
}

Result<std::unique_ptr<TuningStore>> TuningStore::open(const std::string& given, StoreAccess access, StoreNotes* notes,
                                                       bool assumeNetwork, double waitSeconds) {
  CUBEJIT_RETURN_IF_ERROR(checkNoneInherited());
  const NoFork whole;
  const std::string path = resolved(given);
  auto store = openFile(path, access, notes, assumeNetwork, waitSeconds);
  if (!store.ok() || !recordsWait(path)) return store;
  if (access == StoreAccess::kReadWrite) {
    const Status taken = (*store)->takeIn(notes);
    if (!taken.ok() && notes != nullptr) notes->push_back(taken.error().message);
    return store;
  }
  // Who only reads may see what waits all the same.
  auto writer = openFile(path, StoreAccess::kReadWrite, nullptr, assumeNetwork, 0);
  if (!writer.ok() || !(*writer)->takeIn(notes).ok()) return store;
  return openFile(path, access, notes, assumeNetwork, waitSeconds);
}

Result<std::unique_ptr<TuningStore>> TuningStore::openFile(const std::string& path, StoreAccess access,
                                                           StoreNotes* notes, bool assumeNetwork, double waitSeconds) {
  const bool writing = access == StoreAccess::kReadWrite;
  CUBEJIT_RETURN_IF_ERROR(checkStoreFile(path));
  const auto note = [&](const std::string& text) {
    if (notes != nullptr) notes->push_back(text);
  };
  std::unique_ptr<StoreLock> lock;
  if (writing) {
    CUBEJIT_RETURN_IF_ERROR(createStoreFile(path));
    lock = std::make_unique<StoreLock>(path);
    if (!lock->wait(waitSeconds))
      return Error{
          ErrorCode::kIo, Stage::kPlan,
          "cannot open the tuning store " + printable(path) + ": another process did not let go of it in time"};
  }
  constexpr int kRead = SQLITE_OPEN_READONLY, kWrite = SQLITE_OPEN_READWRITE;
  enum class Look : std::uint8_t { kFirst, kSecond, kAtNew };
  for (const Look look : {Look::kFirst, Look::kSecond, Look::kAtNew}) {
    sqlite3* db = nullptr;
    const int opened = sqlite3_open_v2(path.c_str(), &db, (writing ? kWrite : kRead) | SQLITE_OPEN_NOFOLLOW, nullptr);
    std::unique_ptr<TuningStore> store(new TuningStore(db, path));
    if (opened != SQLITE_OK) return storeError(db, "cannot open the tuning store " + path);
    harden(db, waitSeconds);
    Condition condition = examine(db, writing);
    if (condition == Condition::kUnreadable && !writing) {
      // A log cannot be read without writing beside it: a file in a read-only folder is read as it is.
      sqlite3_close(store->db_);
      store->db_ = nullptr;
      if (sqlite3_open_v2((uriOf(path) + "?immutable=1").c_str(), &store->db_,
                          kRead | SQLITE_OPEN_URI | SQLITE_OPEN_NOFOLLOW, nullptr) != SQLITE_OK)
        return storeError(store->db_, "cannot open the tuning store " + path);
      harden(store->db_, waitSeconds);
      condition = examine(store->db_, writing);
    }
    if (condition == Condition::kSound || (condition == Condition::kEmpty && writing)) {
      if (!writing) return store;
      const bool local = !assumeNetwork && liesOnLocalFileSystem(path);
      if (!local)
        note("the tuning store " + printable(path) + " is not on a file system known to be local: no write-ahead log");
      if (const std::string why = setJournal(db, local ? "wal" : "delete", path); local && !why.empty()) note(why);
      // Every commit reaches the disk before it is reported: FULL, where WAL would make do with less.
      CUBEJIT_RETURN_IF_ERROR(execute(db, "PRAGMA synchronous = FULL", "cannot set up the tuning store " + path));
      if (condition == Condition::kEmpty) {
        CUBEJIT_RETURN_IF_ERROR(createTables(db));
      }
      return store;
    }
    if (condition == Condition::kEmpty) {  // a store without records, which nobody may begin by looking at it
      sqlite3_close(store->db_);
      store->db_ = nullptr;
      if (sqlite3_open_v2(":memory:", &store->db_, kWrite | SQLITE_OPEN_MEMORY, nullptr) != SQLITE_OK)
        return storeError(store->db_, "cannot open the tuning store " + path);
      CUBEJIT_RETURN_IF_ERROR(createTables(store->db_));
      return store;
    }
    // A disk that fails to read is told apart from a damaged file, which SQLite does not do: nothing is set aside for that.
    if (condition == Condition::kDamaged) {
      CUBEJIT_RETURN_IF_ERROR(readThrough(store->db_));
      CUBEJIT_RETURN_IF_ERROR(readLog(path));
    }
    if (condition != Condition::kDamaged || !writing || look == Look::kAtNew)
      return unusable(store->db_, condition, path);
    if (look == Look::kFirst) continue;  // it may have failed once
    store.reset();
    CUBEJIT_TRY(aside, setAside(path));
    note(printable("the tuning store " + path + " was damaged; it is kept as " + aside) + ", and a new one is begun");
    CUBEJIT_RETURN_IF_ERROR(createStoreFile(path));
  }
  return Error{ErrorCode::kIo, Stage::kPlan, "the tuning store " + printable(path) + " cannot be used"};
}

TuningStore::~TuningStore() {
  const NoFork whole;
  sqlite3_close(db_);
  const std::lock_guard<std::mutex> lock(openStores().mutex);
  --openStores().count;
}

Status TuningStore::add(const TuneRecord& record) { return addAll({record}); }

Status TuningStore::addAll(const std::vector<TuneRecord>& records) {
  const NoFork whole;
  CUBEJIT_RETURN_IF_ERROR(execute(db_, "BEGIN IMMEDIATE", "cannot write to the tuning store"));
  return insertAll(records);
}

// Ends the transaction.
Status TuningStore::insertAll(const std::vector<TuneRecord>& records) {
  for (const TuneRecord& record : records) {
    const Status kept = insert(db_, record);
    if (kept.ok()) continue;
    static_cast<void>(execute(db_, "ROLLBACK", ""));
    return kept;
  }
  Status done = execute(db_, "COMMIT", "cannot write to the tuning store");
  if (!done.ok()) static_cast<void>(execute(db_, "ROLLBACK", ""));
  return done;
}

// The store is waited for first: whoever adds to the file meanwhile does not wait for it, too.
Status TuningStore::takeIn(StoreNotes* notes) {
  const NoFork whole;
  CUBEJIT_RETURN_IF_ERROR(execute(db_, "BEGIN IMMEDIATE", "cannot write to the tuning store"));
  const Status taken = takeWaiting(
      path_, [&](const std::vector<TuneRecord>& records) { return insertAll(records); },
      [&](const std::string& text) {
        if (notes != nullptr) notes->push_back(text);
      });
  if (sqlite3_get_autocommit(db_) == 0) static_cast<void>(execute(db_, "ROLLBACK", ""));  // there were none
  return taken;
}

void TuningStore::waitFor(double seconds) {
  const NoFork whole;
  sqlite3_busy_timeout(db_, milliseconds(seconds));
}

Result<std::vector<TuneRecord>> TuningStore::all(std::int64_t* unreadable) const {
  const NoFork whole;
  Statement rows(db_, (std::string(kRowColumns) + " WHERE gradient <> 'kernel' ORDER BY id").c_str());
  return readRecords(rows, unreadable);
}

Result<std::vector<TuneRecord>> TuningStore::of(const TuneKey& key, const std::string& version) const {
  const NoFork whole;
  Statement rows(db_, (std::string(kRowColumns) + kOfRowKey + " ORDER BY id").c_str());
  bindKey(rows, rowOf(key, version));
  return readRecords(rows, nullptr);
}

Result<std::vector<TuneRecord>> TuningStore::winners(const TuneKey& key, const std::string& version) const {
  const NoFork whole;
  Statement rows(db_, (std::string(kRowColumns) + kOfRowKey +
                       " AND won = 1 AND verified = 1 AND status = 'measured' AND relative > 0"
                       " ORDER BY relative, unix_time DESC")
                          .c_str());
  bindKey(rows, rowOf(key, version));
  return readRecords(rows, nullptr);
}

Result<std::int64_t> TuningStore::elsewhere(const TuneKey& key, const std::string& version) const {
  const NoFork whole;
  Statement rows(db_,
                 "SELECT count(*) FROM records WHERE identity = ?1 AND gradient = ?2 AND won = 1 AND verified = 1 AND"
                 " NOT (fingerprint = ?3 AND backend = ?4 AND threads = ?5 AND version = ?6)");
  bindKey(rows, rowOf(key, version));
  CUBEJIT_TRY(row, rows.step("cannot read the tuning store"));
  return row ? rows.whole(0) : 0;
}

Status TuningStore::addKernel(const KernelRecord& record) {
  const NoFork whole;
  return insertRow(db_, rowOf(record), [](const StoredRow&) { return true; });
}

Result<std::vector<KernelRecord>> TuningStore::kernelsOf(const KernelKey& key, const std::string& version) const {
  const NoFork whole;
  Statement rows(db_, (std::string(kRowColumns) + kOfRowKey + " ORDER BY relative, unix_time DESC").c_str());
  bindKey(rows, rowOf(key, version));
  return readKernels(rows);
}

Result<std::vector<KernelRecord>> TuningStore::allKernels() const {
  const NoFork whole;
  Statement rows(db_, (std::string(kRowColumns) + " WHERE gradient = 'kernel' ORDER BY id").c_str());
  return readKernels(rows);
}

Result<std::int64_t> TuningStore::prune(const Prune& what) {
  const NoFork whole;
  Statement s(db_,
              "DELETE FROM record WHERE (?1 <> '' AND version <> ?1) OR (?2 AND status IN ('refused', 'duplicate',"
              " 'failed')) OR (?3 AND won = 0) OR (unix_time < ?4)");
  s.bind(1, what.keepVersion).bind(2, std::int64_t{what.failures}).bind(3, std::int64_t{what.losers});
  s.bind(4, what.before);
  CUBEJIT_RETURN_IF_ERROR(s.step("cannot prune the tuning store"));
  return static_cast<std::int64_t>(sqlite3_changes(db_));
}

Result<std::vector<std::string>> TuningStore::integrity() const {
  const NoFork whole;
  std::vector<std::string> findings;
  for (const char* check : {"PRAGMA integrity_check", "PRAGMA foreign_key_check"}) {
    Statement rows(db_, check);
    for (;;) {
      CUBEJIT_TRY(more, rows.step("cannot check the tuning store"));
      if (!more) break;
      if (rows.text(0) != "ok") findings.push_back(rows.text(0));
    }
  }
  return findings;
}

bool TuningStore::usesWriteAheadLog() const {
  const NoFork whole;
  return askText(db_, "PRAGMA journal_mode") == "wal";
}

}  // namespace cubejit
