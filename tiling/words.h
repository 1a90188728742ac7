// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is said of a word that is not known: the nearest that is, and all there are. Leaves which words there are to those who read them.
#pragma once

#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

#include "cubejit/result.h"
#include "cubejit/words.h"

namespace cubejit {

/// ASCII letters in lower case.
std::string lowerCase(std::string text);

/// The known one that other projects call `word`, else the one that takes the fewest changes of a letter (one left out, put in, exchanged, or two
/// neighbours swapped) to become it; case does not count. Empty if none is like it. A known word ends before a blank or a colon: what
/// follows is for people ("clip:LOW:HIGH").
std::string nearestWord(const std::string& word, const std::vector<std::string>& known);

/// "unknown dtype 'fp32'; the nearest is f32; there are f32, f16": input that breaks a rule, whatever kind of word it is.
Error unknownWord(const std::string& what, const std::string& word, const std::vector<std::string>& known,
                  Stage stage = Stage::kProblem);

/// The one of the values that toString() spells so.
template <class Values>
auto parseWord(const std::string& what, const std::string& word, const Values& values, Stage stage = Stage::kProblem)
    -> Result<std::decay_t<decltype(*std::begin(values))>> {
  std::vector<std::string> known;
  for (const auto value : values) {
    if (word == toString(value)) return value;
    known.emplace_back(toString(value));
  }
  return unknownWord(what, word, known, stage);
}

}  // namespace cubejit
