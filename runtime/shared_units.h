// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that many cores share one copy of their units' code: it is made when the first core asks for it. Leaves making it to
// unit_loader.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/unit_loader.h"

namespace cubejit {

/// Thread-safe. What it returns lives as long as it does.
class SharedUnits {
 public:
  explicit SharedUnits(Options options = {}) : options_(std::move(options)) {}

  /// Code for operands of a type; null if there can be none on this host, and `why` says the reason.
  const UnitCode* codeFor(DType operand, std::string& why);

 private:
  struct Slot {
    DType operand = DType::kF16;
    std::unique_ptr<LoadedUnits> units;
    std::string why;
  };
  Options options_;
  std::mutex mutex_;
  std::vector<Slot> slots_;
};

}  // namespace cubejit
