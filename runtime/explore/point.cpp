// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where the numbers of a point come from: plans and cycles from the planner, bytes from the lowered program's counts.
#include "runtime/explore/point.h"

#include <algorithm>
#include <climits>

#include "algorithms/lower.h"
#include "runtime/chip/chip_report.h"
#include "runtime/text/json_machine.h"
#include "runtime/text/json_npu_report.h"
#include "runtime/text/json_object.h"
#include "runtime/text/json_problem.h"
#include "tiling/no_throw.h"

namespace cubejit {
namespace {

double sumOf(const Json& numbers) {
  double sum = 0;
  for (const Json& number : numbers) sum += number.get<double>();
  return sum;
}

Result<Json> passToJson(const Problem& problem, Pass pass, const Machine& machine, const EnergyFigures& figures) {
  CUBEJIT_TRY(planned, planOnNpu(problem, pass, machine));
  CUBEJIT_TRY(program, lower(problem, planned.plan, machine));
  const CoreCounts counts = chipReport(problem, planned.plan, machine, program, false, 0).total;
  Json out = npuReportToJson(problem, machine, planned);
  for (const char* known : {"schema", "soc", "core_cycles", "bytes_in", "bytes_out"}) out.erase(known);
  for (std::size_t i = 0; i < kPaths; ++i) out["bytes"][toString(static_cast<Path>(i))] = counts.bytes[i];
  out["memory_bytes"] = planned.memoryBytes;
  out["cube_steps"] = counts.cubeSteps;
  out["energy"] = energyOf(figures, machine, *machine.npu.cube.product(planned.plan.cube().tile.operand), counts,
                           out["memory_bytes"].get<double>());
  out["energy_pj"] = sumOf(out["energy"]);
  return out;
}

double onChipBytes(const Machine& m) {
  const Buffers& b = m.buffers;
  return static_cast<double>(m.cores) *
             static_cast<double>(b.l0aBytes + b.l0bBytes + b.l0cBytes + b.l1Bytes + b.ubBytes) +
         static_cast<double>(b.l2Bytes);
}

}  // namespace

Result<Json> pointToJson(const GridPoint& point, const ExploreQuestion& question) {
  Machine machine = point.machine;
  machine.isa = question.isa;
  Json out{{"vary", point.vary},
           {"machine", Json::parse(machineToJson(machine))},
           {"cycles", 0.0},
           {"us", 0.0},
           {"energy_pj", 0.0},
           {"memory_bytes", 0.0},
           {"on_chip_bytes", onChipBytes(machine)},
           {"failed", 0},
           {"bytes", Json::object()},
           {"energy", Json::object()},
           {"passes", Json::array()}};
  const auto add = [](Json& sum, const Json& more) { sum = sum.get<double>() + more.get<double>(); };
  for (const Problem& problem : question.problems) {
    for (const Pass pass : question.passes) {
      auto one = passToJson(problem, pass, machine, question.figures);
      if (!one.ok() && isOutOfMemory(one.error())) return one.error();
      if (!one.ok()) {
        out["failed"] = out["failed"].get<int>() + 1;
        out["passes"].push_back({{"name", problem.name}, {"pass", toString(pass)}, {"error", one.error().message}});
        continue;
      }
      add(out["cycles"], (*one)["predicted_cycles"]);
      add(out["us"], (*one)["predicted_us"]);
      for (const char* key : {"energy_pj", "memory_bytes"}) add(out[key], (*one)[key]);
      for (const char* key : {"bytes", "energy"}) {
        for (const auto& [name, value] : (*one)[key].items())
          out[key][name] = out[key].value(name, 0.0) + value.get<double>();
      }
      out["passes"].push_back(std::move(*one));
    }
  }
  return out;
}

bool isExploredPoint(const Json& json) {
  const auto has = [&](const char* key, bool (Json::*is)() const noexcept) {
    return json.contains(key) && (json[key].*is)();
  };
  const auto numbers = {"cycles", "us", "energy_pj", "memory_bytes", "on_chip_bytes"};
  const bool right = json.is_object() && has("vary", &Json::is_object) && has("machine", &Json::is_object) &&
                     json["machine"].contains("name") && json["machine"]["name"].is_string() &&
                     has("bytes", &Json::is_object) && has("energy", &Json::is_object) &&
                     has("passes", &Json::is_array) && json.contains("failed") &&
                     isWholeWithin(json["failed"], 0, INT_MAX);
  if (!right) return false;
  const auto isPass = [](const Json& pass) {
    return pass.is_object() && pass.contains("name") && pass["name"].is_string() &&
           (!pass.contains("error") || pass["error"].is_string());
  };
  return std::all_of(numbers.begin(), numbers.end(), [&](const char* key) { return has(key, &Json::is_number); }) &&
         std::all_of(json["passes"].begin(), json["passes"].end(), isPass);
}

std::vector<std::size_t> paretoFront(const std::vector<Json>& points, const char* x, const char* y) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i]["failed"] == 0) order.push_back(i);
  }
  const auto at = [&](std::size_t i) { return std::pair(points[i][x].get<double>(), points[i][y].get<double>()); };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return at(a) < at(b); });
  std::vector<std::size_t> front;
  for (const std::size_t i : order) {
    // Equal points are all on it; among those of one x only the least y is.
    if (front.empty() || at(i).second < at(front.back()).second || at(i) == at(front.back())) front.push_back(i);
  }
  return front;
}

}  // namespace cubejit
