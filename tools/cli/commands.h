// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which subcommands there are. Each add* declares one and stores what to run.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace cubejit::cli {

/// Set by the subcommand that was chosen. Is given the command line as typed, for reproduction lines; returns the exit code.
using Action = std::function<int(const std::string& typed)>;

/// A layer that examples of several commands are about.
inline constexpr const char* kExampleLayer = "--input 1,64,56,56 --weight 64,64,3,3 --padding 1";

/// Closes the help page of a command with a line to copy, `cubejit ` and these words, and with the exit codes.
void example(CLI::App& command, const std::string& words);

void addTargets(CLI::App& app, Action& action);
void addPlan(CLI::App& app, Action& action);
void addTiling(CLI::App& app, Action& action);
void addDump(CLI::App& app, Action& action);
void addRun(CLI::App& app, Action& action);
void addVerify(CLI::App& app, Action& action);
void addKernel(CLI::App& app, Action& action);
void addPack(CLI::App& app, Action& action);  ///< pack and unpack
void addBench(CLI::App& app, Action& action);
void addExplore(CLI::App& app, Action& action);
void addTune(CLI::App& app, Action& action);
void addDb(CLI::App& app, Action& action);

}  // namespace cubejit::cli
