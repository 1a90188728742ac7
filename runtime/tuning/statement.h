// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how SQLite is called: prepared statements only, results as values. Leaves which statements to store.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>

#include "cubejit/result.h"

namespace cubejit {

/// What SQLite's code means for the caller, in words: a full disk, a read-only file, a lock that was not released.
Error storeError(sqlite3* db, const std::string& doing);

/// Whether the file can be read to its end. SQLite calls a file damaged that its disk fails to read.
Status readThrough(sqlite3* db);

/// One prepared statement. Columns and parameters count from 0 and 1, as SQLite's do.
class Statement {
 public:
  Statement(sqlite3* db, const char* text);
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int index, const std::string& value);
  Statement& bind(int index, std::int64_t value);
  Statement& bind(int index, double value);

  /// True: a row is there; false: done.
  Result<bool> step(const std::string& doing);
  std::string text(int column) const;  ///< throws std::bad_alloc
  std::int64_t whole(int column) const { return sqlite3_column_int64(statement_, column); }
  double number(int column) const { return sqlite3_column_double(statement_, column); }

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = SQLITE_OK;  ///< whether every parameter was taken; what is not bound would be NULL
};

/// Runs statements that give no rows.
Status execute(sqlite3* db, const std::string& text, const std::string& doing);

/// First column of the first row as text; empty if there is none.
std::string askText(sqlite3* db, const char* text);

}  // namespace cubejit
