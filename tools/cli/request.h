// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the flags that mean the same in every subcommand, and what they become.
#pragma once

#include <CLI/CLI.hpp>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "runtime/text/problem_text.h"
#include "tiling/whole_number.h"

namespace cubejit::cli {

/// Flags as typed.
struct RequestFlags {
  ProblemFlags problem;
  std::string prb, problemFile, suite;
  std::string passes = "dx,dw,db", dtype, layout, math, postOps, algorithm, isa, backend, threads, planFile, memLimit,
              soc, pins, goal;
  bool json = false, batchInvariant = false;
  bool sanitize = false;     ///< --soc: check programs before they run
  bool fast = false;         ///< --soc: forward what only copies
  bool manyThreads = false;  ///< --threads may be a list
};

/// For options: a number from `least` to `most`, which a text that CLI11 would cut to what fits, or takes for no number, is not.
CLI::Validator numberFrom(double least, double most);
/// --db-wait, of commands that open a store for writing.
void addStoreWaitFlag(CLI::App& app, std::optional<double>& seconds);
/// The same for whole numbers, exactly: no double holds the last of 64 bits, and CLI11 takes a 0 in front for octal. For transform().
template <class Number>
CLI::Validator wholeFrom(Number least, Number most = std::numeric_limits<Number>::max()) {
  const std::function<std::string(std::string&)> read = [least, most](std::string& text) {
    const std::optional<Number> value = wholeNumber<Number>(text);
    if (!value || *value < least || *value > most)
      return text + " must be a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    text = std::to_string(*value);
    return std::string();
  };
  return {read, "", ""};
}

void addProblemFlags(CLI::App& app, RequestFlags& flags, bool suite);
void addRunFlags(CLI::App& app, RequestFlags& flags);
void addSocFlag(CLI::App& app, RequestFlags& flags);
/// --fast and --for, where --soc runs something, or plans for that.
void addEmulationFlags(CLI::App& app, RequestFlags& flags);
/// --sanitize, where it runs what --soc compiles.
void addSanitizeFlag(CLI::App& app, RequestFlags& flags);

/// What the flags ask for.
struct Request {
  std::vector<Problem> problems;
  PassMask passes;
  Options options;
  std::vector<int> threads;       ///< at least one
  std::vector<TilingPlan> plans;  ///< from --plan
  bool isSuite = false;
  const std::optional<Machine>& soc() const { return options.machine; }  ///< from --soc
};

/// Everything wrong is reported; problems pass checkProblem unless they come from a suite (then each is checked on its own).
Result<Request> resolve(const RequestFlags& flags);

/// The flags behind the subcommand's name that ask for this problem again.
std::string reproduction(const std::string& command, const RequestFlags& flags, const Problem& problem);

/// What a problem without a name is called.
std::string labelOf(const Problem& problem);

/// The list of passes in a mask, in the order they are computed.
std::vector<Pass> passesOf(PassMask mask);

}  // namespace cubejit::cli
