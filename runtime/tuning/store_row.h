// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a row of the tuning store's table says, whatever was tried: a plan of a problem's pass, or a choice of a kernel's parameters.
// Leaves what its texts mean to store.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cubejit/result.h"
#include "runtime/tuning/record.h"
#include "runtime/tuning/statement.h"

namespace cubejit {

struct StoredRow {
  std::string identity, pass, machine, backend;
  int threads = 1;
  std::string name, plan;
  std::string planOfOld;  ///< as an older version wrote it; empty: none did otherwise. Not read back
  std::string cost;
  Trial trial;
};

/// SELECT of all columns; and the WHERE of those that bindKey() binds.
extern const char* const kRowColumns;
extern const char* const kOfRowKey;
/// Identity, pass, machine, backend, threads and version.
void bindKey(Statement& statement, const StoredRow& row);

/// Rows whose numbers are out of range are left out, and counted.
Result<std::vector<StoredRow>> readRows(Statement& rows, std::int64_t* unreadable);

/// Adds the row, or replaces that of the same key, plan and run if it is not later, or nobody can read it.
Status insertRow(sqlite3* db, const StoredRow& row, const std::function<bool(const StoredRow&)>& readable);

}  // namespace cubejit
