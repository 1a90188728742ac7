// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "runtime/tuning/store_row.h"

#include <algorithm>

#include "runtime/tuning/json_record.h"

namespace cubejit {

const char* const kRowColumns =
    "SELECT identity, name, gradient, fingerprint, backend, threads, version, code, plan, cost, status, won, verified,"
    " untuned, relative, samples_ns, message, run, unix_time FROM records";

const char* const kOfRowKey =
    " WHERE identity = ?1 AND gradient = ?2 AND fingerprint = ?3 AND backend = ?4 AND threads = ?5 AND version = ?6";

namespace {

constexpr const char* kStore =
    "INSERT INTO record(problem, gradient, machine, backend, threads, version, plan, run, name, code, cost, status,"
    " won, verified, untuned, relative, samples_ns, message, unix_time) VALUES("
    "(SELECT id FROM problem WHERE identity = ?1), ?2, (SELECT id FROM machine WHERE fingerprint = ?3),"
    " ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)"
    " ON CONFLICT(problem, gradient, machine, backend, threads, version, plan, run) DO UPDATE SET"
    " name = excluded.name, code = excluded.code, cost = excluded.cost, status = excluded.status, won = excluded.won,"
    " verified = excluded.verified, untuned = excluded.untuned, relative = excluded.relative,"
    " samples_ns = excluded.samples_ns, message = excluded.message, unix_time = excluded.unix_time"
    " WHERE excluded.unix_time >= record.unix_time";

Result<StoredRow> readRow(const Statement& row) {
  StoredRow r;
  r.identity = row.text(0);
  r.name = row.text(1);
  r.pass = row.text(2);
  r.machine = row.text(3);
  r.backend = row.text(4);
  r.threads = static_cast<int>(std::clamp<std::int64_t>(row.whole(5), 1, 4096));
  r.plan = row.text(8);
  r.cost = row.text(9);
  Trial& t = r.trial;
  t.version = row.text(6);
  t.code = row.text(7);
  t.status = TrialStatus::kFailed;
  for (int s = 0; s <= static_cast<int>(TrialStatus::kFailed); ++s) {
    if (row.text(10) == toString(static_cast<TrialStatus>(s))) t.status = static_cast<TrialStatus>(s);
  }
  t.won = row.whole(11) == 1;
  t.verified = row.whole(12) == 1;
  t.untuned = row.whole(13) == 1;
  t.relative = row.number(14);
  if (!(t.relative >= 0 && t.relative < kMostNumber))
    return Error{ErrorCode::kIo, Stage::kPlan, "a record's relative time is out of range"};
  CUBEJIT_TRY(samples, samplesFromJson(row.text(15)));
  t.samplesNs = samples;
  t.message = row.text(16);
  t.run = row.text(17);
  t.unixTime = row.whole(18);
  return r;
}

}  // namespace

void bindKey(Statement& s, const StoredRow& row) {
  s.bind(1, row.identity).bind(2, row.pass).bind(3, row.machine);
  s.bind(4, row.backend).bind(5, static_cast<std::int64_t>(row.threads)).bind(6, row.trial.version);
}

Result<std::vector<StoredRow>> readRows(Statement& rows, std::int64_t* unreadable) {
  std::vector<StoredRow> all;
  for (;;) {
    CUBEJIT_TRY(more, rows.step("cannot read the tuning store"));
    if (!more) return all;
    auto row = readRow(rows);
    if (row.ok())
      all.push_back(std::move(*row));
    else if (unreadable != nullptr)
      ++*unreadable;
  }
}

Status insertRow(sqlite3* db, const StoredRow& row, const std::function<bool(const StoredRow&)>& readable) {
  const char* doing = "cannot write to the tuning store";
  const Trial& t = row.trial;
  Statement identity(db, "INSERT OR IGNORE INTO problem(identity) VALUES(?1)");
  CUBEJIT_RETURN_IF_ERROR(identity.bind(1, row.identity).step(doing));
  Statement machine(db, "INSERT OR IGNORE INTO machine(fingerprint) VALUES(?1)");
  CUBEJIT_RETURN_IF_ERROR(machine.bind(1, row.machine).step(doing));
  const auto store = [&]() -> Status {
    Statement s(db, kStore);
    bindKey(s, row);
    s.bind(7, row.plan).bind(8, t.run).bind(9, row.name).bind(10, t.code);
    s.bind(11, row.cost).bind(12, std::string(toString(t.status))).bind(13, std::int64_t{t.won});
    s.bind(14, std::int64_t{t.verified}).bind(15, std::int64_t{t.untuned}).bind(16, t.relative);
    s.bind(17, samplesToJson(t.samplesNs)).bind(18, t.message).bind(19, t.unixTime);
    CUBEJIT_RETURN_IF_ERROR(s.step(doing));
    return Unit{};
  };
  const std::string same = std::string(kOfRowKey) + " AND plan = ?7 AND run = ?8";
  if (!row.planOfOld.empty()) {
    Statement respell(
        db, ("UPDATE OR IGNORE record SET plan = ?9 WHERE id IN (SELECT id FROM records" + same + ")").c_str());
    bindKey(respell, row);
    respell.bind(7, row.planOfOld).bind(8, t.run).bind(9, row.plan);
    CUBEJIT_RETURN_IF_ERROR(respell.step(doing));
  }
  CUBEJIT_RETURN_IF_ERROR(store());
  if (sqlite3_changes(db) > 0) return Unit{};
  // There is a later one. It stays, unless nobody can read it.
  const auto bindSame = [&](Statement& s) {
    bindKey(s, row);
    s.bind(7, row.plan).bind(8, t.run);
  };
  Statement later(db, (kRowColumns + same).c_str());
  bindSame(later);
  CUBEJIT_TRY(there, readRows(later, nullptr));
  if (std::any_of(there.begin(), there.end(), readable)) return Unit{};
  Statement remove(db, ("DELETE FROM record WHERE id IN (SELECT id FROM records" + same + ")").c_str());
  bindSame(remove);
  CUBEJIT_RETURN_IF_ERROR(remove.step(doing));
  return store();
}

}  // namespace cubejit
