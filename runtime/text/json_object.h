// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how objects are read from JSON: every key that is missing, unknown, of the wrong kind or there twice is reported, none is
// guessed; and how deep it may nest. Leaves which keys there are to the readers of problems, plans and machines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cubejit/problem.h"
#include "cubejit/result.h"
#include "runtime/text/json_value.h"
#include "runtime/text/printable.h"

namespace cubejit {

/// What others wrote, as JSON; discarded if it is none, has an object with a key twice (which of the two was meant nobody knows; `twice` is told
/// the key), or nests deeper than anything that is read here. JSON is copied and printed by functions that call themselves once a level: a
/// stranger's brackets must not use up the stack.
inline Json parseJson(const std::string& text, std::string* twice = nullptr) {
  constexpr int kDeepest = 64;
  int depth = 0;
  bool quoted = false, escaped = false;
  for (const char c : text) {
    if (quoted) {
      quoted = escaped || c != '"';
      escaped = !escaped && c == '\\';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest) return Json(Json::value_t::discarded);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  bool unique = true;
  const Json::parser_callback_t note = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event != Json::parse_event_t::key || keys.back().insert(parsed.get_ref<const std::string&>()).second)
      return true;
    if (unique && twice != nullptr) *twice = parsed.get<std::string>();
    unique = false;
    return true;
  };
  Json json = Json::parse(text, note, false);
  return unique ? json : Json(Json::value_t::discarded);
}

/// What a number is that JSON's reader gives up at, and which key it is of; nothing, if the text is wrong for another reason.
inline std::optional<std::string> hugeNumber(const std::string& text) {
  constexpr int kOutOfRange = 406;  // nlohmann's number of the exception
  struct Reader : Json::json_sax_t {
    std::vector<std::string> keys;  // of the objects that are open
    std::optional<std::string> found;
    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool start_object(std::size_t) override { return keys.emplace_back(), true; }
    bool end_object() override { return keys.pop_back(), true; }
    bool start_array(std::size_t) override { return true; }
    bool end_array() override { return true; }
    bool key(string_t& name) override { return keys.back() = name, true; }
    bool parse_error(std::size_t, const std::string& number, const nlohmann::detail::exception& error) override {
      if (error.id != kOutOfRange) return false;
      found = (keys.empty() || keys.back().empty() ? "" : "'" + keys.back() + "' = ") + number;
      return false;
    }
  };
  Reader reader;
  Json::sax_parse(text, &reader);
  return reader.found;
}

/// The same for what must be an object; `what` says what it is in errors, which are kInvalidProblem.
inline Result<Json> parseObject(const std::string& text, const std::string& what, Stage stage) {
  std::string twice;
  Json json = parseJson(text, &twice);
  if (json.is_object()) return json;
  constexpr std::size_t kShown = 120;
  if (twice.empty()) {
    if (const auto number = hugeNumber(text))
      return invalidInput(printable("of " + what + ": " + *number +
                                    " is out of range; whole numbers are from -2^63 to 2^63 - 1, "
                                    "others at most 1.8e308"),
                          stage);
  }
  const std::string none = what + " is not a JSON object: " + (text.empty() ? "it is empty" : text.substr(0, kShown));
  return invalidInput(
      printable(twice.empty() ? none : what + " has the key '" + twice + "' twice; leave one of them out"), stage);
}

/// What "pass" and "passes" were called up to version 0.2.0, in files that are read for one version more.
inline constexpr const char *kPassOfOld = "gradient", *kPassesOfOld = "gradients";

/// A member by its present name, if the object has it by its old one. With both of them the old one stays, and is a key that nobody knows.
inline void rename(Json& object, const char* old, const char* now) {
  if (!object.contains(old) || object.contains(now)) return;
  Json value = object[old];
  object.erase(old);
  object[now] = std::move(value);
}

/// Whether it is a whole number of 64 bits. Json's own conversions leave out what does not fit, or are undefined for it.
inline bool isWhole(const Json& value) {
  return value.is_number_integer() &&
         !(value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX));
}

inline bool isWholeWithin(const Json& value, std::int64_t least, std::int64_t most) {
  return isWhole(value) && value.get<std::int64_t>() >= least && value.get<std::int64_t>() <= most;
}

