// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a Python is run: as a child without a shell, which answers on a descriptor of its own. Leaves what it does to python_kernel.py.
#include "python_kernel.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <regex>

#include "python_kernel_script.h"
#include "runtime/host/file_descriptor.h"
#include "runtime/text/json_value.h"
#include "runtime/text/printable.h"

namespace cubejit::cli {
namespace {

constexpr int kAnswer = 3;
constexpr std::size_t kMostAnswer = std::size_t{1} << 26;

std::string pythonToRun() {
  const char* const asked = secure_getenv("CUBEJIT_PYTHON");
  return asked == nullptr || *asked == '\0' ? "python3" : asked;
}

// What the child wrote, and its status, as waitpid() has it.
struct Answer {
  std::string bytes;
  int status = 0;
};

Result<Answer> answerOf(std::vector<std::string> words) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return Error{ErrorCode::kLimitExceeded, Stage::kProblem, fmt::format("no pipe: {}", std::strerror(errno))};
  FileDescriptor ours(ends[0]);
  FileDescriptor theirs(ends[1]);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), kAnswer);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  pid_t child = -1;
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  static_cast<void>(theirs.close());  // or its end would not be seen
  if (error != 0)
    return invalidInput(
        fmt::format("{} cannot be run: {}; a kernel in Python needs one: install it, or set "
                    "CUBEJIT_PYTHON to the path of one that has cubejit",
                    printable(words.front()), std::strerror(error)));
  Answer answer;
  std::array<char, 65536> part{};
  while (answer.bytes.size() < kMostAnswer) {
    const ssize_t got = read(ours.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    answer.bytes.append(part.data(), static_cast<std::size_t>(got));
  }
  static_cast<void>(ours.close());  // a child that has more to say than is read does not wait for ever
  while (waitpid(child, &answer.status, 0) < 0 && errno == EINTR) {
  }
  return answer;
}

}  // namespace

std::optional<PythonFile> pythonFileOf(const std::string& typed) {
  const std::string ending = ".py";
  const auto ends = [&](const std::string& path) {
    return path.size() > ending.size() && path.compare(path.size() - ending.size(), ending.size(), ending) == 0;
  };
  if (ends(typed)) return PythonFile{typed, {}};
  const std::size_t colon = typed.rfind(':');
  if (colon == std::string::npos || !ends(typed.substr(0, colon))) return std::nullopt;
  return PythonFile{typed.substr(0, colon), typed.substr(colon + 1)};
}

std::string PythonKernel::placed(const std::string& message) const {
  static const std::regex kLine(R"(\bline (\d+))");
  std::string out;
  for (std::size_t begin = 0; begin <= message.size();) {
    const std::size_t end = std::min(message.size(), message.find('\n', begin));
    const std::string line = message.substr(begin, end - begin);
    std::smatch found;
    if (std::regex_search(line, found, kLine) && found[1].length() < 9) {
      const std::size_t number = std::stoul(found[1]);
      if (number >= 1 && number <= places.size()) out += places[number - 1] + ": ";
    }
    out += line + (end < message.size() ? "\n" : "");
    begin = end + 1;
  }
  return out;
}

Result<PythonKernel> readPythonKernel(const PythonFile& file) {
  if (access(file.path.c_str(), R_OK) != 0)
    return invalidInput(fmt::format("cannot read {}: {}", printable(file.path), std::strerror(errno)));
  const std::string python = pythonToRun();
  CUBEJIT_TRY(answer, answerOf({python, "-c", kPythonKernelScript, file.path, file.name}));
  const Json told = Json::parse(answer.bytes, nullptr, false);
  if (!told.is_object()) {
    const std::string how = WIFSIGNALED(answer.status) ? fmt::format("signal {}", WTERMSIG(answer.status))
                                                       : fmt::format("code {}", WEXITSTATUS(answer.status));
    return Error{ErrorCode::kUnsupported, Stage::kProblem,
                 fmt::format("{} ended with {} before it said what kernel {} defines", printable(python), how,
                             printable(file.path))};
  }
  if (told.contains("error")) {
    const std::string fix = told.value("fix", "");
    return invalidInput(told.value("error", "") + (fix.empty() ? "" : "; " + fix));
  }
  return PythonKernel{told.value("text", ""), told.value("places", std::vector<std::string>{})};
}

}  // namespace cubejit::cli
