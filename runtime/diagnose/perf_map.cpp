// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the line: start and size in hexadecimal, then the name (tools/perf/Documentation/jit-interface.txt of Linux).
#include "runtime/diagnose/perf_map.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "runtime/host/file_descriptor.h"
#include "runtime/text/printable.h"

namespace cubejit {

Status writePerfMap(const std::vector<NamedCode>& codes) {
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  std::string text;
  for (const NamedCode& code : codes) {
    char line[48];
    std::snprintf(line, sizeof line, "%" PRIxPTR " %zx ", reinterpret_cast<std::uintptr_t>(code.address), code.bytes);
    text += line + code.symbol + "\n";
  }
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  const bool written = file && write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  if (written) return Unit{};
  return Error{ErrorCode::kIo, Stage::kLoad, "cannot write " + printable(path) + ": " + std::strerror(error)};
}

}  // namespace cubejit
