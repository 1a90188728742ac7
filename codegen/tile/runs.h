// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides when a sequence is one entry and a repetition: entries that differ from the one before by the same distance. The text of programs
// says such runs in one line.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/tile/program.h"

namespace cubejit {

/// By what an entry differs from the one before it, in what its type's words say.
struct Distance {
  std::array<std::int64_t, 3> by{};
  friend bool operator==(const Distance& x, const Distance& y) = default;
};
using DistanceWords = std::array<const char*, 3>;

inline constexpr DistanceWords distanceWords(const Use* /*type*/) { return {"acc", "b", nullptr}; }
inline constexpr DistanceWords distanceWords(const VectorLoad* /*type*/) { return {"b", nullptr, nullptr}; }
inline constexpr DistanceWords distanceWords(const AOperand* /*type*/) { return {"a", "acc", "b"}; }
inline constexpr DistanceWords distanceWords(const Step* /*type*/) { return {"a", "b", "acc"}; }
inline constexpr DistanceWords distanceWords(const Accumulator* /*type*/) { return {"c", "d", nullptr}; }
inline constexpr DistanceWords distanceWords(const Segment* /*type*/) { return {"a", "b", "x"}; }
inline constexpr DistanceWords distanceWords(const Window* /*type*/) { return {"begin", "end", nullptr}; }
inline constexpr DistanceWords distanceWords(const Variant* /*type*/) { return {"k", "l", nullptr}; }

/// The distance from x to y if they are alike otherwise.
std::optional<Distance> distance(const Use& x, const Use& y);
std::optional<Distance> distance(const VectorLoad& x, const VectorLoad& y);
std::optional<Distance> distance(const AOperand& x, const AOperand& y);
std::optional<Distance> distance(const Step& x, const Step& y);
std::optional<Distance> distance(const Accumulator& x, const Accumulator& y);
std::optional<Distance> distance(const Segment& x, const Segment& y);
std::optional<Distance> distance(const Window& x, const Window& y);
std::optional<Distance> distance(const Variant& x, const Variant& y);

/// Moves an entry on: move(x, *distance(x, y)) makes it y. False if a field cannot hold the result.
bool move(Use& x, const Distance& d);
bool move(VectorLoad& x, const Distance& d);
bool move(AOperand& x, const Distance& d);
bool move(Step& x, const Distance& d);
bool move(Accumulator& x, const Distance& d);
bool move(Segment& x, const Distance& d);
bool move(Window& x, const Distance& d);
bool move(Variant& x, const Distance& d);

/// The same of an axis' steps: of their class, and of what they move each stream by.
struct StepDistance {
  std::int64_t cls = 0;
  std::vector<std::int64_t> delta;
  friend bool operator==(const StepDistance& x, const StepDistance& y) {
    return x.cls == y.cls && sameDeltas(x.delta, y.delta);
  }
};
std::optional<StepDistance> distance(const AxisStep& x, const AxisStep& y);
bool move(AxisStep& x, const StepDistance& d);

/// Entries of a list from `first` on, as they are told: `period` of them, the first alone repeated `inner` times if that is more than once (and
/// `period` is that many then), all of them `outer` times.
struct Run {
  std::size_t period = 1, inner = 1, outer = 1;
  std::size_t entries() const { return period * outer; }
  /// Those that need not be told.
  std::size_t saved() const { return entries() - (inner > 1 ? 1 : period); }
};

/// How often blocks of `period` entries follow each other at one distance, the first included.
template <class T>
std::size_t blocks(const std::vector<T>& entries, std::size_t first, std::size_t period) {
  std::size_t end = first + period;
  if (end >= entries.size()) return 1;
  const auto d = distance(entries[first], entries[end]);
  while (d && end < entries.size() && distance(entries[end - period], entries[end]) == d) ++end;
  return (end - first) / period;
}

/// The run at `first` that saves `least` entries, or a single one. Patterns of up to kLongestPeriod entries are found.
inline constexpr std::size_t kLongestPeriod = 8;
template <class T>
Run runAt(const std::vector<T>& entries, std::size_t first, std::size_t least) {
  Run run;
  run.inner = run.period = blocks(entries, first, 1);
  if (run.inner > 1) run.outer = blocks(entries, first, run.period);
  for (std::size_t period = 2; run.inner == 1 && run.outer == 1 && period <= kLongestPeriod; ++period) {
    const std::size_t outer = blocks(entries, first, period);
    if (outer > 1) run = Run{period, 1, outer};
  }
  return run.saved() >= least ? run : Run{};
}

}  // namespace cubejit
