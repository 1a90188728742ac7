// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that a file is whole or not there: it is written beside its place, and renamed.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace cubejit::cli {

/// False if it cannot be written; what was there is left then.
inline bool writeWholeFile(const std::string& path, std::string_view bytes) {
  const std::string beside = path + ".tmp" + std::to_string(getpid());
  std::ofstream out(beside, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(beside, path, error);
  if (out && !error) return true;
  std::filesystem::remove(beside, error);
  return false;
}

}  // namespace cubejit::cli
