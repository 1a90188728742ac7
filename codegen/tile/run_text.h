// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how runs of entries are written, ", repeat 9: a+64 b+2304" behind the first, and read back.
#pragma once

#include <string>
#include <type_traits>

#include "codegen/text/reader.h"
#include "codegen/text/writer.h"
#include "codegen/tile/runs.h"

namespace cubejit {

/// Entries of an enumeration that a summary shows.
inline constexpr std::size_t kShownEntries = 4;

inline std::string distanceText(const Distance& d, const DistanceWords& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (d.by[i] != 0) text += std::string(" ") + words[i] + signedText(d.by[i]);
  }
  return text;
}

/// Calls use(entry, text of the repetition behind it) for what is told of a list, up to `most` runs of it, and returns how many entries these are.
/// A run saves `least` entries; `far` is the text of a distance.
template <class T, class Far, class Uses>
std::size_t eachRun(const std::vector<T>& entries, std::size_t least, std::size_t most, Far far, Uses use) {
  std::size_t first = 0;
  const auto repeat = [&](std::size_t times, std::size_t period) {
    const std::string by = far(*distance(entries[first], entries[first + period]));
    return ", repeat " + std::to_string(times) + (period > 1 ? " last " + std::to_string(period) : "") +
           (by.empty() ? "" : ":" + by);
  };
  for (std::size_t shown = 0; first < entries.size() && shown < most; ++shown) {
    const Run run = runAt(entries, first, least);
    const std::string outer = run.outer > 1 ? repeat(run.outer, run.period) : "";
    if (run.inner > 1) {
      use(entries[first], repeat(run.inner, 1) + outer);
    } else {
      for (std::size_t i = 0; i < run.period; ++i) use(entries[first + i], i + 1 == run.period ? outer : std::string());
    }
    first += run.entries();
  }
  return first;
}
template <class T, class Uses>
std::size_t eachRun(const std::vector<T>& entries, std::size_t least, std::size_t most, Uses use) {
  const auto far = [](const Distance& d) { return distanceText(d, distanceWords(static_cast<const T*>(nullptr))); };
  return eachRun(entries, least, most, far, use);
}

inline Distance readDistance(TextReader& in, const DistanceWords& words) {
  Distance d;
  while (in.atOffset()) {
    std::size_t i = 0;
    while (i < words.size() && (words[i] == nullptr || !in.take(words[i]))) ++i;
    if (i == words.size()) {
      in.failExpecting("what the repetition moves");
      break;
    }
    d.by[i] = in.signedInteger(INT64_MIN, INT64_MAX, "a distance with its sign");
  }
  return d;
}

/// A repetition as it was read: of the last `period` entries, `times` in all.
template <class By>
struct Repetition {
  std::int64_t times = 1, period = 1;
  By by{};
};

template <class Far>
auto readRepetition(TextReader& in, Far far) {
  Repetition<std::decay_t<decltype(far())>> r;
  in.expect("repeat");
  r.times = in.integer(2, TextReader::kMostItems, "how often");
  if (in.take("last")) r.period = in.integer(2, TextReader::kMostItems, "a number of entries");
  if (in.takeSymbol(":")) r.by = far();
  return r;
}

/// Appends what the repetition stands for; `size` is what an entry counts for.
template <class T, class By>
void repeatLast(TextReader& in, std::vector<T>& entries, std::int64_t size, const Repetition<By>& r) {
  if (static_cast<std::size_t>(r.period) > entries.size())
    in.fail("repeats the last " + std::to_string(r.period) + " where there are " + std::to_string(entries.size()));
  for (std::int64_t i = (r.times - 1) * r.period; i > 0 && !in.failed(); --i) {
    in.claim(size);
    T next = entries[entries.size() - static_cast<std::size_t>(r.period)];
    if (!move(next, r.by)) in.fail("a repetition is out of range");
    entries.push_back(std::move(next));
  }
}

/// Reads the repetitions that may stand behind an entry, each behind a comma, and appends what they stand for. `size` is what an entry counts
/// for, `far` reads a distance.
template <class T, class Far>
void readRepeats(TextReader& in, std::vector<T>& entries, std::int64_t size, Far far) {
  in.claim(size);
  while (in.takeSymbol(",")) repeatLast(in, entries, size, readRepetition(in, far));
}
template <class T>
void readRepeats(TextReader& in, std::vector<T>& entries, std::int64_t size) {
  readRepeats(in, entries, size, [&] { return readDistance(in, distanceWords(static_cast<const T*>(nullptr))); });
}

}  // namespace cubejit
