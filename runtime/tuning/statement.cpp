// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the words for SQLite's codes.
#include "runtime/tuning/statement.h"

#include <algorithm>
#include <array>
#include <new>

#include "runtime/text/printable.h"
#include "tiling/no_throw.h"

namespace cubejit {
namespace {

const char* reason(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL: return "the disk is full";
    case SQLITE_READONLY: return "the file or its folder is read-only";
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return "another process did not let go of it in time";
    case SQLITE_CANTOPEN: return "the file or its journal cannot be opened";
    case SQLITE_NOTADB: return "it is not a tuning store";
    case SQLITE_CORRUPT: return "it is damaged";
    case SQLITE_IOERR: return "reading or writing failed";
    default: return nullptr;
  }
}

}  // namespace

Error storeError(sqlite3* db, const std::string& doing) {
  const int code = db == nullptr ? SQLITE_NOMEM : sqlite3_extended_errcode(db);
  if ((code & 0xff) == SQLITE_NOMEM) return outOfMemory(Stage::kPlan);
  const char* words = reason(code);
  const char* own = sqlite3_errmsg(db);
  const char* file = sqlite3_db_filename(db, "main");
  const bool named = file == nullptr || *file == '\0' || doing.find(file) != std::string::npos;
  return Error{ErrorCode::kIo, Stage::kPlan,
               printable(doing + (named ? "" : std::string(" ") + file)) + ": " +
                   (words != nullptr ? std::string(words) + " (SQLite: " + own + ")" : std::string(own))};
}

// Through SQLite's own descriptor: to close another would give up its locks.
Status readThrough(sqlite3* db) {
  sqlite3_file* file = nullptr;
  sqlite3_int64 size = 0, at = 0;
  int code = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (code == SQLITE_OK) code = file->pMethods->xFileSize(file, &size);
  std::array<char, 65536> bytes{};
  constexpr auto kStep = static_cast<sqlite3_int64>(bytes.size());
  for (; code == SQLITE_OK && at < size; at += kStep)
    code = file->pMethods->xRead(file, bytes.data(), static_cast<int>(std::min(kStep, size - at)), at);
  if (code == SQLITE_OK) return Unit{};
  return Error{ErrorCode::kIo, Stage::kPlan,
               "cannot read the tuning store " + printable(sqlite3_db_filename(db, "main")) +
                   ": reading failed (SQLite: " + sqlite3_errstr(code) + ")"};
}

Statement::Statement(sqlite3* db, const char* text) : db_(db) {
  if (sqlite3_prepare_v2(db, text, -1, &statement_, nullptr) != SQLITE_OK) statement_ = nullptr;
}

Statement& Statement::bind(int index, const std::string& value) {
  if (statement_ != nullptr)
    bound_ |= sqlite3_bind_text(statement_, index, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT);
  return *this;
}
Statement& Statement::bind(int index, std::int64_t value) {
  if (statement_ != nullptr) bound_ |= sqlite3_bind_int64(statement_, index, value);
  return *this;
}
Statement& Statement::bind(int index, double value) {
  if (statement_ != nullptr) bound_ |= sqlite3_bind_double(statement_, index, value);
  return *this;
}

Result<bool> Statement::step(const std::string& doing) {
  if (statement_ == nullptr || bound_ != SQLITE_OK) return storeError(db_, doing);
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return storeError(db_, doing);
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (bytes == nullptr && sqlite3_errcode(db_) == SQLITE_NOMEM) throw std::bad_alloc();
  return bytes == nullptr ? std::string()
                          : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

Status execute(sqlite3* db, const std::string& text, const std::string& doing) {
  if (sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return Unit{};
  return storeError(db, doing);
}

std::string askText(sqlite3* db, const char* text) {
  Statement statement(db, text);
  const auto row = statement.step(text);
  return row.ok() && *row ? statement.text(0) : std::string();
}

}  // namespace cubejit
