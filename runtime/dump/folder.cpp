// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order: write, sync, swap, clear away.
#include "runtime/dump/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "runtime/printable.h"

namespace cubejit {
namespace {

namespace fs = std::filesystem;

// Never into a file somebody else put there; the last system call says why it failed.
std::error_code writeFile(const fs::path& path, const std::string& contents) {
  const mode_t mode = contents.rfind("#!", 0) == 0 ? 0755 : 0644;
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  if (file < 0) return {errno, std::generic_category()};
  std::error_code error;
  for (std::size_t done = 0; done < contents.size() && !error;) {
    const ssize_t count = write(file, contents.data() + done, contents.size() - done);
    if (count < 0 && errno != EINTR) error = {errno, std::generic_category()};
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  // A full disk may only show when the file is flushed.
  if (!error && fsync(file) != 0 && errno != EINVAL) error = {errno, std::generic_category()};
  if (close(file) != 0 && !error) error = {errno, std::generic_category()};
  return error;
}

}  // namespace

Status writeFolder(const std::string& root, const std::string& name, const FolderFiles& files) {
  static std::atomic<unsigned> serial{0};
  const std::string unique = std::to_string(getpid()) + "-" + std::to_string(serial++);
  const fs::path target = fs::path(root) / name;
  const fs::path fresh = fs::path(root) / ("." + name + ".new-" + unique),
                 old = fs::path(root) / ("." + name + ".old-" + unique);
  std::error_code error;
  const auto failed = [&](const char* what, const fs::path& path) {
    Error e{ErrorCode::kIo, Stage::kRun, std::string(what) + " " + printable(path.string()) + ": " + error.message()};
    std::error_code ignored;
    fs::remove_all(fresh, ignored);
    return e;
  };
  fs::create_directories(root, error);
  if (error) return failed("cannot create", root);
  fs::create_directory(fresh, error);
  if (error) return failed("cannot create", fresh);
  for (const auto& [file, contents] : files) {
    error = writeFile(fresh / file, contents);
    if (error) return failed("cannot write", fresh / file);
  }
  // In one step, so that there is never no folder.
  if (renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) {
    std::error_code ignored;
    fs::remove_all(fresh, ignored);
    return Unit{};
  }
  const bool there = errno != ENOENT;
  if (there && errno != EINVAL && errno != ENOSYS) {
    error = {errno, std::generic_category()};
    return failed("cannot replace", target);
  }
  if (there) fs::rename(target, old, error);  // on a file system that cannot exchange
  if (error) return failed("cannot replace", target);
  fs::rename(fresh, target, error);
  std::error_code ignored;
  if (error) {
    const Error e = failed("cannot write", target);
    if (there) fs::rename(old, target, ignored);
    return e;
  }
  if (there) fs::remove_all(old, ignored);
  return Unit{};
}

}  // namespace cubejit
