// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whether a store's file may be trusted and how it is locked: owner, links, kind of file system. Leaves what is in it
// to store.
#pragma once

#include <cstdint>
#include <string>

#include "cubejit/result.h"
#include "runtime/host/file_descriptor.h"

namespace cubejit {

/// True for file systems whose locks and shared memory SQLite's write-ahead log may rely on, by statfs(2)'s f_type. Everything
/// not known to be local counts as a network: a rollback journal is slower there, but not wrong.
bool isLocalFileSystem(std::int64_t statfsType);

/// The same for the file system that holds `path` (or, if there is no such file, its folder).
bool liesOnLocalFileSystem(const std::string& path);

/// Refuses symbolic links, files of other users (root's are fine) and files others may write. A file that does not exist passes.
Status checkStoreFile(const std::string& path);

/// Creates the folder (0700) and an empty file (0600) unless they exist.
Status createStoreFile(const std::string& path);

/// Whether the write-ahead log beside the file, if there is one, can be read to its end.
Status readLog(const std::string& path);

/// Renames the file and its journals to PATH.corrupt-UTC-PID...; returns the new name.
Result<std::string> setAside(const std::string& path);

/// Held while a file is examined, created or set aside, so that two processes do not take each other's work for damage.
/// Where no lock file can be made (a read-only folder) nothing is held.
class StoreLock {
 public:
  explicit StoreLock(const std::string& path);
  /// False: another process still has it after so many seconds.
  bool wait(double seconds) const;

 private:
  FileDescriptor file_;
};

}  // namespace cubejit
