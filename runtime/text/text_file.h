// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how text is read from files, of users and of others: never more of it than anything that is read here can be. Pipes and devices are
// read as files are; those that never end have a bound as well.
#pragma once

#include <cstddef>
#include <string>

#include "cubejit/result.h"
#include "runtime/host/file_descriptor.h"

namespace cubejit {

/// No honest line is longer, and no honest file with one object.
inline constexpr std::size_t kMostText = std::size_t{1} << 20;

/// What cannot be opened or read, and why: `error` is what the system said, but a folder is called one. kIo.
Error cannotRead(const std::string& path, int error, Stage stage);

/// The lines of a text, one after the other.
class TextLines {
 public:
  /// `wanted` says in errors what should be in the file. Errors: kIo, with the path and what the system said.
  static Result<TextLines> open(const std::string& path, std::string wanted, Stage stage,
                                std::size_t mostOfLine = kMostText);
  static TextLines ofStandardInput(std::string wanted, Stage stage);

  /// The next line that is not blank, without its line break; false behind the last one. Errors: kIo, also where a pipe or device does not end,
  /// and kInvalidProblem for a line that is too long, behind which the one after it can be read.
  Result<bool> next(std::string& line);
  /// Number of the line that next() gave, from 1 on.
  int number() const { return number_; }
  /// "FILE:NUMBER", as errors about the line name it.
  std::string place() const;
  /// Whether the line had a line break: one that is just being written, or was cut off, has none.
  bool whole() const { return whole_; }
  /// Where the line ends, in bytes from the beginning.
  std::size_t end() const { return total_ - held_ + at_; }

 private:
  TextLines(int file, FileDescriptor owned, std::string name, std::string wanted, Stage stage, std::size_t mostOfLine);
  friend Result<std::string> readText(const std::string& path, const std::string& wanted, Stage stage);
  Result<bool> fill();
  Result<bool> nextOfAny(std::string& line);
  Error tooLong(const std::string& what, std::size_t most) const;

  int file_;
  FileDescriptor owned_;  ///< none where the file is standard input
  bool regular_;
  std::string name_, wanted_;
  Stage stage_;
  std::size_t mostOfLine_;
  std::string buffer_;  ///< its first `held_` bytes were read, those before `at_` were given
  std::size_t at_ = 0, held_ = 0, total_ = 0;
  int number_ = 0;
  bool whole_ = true;
};

/// A file of one text, of at most kMostText bytes. Errors: those of TextLines.
Result<std::string> readText(const std::string& path, const std::string& wanted, Stage stage);

}  // namespace cubejit
