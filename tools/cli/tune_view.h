// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a tuning run shows while it runs: one live line on a terminal, plain lines elsewhere, JSON lines for machines.
// All of it on stderr; the table of results is data and goes to stdout.
#pragma once

#include <chrono>
#include <string>

#include "runtime/tuning/autotune.h"

namespace cubejit::cli {

enum class ViewKind : std::uint8_t { kTerminal, kPlain, kJson, kSilent };

/// One pass of one problem, as a run counts them.
struct TuneLayer {
  int index = 0, count = 1;  ///< from 0
  std::string name, pass;
  int mostTrials = 0;
  double mostSeconds = 0;  ///< of this layer
};

class TuneView {
 public:
  /// `wholeSeconds`: the budget of the run, 0 if trials limit it.
  TuneView(ViewKind kind, double wholeSeconds);
  ~TuneView();
  TuneView(const TuneView&) = delete;
  TuneView& operator=(const TuneView&) = delete;

  void begin(const TuneLayer& layer);
  void progress(const TuneProgress& now);
  void end(const TuneOutcome& outcome);
  void note(const std::string& text);
  /// A note that no --progress keeps quiet: records that wait or went elsewhere.
  void warn(const std::string& text);
  /// Removes the live line, so that something else can be printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double left(const TuneProgress& now) const;
  void draw(const TuneProgress& now, const std::string& what);

  const ViewKind kind_;
  const double wholeSeconds_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point drawnAt_{};
  TuneLayer layer_;
  double lastBest_ = 1;
  bool drawn_ = false;
};

}  // namespace cubejit::cli
