// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order: write, sync, swap, clear away.
#include "runtime/dump/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "runtime/host/file_descriptor.h"
#include "runtime/text/printable.h"

namespace cubejit {
namespace {

namespace fs = std::filesystem;

// Never into a file somebody else put there; the last system call says why it failed.
std::error_code writeFile(const fs::path& path, const std::string& contents) {
  const mode_t mode = contents.rfind("#!", 0) == 0 ? 0755 : 0644;
  FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!file) return {errno, std::generic_category()};
  std::error_code error;
  for (std::size_t done = 0; done < contents.size() && !error;) {
    const ssize_t count = write(file.get(), contents.data() + done, contents.size() - done);
    if (count < 0 && errno != EINTR) error = {errno, std::generic_category()};
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  // A full disk may only show when the file is flushed.
  if (!error && fsync(file.get()) != 0 && errno != EINVAL) error = {errno, std::generic_category()};
  const int closed = file.close();
  if (closed != 0 && !error) error = {closed, std::generic_category()};
  return error;
}

// A folder that is read without memory of its own. <filesystem>'s iterators and remove_all() take some, in functions that are noexcept:
// with libstdc++ the process ends where there is none.
class OpenFolder {
 public:
  OpenFolder(int in, const char* name, int flags)
      : file_(openat(in, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags)) {}
  int descriptor() const { return file_.get(); }

  // False, with errno, where it cannot be read.
  template <class Visit>
  bool forNames(const Visit& visit) const {
    if (!file_) return false;
    alignas(dirent64) char entries[1024];
    ssize_t size = 0;
    while ((size = getdents64(file_.get(), entries, sizeof entries)) > 0) {
      for (ssize_t at = 0; at < size;) {
        const auto* const entry = reinterpret_cast<const dirent64*>(entries + at);
        at += entry->d_reclen;
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") visit(entry->d_name);
      }
    }
    return size == 0;
  }

 private:
  FileDescriptor file_;
};

// As much of it as can be. Links are removed, not followed, also where somebody puts one in a folder's place meanwhile.
void removeTree(int in, const char* name) {
  if (unlinkat(in, name, 0) == 0) return;
  {
    const OpenFolder folder(in, name, O_NOFOLLOW);
    folder.forNames([&](const char* entry) { removeTree(folder.descriptor(), entry); });
  }
  unlinkat(in, name, AT_REMOVEDIR);
}

// What has a name in the end is removed, however that is reached.
struct Removed {
  const fs::path& path;
  ~Removed() { removeTree(AT_FDCWD, path.c_str()); }
};

}  // namespace

Result<std::vector<std::string>> namesIn(const std::string& folder) {
  std::vector<std::string> names;
  if (!OpenFolder(AT_FDCWD, folder.c_str(), 0).forNames([&](const char* name) { names.emplace_back(name); })) {
    const std::error_code error{errno, std::generic_category()};
    return Error{ErrorCode::kIo, Stage::kRun, "cannot read " + printable(folder) + ": " + error.message()};
  }
  std::sort(names.begin(), names.end());
  return names;
}

Status writeFolder(const std::string& root, const std::string& name, const FolderFiles& files) {
  static std::atomic<unsigned> serial{0};
  const std::string unique = std::to_string(getpid()) + "-" + std::to_string(serial++);
  const fs::path target = fs::path(root) / name;
  const fs::path fresh = fs::path(root) / ("." + name + ".new-" + unique),
                 old = fs::path(root) / ("." + name + ".old-" + unique);
  std::error_code error;
  const auto failed = [&](const char* what, const fs::path& path) {
    return Error{ErrorCode::kIo, Stage::kRun,
                 std::string(what) + " " + printable(path.string()) + ": " + error.message()};
  };
  fs::create_directories(root, error);
  if (error) return failed("cannot create", root);
  const Removed cleared{fresh};  // what could not be written, or what was replaced
  fs::create_directory(fresh, error);
  if (error) return failed("cannot create", fresh);
  for (const auto& [file, contents] : files) {
    error = writeFile(fresh / file, contents);
    if (error) return failed("cannot write", fresh / file);
  }
  // In one step, so that there is never no folder.
  if (renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) return Unit{};
  const bool there = errno != ENOENT;
  if (there && errno != EINVAL && errno != ENOSYS) {
    error = {errno, std::generic_category()};
    return failed("cannot replace", target);
  }
  if (there) fs::rename(target, old, error);  // on a file system that cannot exchange
  if (error) return failed("cannot replace", target);
  fs::rename(fresh, target, error);
  if (error) {
    std::error_code ignored;
    if (there) fs::rename(old, target, ignored);
    return failed("cannot write", target);
  }
  if (there) removeTree(AT_FDCWD, old.c_str());
  return Unit{};
}

}  // namespace cubejit
