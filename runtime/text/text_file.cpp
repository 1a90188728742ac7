// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the bounds, and the words of errors.
#include "runtime/text/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/text/printable.h"

namespace cubejit {
namespace {

constexpr std::size_t kStep = std::size_t{64} << 10;
constexpr std::size_t kMostOfStream = std::size_t{256} << 20;  // a regular file ends by itself

std::string sizeText(std::size_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

Error cannotRead(const std::string& path, int error, Stage stage) {
  struct stat found{};
  const bool folder = stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
  return Error{ErrorCode::kIo, stage,
               "cannot read " + printable(path) + ": " + (folder ? "it is a folder" : std::strerror(error))};
}

TextLines::TextLines(int file, FileDescriptor owned, std::string name, std::string wanted, Stage stage,
                     std::size_t mostOfLine)
    : file_(file),
      owned_(std::move(owned)),
      name_(std::move(name)),
      wanted_(std::move(wanted)),
      stage_(stage),
      mostOfLine_(mostOfLine) {
  struct stat found{};
  regular_ = fstat(file, &found) == 0 && S_ISREG(found.st_mode);
}

Result<TextLines> TextLines::open(const std::string& path, std::string wanted, Stage stage, std::size_t mostOfLine) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file) return cannotRead(path, errno, stage);
  const int number = file.get();
  return TextLines(number, std::move(file), path, std::move(wanted), stage, mostOfLine);
}

TextLines TextLines::ofStandardInput(std::string wanted, Stage stage) {
  return TextLines(STDIN_FILENO, FileDescriptor(), "standard input", std::move(wanted), stage, kMostText);
}

std::string TextLines::place() const { return printable(name_) + ":" + std::to_string(number_); }

Error TextLines::tooLong(const std::string& what, std::size_t most) const {
  return invalidInput(what + " is longer than " + sizeText(most) + "; it should hold " + wanted_, stage_);
}

Result<bool> TextLines::fill() {
  if (!regular_ && total_ > kMostOfStream) {
    Error endless = tooLong(printable(name_) + " is not a regular file, and", kMostOfStream);
    endless.code = ErrorCode::kIo;
    return endless;
  }
  if (buffer_.empty()) buffer_.resize(kStep);
  ssize_t count = -1;
  do {
    count = read(file_, buffer_.data(), buffer_.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) return cannotRead(name_, errno, stage_);
  at_ = 0;
  held_ = static_cast<std::size_t>(count);
  total_ += held_;
  return held_ > 0;
}

Result<bool> TextLines::nextOfAny(std::string& line) {
  line.clear();
  ++number_;
  whole_ = false;
  bool any = false, over = false;
  while (!whole_) {
    if (at_ == held_) {
      CUBEJIT_TRY(more, fill());
      if (!more) break;
    }
    any = true;
    const char* const begin = buffer_.data() + at_;
    const void* const found = std::memchr(begin, '\n', held_ - at_);
    whole_ = found != nullptr;
    const std::size_t length = whole_ ? static_cast<std::size_t>(static_cast<const char*>(found) - begin) : held_ - at_;
    over = over || line.size() + length > mostOfLine_;
    if (!over) line.append(begin, length);
    at_ += length + (whole_ ? 1 : 0);
  }
  if (over) return tooLong(place() + ": the line", mostOfLine_);
  return any;
}

Result<bool> TextLines::next(std::string& line) {
  for (;;) {
    CUBEJIT_TRY(any, nextOfAny(line));
    if (!any || line.find_first_not_of(" \t\r") != std::string::npos) return any;
  }
}

Result<std::string> readText(const std::string& path, const std::string& wanted, Stage stage) {
  CUBEJIT_TRY(file, TextLines::open(path, wanted, stage));
  std::string text;
  while (text.size() <= kMostText) {
    CUBEJIT_TRY(more, file.fill());
    if (!more) return text;
    text.append(file.buffer_, 0, file.held_);
  }
  return file.tooLong(printable(path), kMostText);
}

}  // namespace cubejit
