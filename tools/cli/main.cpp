// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order, parse, act, and that what is thrown is told. Data goes to stdout, everything else to stderr.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <system_error>

#include "commands.h"
#include "cubejit/cubejit.hpp"
#include "failure.h"
#include "runtime/face/environment.h"
#include "tiling/no_throw.h"
#include "unknown_word.h"

namespace {

using cubejit::Error, cubejit::ErrorCode, cubejit::Stage;

// What was printed has arrived, or the command has failed: a full disk behind a redirection may show no sooner than here.
int acted(const cubejit::cli::Action& action, const std::string& typed) {
  try {
    const int code = action(typed);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    return cubejit::cli::report(Error{ErrorCode::kIo, Stage::kRun, "cannot write to standard output"}, typed);
  } catch (const std::system_error& e) {
    if (std::ferror(stdout) != 0)
      return cubejit::cli::report(
          Error{ErrorCode::kIo, Stage::kRun, "cannot write to standard output: " + e.code().message()}, typed);
    Error error = cubejit::caughtError(Stage::kRun);
    if (error.code == ErrorCode::kInternal) error.code = ErrorCode::kIo;
    return cubejit::cli::report(error, typed);
  }
}

int finish(const cubejit::cli::Action& action, const std::string& typed) {
  try {
    return acted(action, typed);
  } catch (const std::system_error&) {  // nobody can be told: standard error cannot be written to either
    return cubejit::cli::exitCode(ErrorCode::kIo);
  }
}

int act(int argc, char** argv) {
  CLI::App app{"cubejit: generates, runs, verifies and measures convolution backward kernels", "cubejit"};
  app.set_version_flag("--version", cubejit::version());
  app.require_subcommand(1);
  cubejit::cli::example(app, "plan " + std::string(cubejit::cli::kExampleLayer) + " --passes dx");
  cubejit::cli::Action action;
  cubejit::cli::addTargets(app, action);
  cubejit::cli::addPlan(app, action);
  cubejit::cli::addTiling(app, action);
  cubejit::cli::addDump(app, action);
  cubejit::cli::addRun(app, action);
  cubejit::cli::addVerify(app, action);
  cubejit::cli::addKernel(app, action);
  cubejit::cli::addPack(app, action);
  cubejit::cli::addBench(app, action);
  cubejit::cli::addExplore(app, action);
  cubejit::cli::addTune(app, action);
  cubejit::cli::addDb(app, action);
  const std::string typed = cubejit::cli::commandLine(argc, argv);
  try {
    app.parse(argc, argv);
    if (const std::string empty = cubejit::cli::emptyOption(app); !empty.empty())
      return cubejit::cli::reportUsage(empty + " is given an empty text; give it a value, or leave it out", typed);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return finish([&](const std::string&) { return app.exit(error); }, typed);
    const std::string unknown = cubejit::cli::unknownWord(app);
    return cubejit::cli::reportUsage(unknown.empty() ? error.what() : unknown, typed);
  }
  // Said here, so that every command refuses a value that does not exist, whether it would follow it or not.
  const auto environment = cubejit::readEnvironment();
  return environment.ok() ? finish(action, typed) : cubejit::cli::report(environment.error(), typed);
}

// Functions of others that promise not to throw, CLI11's among them, end here where there is no memory.
void endWithoutMemory() {
  if (std::current_exception() != nullptr &&
      cubejit::caughtError(cubejit::Stage::kRun).code == cubejit::ErrorCode::kLimitExceeded)
    std::_Exit(cubejit::cli::reportCaught());
  std::abort();
}

}  // namespace

// A file that is opened must not get the number of a standard stream that is closed, for what is printed would go into it. What stands in
// refuses what the stream is for.
void occupyStandardStreams() {
  while (true) {
    const int file = open("/dev/null", O_RDWR);
    if (file < 0 || file > STDERR_FILENO) {
      if (file >= 0) close(file);
      return;
    }
    close(file);
    if (open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY) != file) return;
  }
}

int main(int argc, char** argv) {
  occupyStandardStreams();
  std::set_terminate(endWithoutMemory);
  // A file that grows beyond `ulimit -f` is an error of what writes it, as on a full disk, and no death: what was half written is removed.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return act(argc, argv);
  } catch (...) {
    return cubejit::cli::reportCaught();
  }
}
