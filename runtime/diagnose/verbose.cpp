// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides quoting, and where lines go. The file is opened anew for each line: events are rare, and it may be rotated.
#include "runtime/diagnose/verbose.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "runtime/host/file_descriptor.h"
#include "runtime/text/printable.h"

namespace cubejit {
namespace {

const char* nameOf(Topic topic) {
  static constexpr const char* kNames[] = {"plan", "dispatch", "cache", "profile"};
  return kNames[static_cast<int>(topic)];
}

// Events are lost, and their program goes on; its user is told once.
void noteLost(const std::string& path, int error) {
  static std::atomic_flag told = ATOMIC_FLAG_INIT;
  if (told.test_and_set()) return;
  const std::string note =
      "cubejit: note: events are lost, " + printable(path) + " cannot be written: " + std::strerror(error) + "\n";
  static_cast<void>(!write(STDERR_FILENO, note.data(), note.size()));
}

}  // namespace

EventValue::EventValue(const std::string& text) {
  if (!text.empty() && text.find_first_of(" \t\n\"=\\") == std::string::npos) {
    text_ = text;
    return;
  }
  text_ = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') text_ += '\\';
    text_ += c == '\n' ? ' ' : c;
  }
  text_ += "\"";
}

bool logs(const Diagnostics& d, Topic topic) {
  switch (topic) {
    case Topic::kPlan: return d.verbose.plan;
    case Topic::kDispatch: return d.verbose.dispatch;
    case Topic::kCache: return d.verbose.cache;
    case Topic::kProfile: return d.verbose.profile;
  }
  return false;
}

void logEvent(const Diagnostics& d, Topic topic, const std::string& program, EventFields fields) {
  if (!logs(d, topic)) return;
  if (!d.verboseFilter.empty() && fnmatch(("*" + d.verboseFilter + "*").c_str(), program.c_str(), 0) != 0) return;
  std::string line = std::string("cubejit ") + nameOf(topic) + " program=" + EventValue(program).text();
  for (const auto& [name, value] : fields) line += std::string(" ") + name + "=" + value.text();
  line += "\n";
  const bool toFile = !d.verboseFile.empty();
  const FileDescriptor file(
      toFile ? open(d.verboseFile.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600) : -1);
  if (toFile && !file) return noteLost(d.verboseFile, errno);
  const ssize_t written = write(toFile ? file.get() : STDERR_FILENO, line.data(), line.size());
  const int error = written < 0 ? errno : ENOSPC;
  if (toFile && written != static_cast<ssize_t>(line.size())) noteLost(d.verboseFile, error);
}

}  // namespace cubejit
