// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the mapping of generated code.
#include "runtime/load_raw.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace cubejit {

LoadedCode::~LoadedCode() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

LoadedCode::LoadedCode(LoadedCode&& other) noexcept { *this = std::move(other); }

LoadedCode& LoadedCode::operator=(LoadedCode&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  std::swap(entries_, other.entries_);
  return *this;
}

Result<LoadedCode> loadRaw(const std::vector<Code>& codes) {
  constexpr std::size_t kAlign = 64, kPage = 4096;
  LoadedCode loaded;
  std::vector<std::size_t> offsets;
  std::size_t total = 0;
  for (const Code& code : codes) {
    offsets.push_back(total);
    total += (code.bytes.size() + kAlign - 1) / kAlign * kAlign;
  }
  if (total == 0) return loaded;
  total = (total + kPage - 1) / kPage * kPage;
  const auto failed = [&](const char* call) {
    return Error{ErrorCode::kLimitExceeded, Stage::kLoad,
                 std::string(call) + " of " + std::to_string(total) +
                     " bytes for generated code failed: " + std::strerror(errno) +
                     "; the system may forbid executable memory, the interpreter backend works without"};
  };
  void* base = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return failed("mmap");
  loaded.base_ = base;
  loaded.bytes_ = total;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    char* at = static_cast<char*>(base) + offsets[i];
    std::memcpy(at, codes[i].bytes.data(), codes[i].bytes.size());
    loaded.entries_.push_back(reinterpret_cast<KernelFunction>(at));
  }
  if (mprotect(base, total, PROT_READ | PROT_EXEC) != 0) return failed("mprotect to read-execute");
  return loaded;
}

}  // namespace cubejit
