// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a fuzz target says that something does not hold, and how it takes values out of bytes. A target is one file that defines
// LLVMFuzzerTestOneInput: libFuzzer calls it with inputs of its own, tests with the files of its corpus.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace cubejit::fuzz {

/// Ends the process with what does not hold; libFuzzer then keeps the input.
[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "\ndoes not hold: %s\n", what.c_str());
  std::abort();
}
inline void hold(bool holds, const char* what) {
  if (!holds) fail(what);
}
inline void hold(bool holds, const char* what, const std::string& detail) {
  if (!holds) fail(std::string(what) + ": " + detail);
}

inline std::string textOf(const std::uint8_t* data, std::size_t size) {
  return size == 0 ? std::string() : std::string(reinterpret_cast<const char*>(data), size);
}

/// An input, value by value; zeros where it has no more.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  bool empty() const { return left_ == 0; }

  template <class T>
  T take() {
    T value{};
    const std::size_t taken = left_ < sizeof(T) ? left_ : sizeof(T);
    if (taken > 0) std::memcpy(&value, data_, taken);
    data_ += taken;
    left_ -= taken;
    return value;
  }
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(take<std::uint16_t>()) % n; }
  std::string rest() {
    std::string text = textOf(data_, left_);
    left_ = 0;
    return text;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

/// A file of the process's own with these bytes, for readers of files; in memory where the system has that.
class ScratchFile {
 public:
  explicit ScratchFile(const char* name)
      : path_((access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : "/tmp/") + std::string("cubejit_fuzz_") + name + "_" +
              std::to_string(getpid())) {}
  ~ScratchFile() { std::remove(path_.c_str()); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  void write(std::string_view bytes) const {
    std::ofstream file(path_, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace cubejit::fuzz
