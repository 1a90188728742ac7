// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile instruction's label spells what it is, for names and dumps. Instructions that differ in it alone mean the same.
#pragma once

#include <string>
#include <utility>

namespace cubejit {

struct Label {
  std::string text;
  Label() = default;
  Label(std::string spelled) : text(std::move(spelled)) {}  // NOLINT: implicit by design
  Label(const char* spelled) : text(spelled) {}             // NOLINT: implicit by design
  friend bool operator==(const Label&, const Label&) { return true; }
};

}  // namespace cubejit
