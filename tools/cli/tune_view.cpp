// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the lines.
#include "tune_view.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "duration.h"
#include "json_line.h"
#include "runtime/text/json_value.h"

namespace cubejit::cli {
namespace {

std::size_t terminalWidth() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 100;
}

std::string milliseconds(std::int64_t ns) {
  const double ms = static_cast<double>(ns) * 1e-6;
  return ms >= 100 ? fmt::format("{:.0f} ms", ms)
         : ms >= 1 ? fmt::format("{:.2f} ms", ms)
                   : fmt::format("{:.1f} us", ms * 1e3);
}

}  // namespace

TuneView::TuneView(ViewKind kind, double wholeSeconds) : kind_(kind), wholeSeconds_(wholeSeconds) {}
TuneView::~TuneView() { clear(); }

void TuneView::clear() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
  drawn_ = false;
}

void TuneView::note(const std::string& text) {
  clear();
  if (kind_ == ViewKind::kJson)
    fmt::print(stderr, "{}", jsonLine(Json{{"schema", "cubejit.event/1"}, {"event", "note"}, {"text", text}}));
  else if (kind_ != ViewKind::kSilent)
    fmt::print(stderr, "note: {}\n", text);
}

void TuneView::warn(const std::string& text) {
  if (kind_ == ViewKind::kSilent)
    fmt::print(stderr, "note: {}\n", text);
  else
    note(text);
}

void TuneView::begin(const TuneLayer& layer) {
  layer_ = layer;
  lastBest_ = 1;
  if (kind_ == ViewKind::kJson) {
    fmt::print(stderr, "{}",
               jsonLine(Json{{"schema", "cubejit.event/1"},
                             {"event", "layer"},
                             {"layer", layer.index + 1},
                             {"layers", layer.count},
                             {"name", layer.name},
                             {"pass", layer.pass}}));
  } else if (kind_ == ViewKind::kTerminal) {
    draw({}, "starting");
  }
}

// The budget is cut equally among what is left of the layers; without one, layers are taken to last as long as those before.
double TuneView::left(const TuneProgress& now) const {
  if (wholeSeconds_ > 0) return std::max(0.0, wholeSeconds_ - elapsed());
  const double share = layer_.mostTrials > 0 ? static_cast<double>(now.trial) / layer_.mostTrials : 0.5;
  const double done = layer_.index + share;
  return done > 0 ? elapsed() / done * (layer_.count - done) : 0;
}

void TuneView::draw(const TuneProgress& now, const std::string& what) {
  constexpr int kBar = 18;
  const double share = layer_.mostTrials > 0    ? static_cast<double>(now.trial) / layer_.mostTrials
                       : layer_.mostSeconds > 0 ? now.seconds / layer_.mostSeconds
                                                : 0;
  const double whole = (layer_.index + std::clamp(share, 0.0, 1.0)) / std::max(1, layer_.count);
  const auto filled = static_cast<std::size_t>(whole * kBar);
  std::string trials =
      layer_.mostTrials > 0 ? fmt::format("{}/{}", now.trial, layer_.mostTrials) : std::to_string(now.trial);
  std::string line = fmt::format("tune {}/{} {} {}  [{}{}] {:.0f} %  trial {}", layer_.index + 1, layer_.count,
                                 layer_.pass, layer_.name.substr(0, 28), std::string(filled, '='),
                                 std::string(kBar - filled, ' '), 100 * whole, trials);
  if (now.bestNs > 0) line += fmt::format("  best {} ({:.2f}x)", milliseconds(now.bestNs), 1 / now.best);
  if (!what.empty()) line += "  " + what;
  if (now.trial > 0) line += "  eta " + clockText(left(now));
  line += "  ^C ends";
  fmt::print(stderr, "\r\033[K{}", line.substr(0, terminalWidth() - 1));
  std::fflush(stderr);
  drawn_ = true;
}

void TuneView::progress(const TuneProgress& now) {
  const Clock::time_point time = Clock::now();
  if (kind_ == ViewKind::kJson) {
    fmt::print(stderr, "{}",
               jsonLine(Json{{"schema", "cubejit.event/1"},
                             {"event", "trial"},
                             {"layer", layer_.index + 1},
                             {"trial", now.trial},
                             {"status", toString(now.status)},
                             {"relative", now.relative},
                             {"best", now.best},
                             {"untuned_ns", now.untunedNs},
                             {"best_ns", now.bestNs},
                             {"seconds", now.seconds},
                             {"eta_s", left(now)}}));
    return;
  }
  const bool better = now.best < lastBest_;
  lastBest_ = std::min(lastBest_, now.best);
  if (kind_ == ViewKind::kTerminal) {
    if (time - drawnAt_ < std::chrono::milliseconds(100) && !better) return;
    drawnAt_ = time;
    draw(now, now.status == TrialStatus::kMeasured
                  ? (now.relative > 0 ? fmt::format("now {:.2f}x", 1 / now.relative) : "")
                  : toString(now.status));
  } else if (kind_ == ViewKind::kPlain && time - drawnAt_ > std::chrono::seconds(10)) {
    drawnAt_ = time;
    fmt::print(stderr, "tune {}/{} {} {}: trial {}, best {} ({:.2f}x), eta {}\n", layer_.index + 1, layer_.count,
               layer_.pass, layer_.name, now.trial, milliseconds(now.bestNs), 1 / now.best, clockText(left(now)));
  }
}

void TuneView::end(const TuneOutcome& outcome) {
  clear();
  if (kind_ != ViewKind::kJson) return;
  fmt::print(stderr, "{}",
             jsonLine(Json{{"schema", "cubejit.event/1"},
                           {"event", "layer_done"},
                           {"layer", layer_.index + 1},
                           {"trials", outcome.tried},
                           {"best", outcome.best.relative},
                           {"confirmed", outcome.confirmed},
                           {"interrupted", outcome.interrupted}}));
}

}  // namespace cubejit::cli
