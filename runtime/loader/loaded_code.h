// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a loader returns: entries of kernels, and whatever keeps their pages mapped. Leaves mapping to the loaders.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "cubejit/kernel_args.h"

namespace cubejit {

/// Kernels in executable memory, in the order they were given; released with the object.
class LoadedCode {
 public:
  LoadedCode() = default;
  LoadedCode(std::shared_ptr<void> memory, std::size_t bytes, std::vector<KernelFunction> entries)
      : memory_{std::move(memory)}, bytes_(bytes), entries_(std::move(entries)) {}
  LoadedCode(LoadedCode&&) = default;
  LoadedCode& operator=(LoadedCode&&) = default;

  /// Takes over what another loader, or another call, loaded: its entries follow.
  void append(LoadedCode&& more) {
    memory_.insert(memory_.end(), std::make_move_iterator(more.memory_.begin()),
                   std::make_move_iterator(more.memory_.end()));
    entries_.insert(entries_.end(), more.entries_.begin(), more.entries_.end());
    bytes_ += more.bytes_;
  }

  KernelFunction entry(std::size_t index) const { return entries_[index]; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::vector<std::shared_ptr<void>> memory_;  ///< what to let go of is known to its deleter
  std::size_t bytes_ = 0;
  std::vector<KernelFunction> entries_;
};

}  // namespace cubejit
