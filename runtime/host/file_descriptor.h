// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that an open file is closed once, however a function is left: with one that leaks, its lock would stay, and the process' next
// call would wait for it for ever.
#pragma once

#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace cubejit {

/// Owns a descriptor. Not thread-safe.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  /// Takes what open(2) and its kin return: negative means none.
  explicit FileDescriptor(int number) noexcept : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { static_cast<void>(close()); }

  explicit operator bool() const { return number_ >= 0; }
  int get() const { return number_; }
  /// 0, or what the system said: some say only here that a disk is full.
  int close() { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0 ? 0 : errno; }
  /// Waits until no other process, and no other descriptor of this one, has the file's lock.
  void lock() const {
    while (number_ >= 0 && flock(number_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  /// False: somebody else has it now.
  bool tryLock() const {
    while (number_ >= 0 && flock(number_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EINTR) return errno != EWOULDBLOCK;
    }
    return true;
  }

 private:
  int number_ = -1;
};

}  // namespace cubejit
