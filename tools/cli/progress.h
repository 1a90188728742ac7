// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how long commands tell how far they are: a bar with time left on a terminal, a plain line now and then elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace cubejit::cli {

class Progress {
 public:
  Progress(std::string what, std::int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done` of the total are finished; `now` says what comes next.
  void update(std::int64_t done, const std::string& now);
  /// Removes the bar, so that other output can be printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  const std::string what_;
  const std::int64_t total_;
  const bool terminal_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_{};
  bool drawn_ = false;
};

}  // namespace cubejit::cli
