// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which subcommands there are. Each add* declares one and stores what to run.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace cubejit::cli {

/// Set by the subcommand that was chosen; returns the exit code.
using Action = std::function<int()>;

void addTargets(CLI::App& app, Action& action);
void addPlan(CLI::App& app, Action& action);
void addDump(CLI::App& app, Action& action);
void addRun(CLI::App& app, Action& action);
void addVerify(CLI::App& app, Action& action);
void addBench(CLI::App& app, Action& action);

}  // namespace cubejit::cli
