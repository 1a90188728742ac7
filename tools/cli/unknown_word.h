// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is said of a word that the command does not know, or that is empty.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace cubejit::cli {

/// What is wrong with the command line behind a parse that failed: the command or flag that is unknown, and the nearest there
/// is. Empty if every word was known.
std::string unknownWord(const CLI::App& app);

/// The first option that was given an empty word, as a shell's variable that is not set gives it; empty if there is none.
std::string emptyOption(const CLI::App& app);

}  // namespace cubejit::cli
