// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how values of a point become a machine.
#include "runtime/explore/grid.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "runtime/text/json_machine.h"
#include "tiling/rule_lines.h"

namespace cubejit {
namespace {

// The machine with the values of a point.
Result<Machine> machineAt(const Json& base, const Json& vary, const std::map<std::string, std::string>& numbers) {
  Json machine = base;
  for (const auto& [field, value] : vary.items()) {
    if (field != kMemoryRate) machine[Json::json_pointer(numbers.at(field))] = value;
    machine["name"] = machine["name"].get<std::string>() + " " + field + "=" + value.dump();
  }
  // Cores share the chip's memory, and its clock is its own.
  const auto product = [](const Json& m) { return m["cores"].get<double>() * m["mhz"].get<double>(); };
  for (const char* rate : {"ddr_read", "ddr_write"}) {
    if (vary.contains(std::string("rates.") + rate) || product(machine) <= 0) continue;
    if (vary.contains(kMemoryRate))
      machine["rates"][rate] = vary[kMemoryRate].get<double>() * 1e3 / product(machine);
    else if (product(machine) != product(base))
      machine["rates"][rate] = base["rates"][rate].get<double>() * product(base) / product(machine);
  }
  return machineFromJson(machine.dump());
}

}  // namespace

std::map<std::string, std::string> machineNumbers(const Json& machine) {
  std::map<std::string, std::string> out;
  for (const auto& [key, value] : machine.items()) {
    if (value.is_number()) out[key] = "/" + key;
    if (!value.is_object()) continue;
    for (const auto& [inner, number] : value.items()) out[key + "." + inner] = "/" + key + "/" + inner;
  }
  for (std::size_t i = 0; i < machine["cubes"].size(); ++i)
    out["cubes." + machine["cubes"][i]["type"].get<std::string>() + ".cycles"] =
        "/cubes/" + std::to_string(i) + "/cycles";
  return out;
}

Result<std::vector<GridPoint>> gridOf(const std::vector<VariedNumber>& axes, const Machine& base) {
  std::size_t count = 1;
  std::string sizes;
  for (const VariedNumber& axis : axes) {
    count *= axis.values.size();  // of each at most kMostPoints, and stopped below
    sizes += (sizes.empty() ? "" : " x ") + std::to_string(axis.values.size()) + " " + axis.field;
    if (count > kMostPoints)
      return invalidInput(sizes + " are " + std::to_string(count) + " points; the most is " +
                              std::to_string(kMostPoints) + ": take larger steps or fewer fields",
                          Stage::kPlan);
  }
  const Json machine = Json::parse(machineToJson(base));
  const auto numbers = machineNumbers(machine);
  std::vector<GridPoint> points;
  std::vector<std::string> broken;
  for (std::size_t i = 0; i < count; ++i) {
    GridPoint point{base, Json::object()};
    std::size_t faster = count;  // points of the axes from here on
    for (const VariedNumber& axis : axes) {
      const std::size_t place = i % faster;
      faster /= axis.values.size();
      point.vary[axis.field] = axis.values[place / faster];
    }
    auto made = machineAt(machine, point.vary, numbers);
    if (made.ok()) {
      point.machine = std::move(*made);
    } else {
      std::istringstream rules(made.error().message);
      rules.exceptions(std::ios::badbit);  // where memory ends
      for (std::string rule; std::getline(rules, rule);) {
        if (std::find(broken.begin(), broken.end(), rule) == broken.end()) broken.push_back(rule);
      }
    }
    points.push_back(std::move(point));
  }
  if (!broken.empty()) return invalidInput(inLines(broken), Stage::kPlan);
  return points;
}

}  // namespace cubejit
