// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that a file is whole or not there: it is written beside its place under a name that nobody can guess, brought to the disk, and
// renamed. What is no file, a pipe or a terminal, is written to.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "cubejit/result.h"
#include "runtime/host/file_descriptor.h"

namespace cubejit {

/// A file on its way. What was at its place stays until publish().
class StagedFile {
 public:
  /// Links are followed: the file they lead to is replaced.
  explicit StagedFile(std::string path);
  ~StagedFile();
  StagedFile(StagedFile&& other) noexcept;
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;
  StagedFile& operator=(StagedFile&&) = delete;

  /// Makes the file beside. Errors of all three: kIo, with the path that was given and what the system said.
  Status open();
  /// Writes the pieces one after the other, and the whole to the disk.
  Status fill(std::initializer_list<std::string_view> pieces);
  Status publish();

 private:
  Error failed(int error) const;
  void discard();

  std::string given_, path_, beside_;  ///< `beside_` is empty where nothing has to be removed
  FileDescriptor file_;
};

/// All of that for one text.
Status writeWholeFile(const std::string& path, std::string_view bytes);

/// Opens a file and locks it: that which has the name when its turn has come. None, and errno says why, if it cannot be opened.
FileDescriptor openLocked(const std::string& path, int flags, unsigned rights);

enum class Links : std::uint8_t { kFollow, kRefuse };

/// Adds the text to the end of a file, made with these rights where there is none: all of it, or nothing. Processes take turns.
Status appendWhole(const std::string& path, std::string_view text, unsigned rights, Links links);

}  // namespace cubejit
