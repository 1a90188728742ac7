// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how ranges are read.
#include "explore_axes.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "runtime/text/json_machine.h"
#include "tiling/words.h"

namespace cubejit::cli {
namespace {

const std::map<std::string, std::string>& shortNames() {
  static const std::map<std::string, std::string> kNames = {
      {"l0a", "l0a_bytes"}, {"l0b", "l0b_bytes"}, {"l0c", "l0c_bytes"}, {"l1", "l1_bytes"}, {"l2", "l2_bytes"},
      {"ub", "ub_bytes"},   {"bt", "bt_bytes"},   {"fb", "fb_bytes"},   {"clock", "mhz"}};
  return kNames;
}

bool isSize(const std::string& field) { return field.size() > 6 && field.compare(field.size() - 6, 6, "_bytes") == 0; }

// A field as typed: its short name, or its name without what stands before the dot.
std::string fieldOf(const std::string& typed, const std::map<std::string, std::string>& numbers) {
  if (const auto name = shortNames().find(typed); name != shortNames().end()) return name->second;
  if (typed == kMemoryRate || numbers.count(typed) > 0) return typed;
  for (const char* part : {"rates.", "limits."}) {
    if (numbers.count(part + typed) > 0) return part + typed;
  }
  return {};
}

// A number, whole where the field is; sizes may have a unit.
Result<Json> numberOf(std::string text, const std::string& field, bool whole) {
  const std::string typed = text;
  std::int64_t unit = 1;
  if (!text.empty()) {
    const std::size_t power = std::string("KMG").find(static_cast<char>(std::toupper(text.back())));
    if (power != std::string::npos) {
      if (!isSize(field))
        return invalidInput(
            fmt::format("--vary {}: '{}' has a unit; only sizes in bytes (l1, l2_bytes, ...) take K, M or G", field,
                        typed),
            Stage::kPlan);
      unit = std::int64_t{1} << (10 * (power + 1));
      text.pop_back();
    }
  }
  const auto parse = [&](auto value) -> Result<Json> {
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool read = error == std::errc{} && stop == text.data() + text.size();
    constexpr const char* kRange = "--vary {}: '{}' is out of range; {} is the most";
    if (error == std::errc::result_out_of_range)
      return invalidInput(fmt::format(kRange, field, typed, whole ? "10^18" : "1.8e308"), Stage::kPlan);
    if (!read || !std::isfinite(static_cast<double>(value)))
      return invalidInput(
          fmt::format(
              "--vary {}: '{}' must be a {}", field, typed,
              whole ? isSize(field) ? "whole number of bytes, with K, M or G if you like" : "whole number" : "number"),
          Stage::kPlan);
    if (whole && std::abs(static_cast<double>(value)) * static_cast<double>(unit) > 1e18)
      return invalidInput(fmt::format(kRange, field, typed, "10^18"), Stage::kPlan);
    return Json(value * static_cast<decltype(value)>(unit));
  };
  return whole ? parse(std::int64_t{}) : parse(double{});
}

Json sum(const Json& a, const Json& b) {
  if (a.is_number_integer()) return a.get<std::int64_t>() + b.get<std::int64_t>();
  return a.get<double>() + b.get<double>();
}

// A..B and A..B:STEP.
Result<std::vector<Json>> rangeOf(const std::string& text, std::size_t dots, const std::string& field, bool whole) {
  const std::size_t colon = text.find(':', dots);
  CUBEJIT_TRY(first, numberOf(text.substr(0, dots), field, whole));
  CUBEJIT_TRY(last,
              numberOf(text.substr(dots + 2, colon == std::string::npos ? colon : colon - dots - 2), field, whole));
  if (last < first)
    return invalidInput(fmt::format("--vary {}: {} ends before it begins; write the smaller value first", field, text),
                        Stage::kPlan);
  const bool linear = colon != std::string::npos;
  Json step;
  if (linear) {
    CUBEJIT_TRY(given, numberOf(text.substr(colon + 1), field, whole));
    step = given;
    if (step <= 0)
      return invalidInput(fmt::format("--vary {}: the step {} must be more than 0", field, step.dump()), Stage::kPlan);
  } else if (first <= 0) {
    return invalidInput(fmt::format("--vary {}: {} cannot be doubled; begin above 0, or give a step: {}:STEP", field,
                                    first.dump(), text),
                        Stage::kPlan);
  }
  std::vector<Json> values;
  // A step of a fraction does not miss the end by a rounding.
  const double end = last.get<double>() * (1 + 1e-12);
  for (Json value = first; value.get<double>() <= end; value = linear ? sum(value, step) : sum(value, value)) {
    values.push_back(value);
    if (values.size() > kMostPoints)
      return invalidInput(
          fmt::format("--vary {}: {} has more than {} values; take a larger step", field, text, kMostPoints),
          Stage::kPlan);
  }
  if (!linear && values.back() < last) values.push_back(last);
  return values;
}

Result<std::vector<Json>> valuesOf(const std::string& text, const std::string& field, bool whole) {
  if (const std::size_t dots = text.find(".."); dots != std::string::npos) return rangeOf(text, dots, field, whole);
  std::vector<Json> values;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    CUBEJIT_TRY(value, numberOf(text.substr(begin, end - begin), field, whole));
    values.push_back(value);
    begin = end + 1;
  }
  std::sort(values.begin(), values.end());
  const auto twice = std::adjacent_find(values.begin(), values.end());
  if (twice != values.end())
    return invalidInput(fmt::format("--vary {}: {} is listed twice", field, twice->dump()), Stage::kPlan);
  return values;
}

Result<VariedNumber> axisOf(const std::string& text, const Json& machine,
                            const std::map<std::string, std::string>& numbers) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return invalidInput(fmt::format("--vary '{}' must be FIELD=A..B, FIELD=A..B:STEP or FIELD=V,V,...", text),
                        Stage::kPlan);
  const std::string typed = text.substr(0, equals);
  const std::string field = fieldOf(typed, numbers);
  if (field.empty()) {
    std::vector<std::string> known = {kMemoryRate};
    for (const auto& [name, meant] : shortNames()) known.push_back(name);
    for (const auto& [name, place] : numbers) known.push_back(name);
    const std::string near = nearestWord(typed, known);
    return invalidInput(
        fmt::format("--vary {}: a machine has no number of that name; {}", typed,
                    near.empty() ? "`cubejit targets --soc NAME` prints one" : "the nearest is " + near),
        Stage::kPlan);
  }
  const bool whole = field != kMemoryRate && machine[Json::json_pointer(numbers.at(field))].is_number_integer();
  CUBEJIT_TRY(values, valuesOf(text.substr(equals + 1), field, whole));
  return VariedNumber{field, values};
}

}  // namespace

Result<std::vector<VariedNumber>> parseAxes(const std::vector<std::string>& texts, const Machine& base) {
  const Json machine = Json::parse(machineToJson(base));
  const auto numbers = machineNumbers(machine);
  std::vector<VariedNumber> axes;
  std::string broken;
  const auto note = [&](const std::string& rule) { broken += (broken.empty() ? "" : "\n") + rule; };
  for (const std::string& text : texts) {
    auto axis = axisOf(text, machine, numbers);
    if (!axis.ok()) {
      note(axis.error().message);
      continue;
    }
    const auto named = [&](const char* field) {
      return std::any_of(axes.begin(), axes.end(), [&](const VariedNumber& a) { return a.field == field; });
    };
    if (named(axis->field.c_str()))
      note(fmt::format("--vary {}: is given twice; put its values in one list", axis->field));
    axes.push_back(std::move(*axis));
    if (named(kMemoryRate) && (named("rates.ddr_read") || named("rates.ddr_write")))
      note("--vary hbm: sets rates.ddr_read and rates.ddr_write; vary either it or them");
  }
  if (!broken.empty()) return invalidInput(broken, Stage::kPlan);
  return axes;
}

}  // namespace cubejit::cli
