// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the look of progress on stderr.
#include "progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace cubejit::cli {

Progress::Progress(std::string what, std::int64_t total)
    : what_(std::move(what)), total_(total), terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
  drawn_ = false;
}

void Progress::update(std::int64_t done, const std::string& now) {
  const Clock::time_point time = Clock::now();
  const auto pause = terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(10000);
  if (time - (last_ == Clock::time_point{} ? start_ : last_) < pause && (done < total_ || !terminal_)) return;
  last_ = time;
  const double elapsed = std::chrono::duration<double>(time - start_).count();
  const double left = done > 0 ? elapsed / static_cast<double>(done) * static_cast<double>(total_ - done) : 0;
  if (!terminal_) {
    fmt::print(stderr, "{} {}/{} {} ({:.0f} s left)\n", what_, done, total_, now, left);
    return;
  }
  constexpr std::int64_t kWidth = 24;
  const std::int64_t filled = total_ > 0 ? done * kWidth / total_ : 0;
  fmt::print(stderr, "\r\033[K{} [{}{}] {}/{} eta {:.0f} s  {}", what_,
             std::string(static_cast<std::size_t>(filled), '='),
             std::string(static_cast<std::size_t>(kWidth - filled), ' '), done, total_, left, now.substr(0, 40));
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace cubejit::cli
