// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the rules of a store's file.
#include "runtime/tuning/store_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <thread>

#include "runtime/text/printable.h"

namespace cubejit {
namespace {

namespace fs = std::filesystem;

// Magic numbers of statfs(2); linux/magic.h lacks xfs and zfs.
constexpr std::int64_t kXfs = 0x58465342, kZfs = 0x2fc12fc1;
constexpr std::array<std::int64_t, 8> kLocal{
    EXT4_SUPER_MAGIC, kXfs, BTRFS_SUPER_MAGIC, TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC, F2FS_SUPER_MAGIC, kZfs, RAMFS_MAGIC};

Error failed(const std::string& what, int error) {
  return Error{ErrorCode::kIo, Stage::kPlan, printable(what) + ": " + std::strerror(error)};
}

}  // namespace

bool isLocalFileSystem(std::int64_t type) { return std::find(kLocal.begin(), kLocal.end(), type) != kLocal.end(); }

bool liesOnLocalFileSystem(const std::string& path) {
  struct statfs system{};
  const std::string folder = fs::path(path).parent_path().string();
  if (::statfs(path.c_str(), &system) != 0 && ::statfs(folder.empty() ? "." : folder.c_str(), &system) != 0)
    return false;
  return isLocalFileSystem(static_cast<std::int64_t>(system.f_type));
}

Status checkStoreFile(const std::string& path) {
  struct stat found{};
  if (lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return Unit{};
    return failed("cannot look at the tuning store " + path, errno);
  }
  const auto refuse = [&](const char* why) {
    return Error{ErrorCode::kIo, Stage::kPlan, "the tuning store " + printable(path) + " is not used: " + why};
  };
  if (S_ISLNK(found.st_mode)) return refuse("it is a symbolic link; name the file itself");
  if (!S_ISREG(found.st_mode)) return refuse("it is not a regular file");
  if (found.st_uid != geteuid() && found.st_uid != 0) return refuse("it belongs to another user");
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) return refuse("others may write it; chmod go-w makes it usable");
  return Unit{};
}

Status createStoreFile(const std::string& path) {
  std::error_code error;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty() && !fs::exists(folder, error)) {
    fs::create_directories(folder.parent_path(), error);
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return failed("cannot create " + folder.string(), errno);
  }
  // What exists is not opened: to close it would give up the locks that SQLite holds on it elsewhere in this process.
  const FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file || errno == EEXIST) return Unit{};
  return failed("cannot write the tuning store " + path, errno);
}

Status readLog(const std::string& path) {
  const std::string log = path + "-wal";
  const FileDescriptor file(open(log.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return errno == ENOENT ? Status(Unit{}) : failed("cannot read " + log, errno);
  std::array<char, 65536> bytes{};
  ssize_t count = 1;
  while (count > 0 || (count < 0 && errno == EINTR)) count = read(file.get(), bytes.data(), bytes.size());
  return count == 0 ? Status(Unit{}) : failed("cannot read " + log, errno);
}

Result<std::string> setAside(const std::string& path) {
  std::array<char, 32> when{};
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::strftime(when.data(), when.size(), "%Y%m%dT%H%M%SZ", &utc);
  const std::string to = path + ".corrupt-" + when.data() + "-" + std::to_string(getpid());
  if (std::rename(path.c_str(), to.c_str()) != 0) return failed("cannot set " + path + " aside", errno);
  for (const char* journal : {"-wal", "-shm", "-journal"}) {
    static_cast<void>(std::rename((path + journal).c_str(), (to + journal).c_str()));
  }
  return to;
}

StoreLock::StoreLock(const std::string& path)
    : file_(open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)) {}

bool StoreLock::wait(double seconds) const {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (!file_.tryLock()) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace cubejit
