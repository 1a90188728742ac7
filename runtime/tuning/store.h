// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how tuning records are kept: one SQLite file, one transaction a record, so that a process may end at any instant.
// Leaves trust in the file to store_file, meaning to record, and the choice between a user's and a system's file to records.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cubejit/options.h"
#include "cubejit/result.h"
#include "runtime/tuning/record.h"

struct sqlite3;

namespace cubejit {

enum class StoreAccess : std::uint8_t {
  kRead,       ///< the file must exist; nothing is written beside what SQLite's log needs
  kReadWrite,  ///< created if missing; a damaged file is set aside and a new one begun
};

/// What happened to the file beyond what was asked: set aside, network file system. For people.
using StoreNotes = std::vector<std::string>;

/// A fork() of another thread waits for what is going on in a store.
class TuningStore {
 public:
  /// kIo: not readable, not writable, held by others for longer than waitSeconds, damaged (when only reading). kUnsupported: written by a
  /// newer cubejit, or by another program; or the process was forked while its parent had a store open. An empty file, looked at, is a store without records.
  /// Records that wait beside the file (waiting_records.h) are taken in; when only reading, if it can be written at once.
  /// `assumeNetwork` makes a local file behave as on a network file system: no write-ahead log.
  static Result<std::unique_ptr<TuningStore>> open(const std::string& path, StoreAccess access, StoreNotes* notes,
                                                   bool assumeNetwork = false, double waitSeconds = kStoreWaitSeconds);
  ~TuningStore();
  TuningStore(const TuningStore&) = delete;
  TuningStore& operator=(const TuningStore&) = delete;

  /// Keeps a record; when this returns without error it survives the end of the process. A record of the same key, version,
  /// plan and run is replaced if it is not newer. Waits for other processes as long as open() was told.
  Status add(const TuneRecord& record);
  /// All of them or none.
  Status addAll(const std::vector<TuneRecord>& records);
  /// Adds the records that wait beside the file, and removes them there.
  Status takeIn(StoreNotes* notes);
  /// From now on other processes are waited for as long.
  void waitFor(double seconds);

  /// Everything kept, in the order it was added. Rows that do not read as records are left out and counted in `unreadable`.
  Result<std::vector<TuneRecord>> all(std::int64_t* unreadable = nullptr) const;
  /// The records of one key, of this library version.
  Result<std::vector<TuneRecord>> of(const TuneKey& key, const std::string& version) const;
  /// The verified winners of the key, of this version, the one with the least relative time first.
  Result<std::vector<TuneRecord>> winners(const TuneKey& key, const std::string& version) const;
  /// Verified winners of the problem and pass measured on other machines, threads or versions: to say why none was used.
  Result<std::int64_t> elsewhere(const TuneKey& key, const std::string& version) const;

  /// The same of kernels: kept in a transaction of its own, and those of a key with the least relative time first.
  Status addKernel(const KernelRecord& record);
  Result<std::vector<KernelRecord>> kernelsOf(const KernelKey& key, const std::string& version) const;
  /// Those of all keys and versions, in the order they were added; all() has none of them.
  Result<std::vector<KernelRecord>> allKernels() const;

  /// Removes what is of no more use and returns how many: of another version, failed trials, or all but winners.
  struct Prune {
    std::string keepVersion;  ///< empty: any
    bool failures = false;    ///< refused, duplicate, failed: may be tried again
    bool losers = false;      ///< everything that did not win
    std::int64_t before = 0;  ///< unix time; 0 = any
  };
  Result<std::int64_t> prune(const Prune& what);
  /// SQLite's own check of the whole file; each finding a line, empty = sound.
  Result<std::vector<std::string>> integrity() const;
  bool usesWriteAheadLog() const;

 private:
  TuningStore(sqlite3* db, std::string path);
  static Result<std::unique_ptr<TuningStore>> openFile(const std::string& path, StoreAccess access, StoreNotes* notes,
                                                       bool assumeNetwork, double waitSeconds);
  Status insertAll(const std::vector<TuneRecord>& records);
  sqlite3* db_;
  std::string path_;
};

}  // namespace cubejit
