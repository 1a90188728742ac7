// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what writing text does where memory ends.
#pragma once

#include <ios>
#include <sstream>
#include <string>

namespace cubejit {

/// Text is written to one of these: a plain std::ostringstream loses what it has no memory for, and goes on without a word. Throws std::bad_alloc.
class TextStream : public std::ostringstream {
 public:
  TextStream() { exceptions(std::ios::badbit); }
};

}  // namespace cubejit