/// A value as it is told: its beginning, if it is long.
inline std::string shown(const Json& value) {
  constexpr std::size_t kShown = 80;
  const std::string text = oneLine(value);
  return printable(text.size() <= kShown ? text : text.substr(0, kShown) + "...");
}

/// A list of whole numbers that the type holds, from `least` on; of anything else, std::nullopt.
template <class Number>
std::optional<std::vector<Number>> wholeNumbers(const Json& list, Number least = std::numeric_limits<Number>::min()) {
  const auto fits = [least](const Json& value) {
    return isWholeWithin(value, least, std::numeric_limits<Number>::max());
  };
  if (!list.is_array() || !std::all_of(list.begin(), list.end(), fits)) return std::nullopt;
  return list.get<std::vector<Number>>();
}

/// Reads one object. `broken()` last: it also reports keys nobody asked for.
class ObjectReader {
 public:
  explicit ObjectReader(const Json& json) : json_(json) {}

  void integer(const char* key, std::int64_t& to, bool required = true) {
    if (const Json* value = find(key, required)) read(*value, key, to);
  }

  /// Up to 2^64 - 1.
  void natural(const char* key, std::uint64_t& to, bool required = true) {
    const Json* value = find(key, required);
    if (value == nullptr) return;
    if (value->is_number_unsigned())
      to = value->get<std::uint64_t>();
    else
      fail(key, *value, "a whole number from 0 to 2^64 - 1");
  }

  void number(const char* key, double& to, bool required = true) {
    const Json* value = find(key, required);
    if (value == nullptr) return;
    if (value->is_number())
      to = value->get<double>();
    else
      fail(key, *value, "a number");
  }

  void axes(const char* key, Dhw& to, bool required = true) {
    const Json* value = find(key, required);
    if (value == nullptr) return;
    if (!value->is_array() || value->size() != 3) {
      fail(key, *value, "[d, h, w]");
      return;
    }
    for (int a = 0; a < 3; ++a) read((*value)[static_cast<std::size_t>(a)], key, to[a]);
  }

  /// Six whole numbers; false if they are not there.
  bool six(const char* key, const char* form, std::int64_t (&to)[6]) {
    const Json* value = find(key, false);
    if (value == nullptr) return false;
    if (!value->is_array() || value->size() != 6) {
      fail(key, *value, form);
      return false;
    }
    for (std::size_t i = 0; i < 6; ++i) read((*value)[i], key, to[i]);
    return true;
  }

  void note(const char* key) { seen_.insert(key); }

  void boolean(const char* key, bool& to) {
    const Json* value = find(key, false);
    if (value == nullptr) return;
    if (value->is_boolean())
      to = value->get<bool>();
    else
      fail(key, *value, "true or false");
  }

  void string(const char* key, std::string& to, bool required = false) {
    const Json* value = find(key, required);
    if (value == nullptr) return;
    if (value->is_string())
      to = value->get<std::string>();
    else
      fail(key, *value, "a string");
  }

  /// An object or array within; null, and reported, if it is neither there nor of that kind.
  const Json* inner(const char* key, bool array) {
    const Json* value = find(key, true);
    if (value != nullptr && (array ? value->is_array() : value->is_object())) return value;
    if (value != nullptr) fail(key, *value, array ? "a list" : "an object");
    return nullptr;
  }

  void fail(const std::string& message) { broken_ += (broken_.empty() ? "" : "\n") + message; }
  void fail(const std::string& key, const Json& value, const std::string& rule) {
    fail("'" + key + "' = " + shown(value) + " must be " + rule);
  }

  /// What was wrong so far.
  const std::string& wrong() const { return broken_; }
  std::string broken() {
    for (const auto& [key, value] : json_.items()) {
      static_cast<void>(value);
      if (seen_.count(key) == 0) fail("'" + key + "' is not a key this object has");
    }
    return broken_;
  }

 private:
  const Json* find(const char* key, bool required) {
    seen_.insert(key);
    if (json_.contains(key)) return &json_[key];
    if (required) fail(std::string("'") + key + "' is missing");
    return nullptr;
  }

  void read(const Json& value, const char* key, std::int64_t& to) {
    if (isWhole(value))
      to = value.get<std::int64_t>();
    else
      fail(key, value, "a whole number from -2^63 to 2^63 - 1");
  }

  const Json& json_;
  std::set<std::string> seen_;
  std::string broken_;
};

}  // namespace cubejit
