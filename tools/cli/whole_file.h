// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that a file is whole or not there: it is written beside its place, and renamed. What is no file, a pipe or a terminal, is
// written to.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace cubejit::cli {

/// False if it cannot be written; what was there is left then.
inline bool writeWholeFile(const std::string& given, std::string_view bytes) {
  namespace fs = std::filesystem;
  std::error_code error;
  const bool isFile = !fs::exists(given, error) || fs::is_regular_file(given, error);
  const std::string path = fs::is_symlink(given, error) && isFile ? fs::weakly_canonical(given, error).string() : given;
  const std::string beside = isFile ? path + ".tmp" + std::to_string(getpid()) : path;
  std::ofstream out(beside, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!isFile) return static_cast<bool>(out);
  error.clear();
  if (out) std::filesystem::rename(beside, path, error);
  if (out && !error) return true;
  std::filesystem::remove(beside, error);
  return false;
}

}  // namespace cubejit::cli
