// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a fuzz target is without libFuzzer: a program that runs the files of its corpus, a test. What was found once is a file there.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <vector>

#include "tests/fuzz/target.h"

// Only libFuzzer calls mutators; here they only have to link.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* /*data*/, std::size_t size, std::size_t /*most*/) { return size; }

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      files.emplace_back(argv[i]);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (!file) return std::fprintf(stderr, "cannot read %s\n", path.c_str()), 1;
    std::fprintf(stderr, "%s\n", path.c_str());  // the last one is the one that fails
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  if (files.empty()) return std::fprintf(stderr, "no file was given: a corpus without files tests nothing\n"), 1;
  return 0;
}
