// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the form of the log: one line an event, written at once, so that lines of several threads and processes do not mix:
//
//   cubejit plan program=dx_f32_... pass=dx source=planner why="..." ...
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "cubejit/diagnostics.h"

namespace cubejit {

enum class Topic : std::uint8_t { kPlan, kDispatch, kCache, kProfile };

/// A value of an event: text is quoted if it has to be.
class EventValue {
 public:
  EventValue(const char* text) : EventValue(std::string(text)) {}                          // NOLINT: implicit by design
  EventValue(const std::string& text);                                                     // NOLINT: implicit by design
  EventValue(std::int64_t number) : text_(std::to_string(number)) {}                       // NOLINT: implicit by design
  EventValue(int number) : text_(std::to_string(number)) {}                                // NOLINT: implicit by design
  EventValue(std::size_t number) : text_(std::to_string(number)) {}                        // NOLINT: implicit by design
  EventValue(double number) : text_(std::to_string(static_cast<std::int64_t>(number))) {}  // NOLINT: implicit by design
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

using EventFields = std::initializer_list<std::pair<const char*, EventValue>>;

/// True if events of the topic are wanted; ask before working out their fields.
bool logs(const Diagnostics& diagnostics, Topic topic);

/// Writes one event if it is wanted; `program` is what the filter looks at, and the first field. A log that cannot be written
/// is silently given up: nothing depends on it.
void logEvent(const Diagnostics& diagnostics, Topic topic, const std::string& program, EventFields fields);

}  // namespace cubejit
