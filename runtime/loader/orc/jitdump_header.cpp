// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the file is found: LLVM maps it into the process, as a mark for perf.
#include "runtime/loader/orc/jitdump_header.h"
#include "runtime/host/file_descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

namespace cubejit {
namespace {

// Magic, version, size, machine, padding, process: 4 bytes each; the time, 8 bytes; then the flags, 8 bytes
// (tools/perf/Documentation/jitdump-specification.txt of Linux).
constexpr off_t kFlagsAt = 32;

// The last field of its line in the list of mappings.
std::string mappedJitDump() {
  const std::string end = "/jit-" + std::to_string(getpid()) + ".dump";
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    if (path != std::string::npos && line.size() >= end.size() &&
        line.compare(line.size() - end.size(), end.size(), end) == 0)
      return line.substr(path);
  }
  return {};
}

}  // namespace

Status clearJitDumpFlags() {
  const std::string path = mappedJitDump();
  const std::uint64_t none = 0;
  const FileDescriptor file(path.empty() ? -1 : open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  const bool cleared = file && pwrite(file.get(), &none, sizeof none, kFlagsAt) == static_cast<ssize_t>(sizeof none);
  const int error = path.empty() ? ENOENT : errno;
  if (cleared) return Unit{};
  return Error{ErrorCode::kIo, Stage::kLoad, "cannot complete the jitdump " + path + ": " + std::strerror(error)};
}

}  // namespace cubejit
