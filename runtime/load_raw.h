// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how code bytes become executable memory: one anonymous mapping, written while read-write, then made read-execute.
// No page is ever writable and executable.
#pragma once

#include <cstddef>
#include <vector>

#include "codegen/abi.h"
#include "codegen/code.h"
#include "cubejit/result.h"

namespace cubejit {

/// Kernels in executable memory; unmapped with the object.
class LoadedCode {
 public:
  LoadedCode() = default;
  ~LoadedCode();
  LoadedCode(LoadedCode&& other) noexcept;
  LoadedCode& operator=(LoadedCode&& other) noexcept;
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;

  KernelFunction entry(std::size_t index) const { return entries_[index]; }
  std::size_t bytes() const { return bytes_; }

 private:
  friend Result<LoadedCode> loadRaw(const std::vector<Code>& codes);
  void* base_ = nullptr;
  std::size_t bytes_ = 0;
  std::vector<KernelFunction> entries_;
};

/// Maps all kernels at once. kLimitExceeded if the system refuses memory or executable pages.
Result<LoadedCode> loadRaw(const std::vector<Code>& codes);

}  // namespace cubejit
