// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides it by the file where there is one, else by its resolved name.
#include "distinct_files.h"

#include <fmt/core.h>

#include <filesystem>
#include <system_error>

#include "runtime/text/printable.h"

namespace cubejit::cli {
namespace {

namespace fs = std::filesystem;

// Where a link leads, also one to a file that is not there yet.
fs::path resolved(fs::path path) {
  constexpr int kMostLinks = 40;
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, error); ++i)
    path = path.parent_path() / fs::read_symlink(path, error);
  return fs::weakly_canonical(fs::absolute(path, error), error);
}

bool same(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::exists(a, error) && fs::exists(b, error)) return fs::is_regular_file(a, error) && fs::equivalent(a, b, error);
  return resolved(a) == resolved(b);
}

}  // namespace

Status distinctFiles(const std::vector<NamedFile>& written, const std::vector<NamedFile>& read) {
  std::string broken;
  const auto compare = [&](const NamedFile& a, const NamedFile& b) {
    if (a.path.empty() || b.path.empty() || !same(a.path, b.path)) return;
    broken += fmt::format("{}{} and {} are the same file: {}, {}; one would be lost, so give another name",
                          broken.empty() ? "" : "\n", a.flag, b.flag, printable(a.path), printable(b.path));
  };
  for (std::size_t i = 0; i < written.size(); ++i) {
    for (std::size_t j = i + 1; j < written.size(); ++j) compare(written[i], written[j]);
    for (const NamedFile& other : read) compare(written[i], other);
  }
  if (!broken.empty()) return invalidInput(broken);
  return Unit{};
}

}  // namespace cubejit::cli
