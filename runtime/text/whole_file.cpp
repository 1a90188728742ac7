// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides names and the order: make, write, sync, rename.
#include "runtime/text/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <utility>

#include "runtime/text/printable.h"

namespace cubejit {
namespace {

namespace fs = std::filesystem;

constexpr int kMostNames = 16, kMostLinks = 40;

std::string drawnName() {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device draw;
  std::string name = ".tmp-";
  for (int i = 0; i < 12; ++i) name += kLetters[draw() % kLetters.size()];
  return name;
}

// 0, or what the system said.
int writeAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) return errno;
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

}  // namespace

StagedFile::StagedFile(std::string path) : given_(std::move(path)) {}

StagedFile::StagedFile(StagedFile&& other) noexcept
    : given_(std::move(other.given_)),
      path_(std::move(other.path_)),
      beside_(std::exchange(other.beside_, {})),
      file_(std::move(other.file_)) {}

StagedFile::~StagedFile() { discard(); }

void StagedFile::discard() {
  static_cast<void>(file_.close());
  if (!beside_.empty()) unlink(std::exchange(beside_, {}).c_str());
}

Error StagedFile::failed(int error) const {
  return Error{ErrorCode::kIo, Stage::kRun, "cannot write " + printable(given_) + ": " + std::strerror(error)};
}

Status StagedFile::open() {
  std::error_code error;
  const fs::file_status status = fs::status(given_, error);
  if (fs::is_directory(status))
    return Error{ErrorCode::kIo, Stage::kRun, "cannot write " + printable(given_) + ": it is a folder"};
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    file_ = FileDescriptor(::open(given_.c_str(), O_WRONLY | O_CLOEXEC));
    return file_ ? Status(Unit{}) : Status(failed(errno));
  }
  if (given_.empty()) return failed(ENOENT);
  fs::path target = given_;  // where links lead, be there anything or not
  for (int links = 0; fs::is_symlink(target, error); ++links) {
    if (links == kMostLinks) return failed(ELOOP);
    const fs::path next = fs::read_symlink(target, error);
    if (error) return failed(error.value());
    target = target.parent_path() / next;  // or `next` alone, if that is absolute
  }
  path_ = target.string();
  for (int i = 0; i < kMostNames; ++i) {
    std::string beside = path_ + drawnName();
    file_ = FileDescriptor(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (file_) {
      beside_ = std::move(beside);
      return Unit{};
    }
    if (errno != EEXIST) break;
  }
  return failed(errno);
}

Status StagedFile::fill(std::initializer_list<std::string_view> pieces) {
  for (const std::string_view bytes : pieces) {
    if (const int error = writeAll(file_.get(), bytes); error != 0) return failed(error);
  }
  // Some systems report a full disk no sooner than here. What is no file, and some files, cannot be synced.
  if (!beside_.empty() && fsync(file_.get()) != 0 && errno != EINVAL && errno != ENOTSUP) return failed(errno);
  if (const int error = file_.close(); error != 0) return failed(error);
  return Unit{};
}

Status StagedFile::publish() {
  if (beside_.empty()) return Unit{};
  if (std::rename(beside_.c_str(), path_.c_str()) != 0) return failed(errno);
  beside_.clear();
  return Unit{};
}

FileDescriptor openLocked(const std::string& path, int flags, unsigned rights) {
  for (;;) {
    FileDescriptor file(open(path.c_str(), flags | O_CLOEXEC, rights));
    if (!file) return file;
    file.lock();
    struct stat mine{}, named{};
    if (fstat(file.get(), &mine) != 0 || !S_ISREG(mine.st_mode)) return file;
    const bool there = stat(path.c_str(), &named) == 0;
    if (there ? named.st_dev == mine.st_dev && named.st_ino == mine.st_ino : errno != ENOENT) return file;
  }
}

Status appendWhole(const std::string& path, std::string_view text, unsigned rights, Links links) {
  const auto failed = [&](int error) {
    return Error{ErrorCode::kIo, Stage::kRun, "cannot write " + printable(path) + ": " + std::strerror(error)};
  };
  const int follow = links == Links::kRefuse ? O_NOFOLLOW : 0;
  const FileDescriptor owner = openLocked(path, O_RDWR | O_CREAT | O_APPEND | follow, rights);
  if (!owner) return failed(errno);
  const int file = owner.get();
  struct stat before{};
  int error = fstat(file, &before) == 0 ? 0 : errno;
  // An editor may have left the last line without its end.
  char last = '\n';
  if (error == 0 && S_ISREG(before.st_mode) && before.st_size > 0 && pread(file, &last, 1, before.st_size - 1) < 0)
    error = errno;
  if (error == 0) error = writeAll(file, (last == '\n' ? "" : "\n") + std::string(text));
  if (error == 0 && fsync(file) != 0 && errno != EINVAL && errno != ENOTSUP) error = errno;
  if (error != 0 && S_ISREG(before.st_mode)) static_cast<void>(!ftruncate(file, before.st_size));
  return error == 0 ? Status(Unit{}) : Status(failed(error));
}

Status writeWholeFile(const std::string& path, std::string_view bytes) {
  StagedFile file(path);
  CUBEJIT_RETURN_IF_ERROR(file.open());
  CUBEJIT_RETURN_IF_ERROR(file.fill({bytes}));
  return file.publish();
}

}  // namespace cubejit
