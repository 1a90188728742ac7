// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the mapping of generated code.
#include "runtime/loader/load_raw.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace cubejit {

Result<LoadedCode> loadRaw(const std::vector<Code>& codes) {
  constexpr std::size_t kAlign = 64, kPage = 4096;
  std::vector<std::size_t> offsets;
  std::size_t total = 0;
  for (const Code& code : codes) {
    offsets.push_back(total);
    total += (code.bytes.size() + kAlign - 1) / kAlign * kAlign;
  }
  if (total == 0) return LoadedCode();
  total = (total + kPage - 1) / kPage * kPage;
  const auto failed = [&](const char* call) {
    return Error{ErrorCode::kLimitExceeded, Stage::kLoad,
                 std::string(call) + " of " + std::to_string(total) +
                     " bytes for generated code failed: " + std::strerror(errno) +
                     "; the system may forbid executable memory, the interpreter backend works without"};
  };
  void* base = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return failed("mmap");
  std::shared_ptr<void> memory(base, [total](void* pages) { munmap(pages, total); });
  std::vector<KernelFunction> entries;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    char* at = static_cast<char*>(base) + offsets[i];
    std::memcpy(at, codes[i].bytes.data(), codes[i].bytes.size());
    entries.push_back(reinterpret_cast<KernelFunction>(at));
  }
  if (mprotect(base, total, PROT_READ | PROT_EXEC) != 0) return failed("mprotect to read-execute");
  return LoadedCode(std::move(memory), total, std::move(entries));
}

}  // namespace cubejit
