// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what `targets` tells about this machine.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "cubejit/cubejit.hpp"
#include "cubejit/machines.h"
#include "failure.h"
#include "json_line.h"
#include "runtime/host/cpu.h"
#include "runtime/loader/backends.h"
#include "runtime/text/json_machine.h"
#include "runtime/text/json_value.h"
#include "tiling/known_machines.h"

namespace cubejit::cli {
namespace {

std::string typesOf(const Machine& m) {
  std::string types;
  for (const MatrixProduct& cube : m.npu.cube.products)
    types += (types.empty() ? "" : " ") + std::string(toString(cube.operand));
  return types;
}

void print(const Machine& m) {
  constexpr std::int64_t kKib = 1024;
  fmt::print("{:<18} {:>5} {:>6} {:>5.0f} {:>7} {:>7} {:>6} {:>6} {:>6.0f}  {:<22} {}\n", m.name, m.cores,
             m.npu.vectorCores, m.npu.mhz, m.buffers.l0aBytes / kKib, m.buffers.l0cBytes / kKib,
             m.buffers.l1Bytes / kKib, m.buffers.ubBytes / kKib, static_cast<double>(m.buffers.l2Bytes) / (kKib * kKib),
             typesOf(m), m.npu.product);
}

void printMachines() {
  fmt::print("\n{:<18} {:>5} {:>6} {:>5} {:>7} {:>7} {:>6} {:>6} {:>6}  {:<22} {}\n", "machine (--soc)", "cores",
             "vector", "MHz", "L0A KiB", "L0C KiB", "L1 KiB", "UB KiB", "L2 MiB", "types", "product");
  for (const Machine& machine : knownMachines()) print(machine);
}

// A line for each product, with the first chip of its own.
void printFamilies() {
  struct Family {
    Machine first;
    int chips = 0;
  };
  std::vector<Family> families;
  for (const Machine& machine : knownMachines()) {
    const auto same = [&](const Family& family) { return family.first.npu.product == machine.npu.product; };
    const auto family = std::find_if(families.begin(), families.end(), same);
    if (family == families.end())
      families.push_back({machine, 1});
    else
      ++family->chips;
  }
  fmt::print("\n{:<28} {:>5}  {:<16} {}\n", "machines (--soc)", "chips", "such as", "types");
  for (const Family& family : families)
    fmt::print("{:<28} {:>5}  {:<16} {}\n", family.first.npu.product, family.chips, family.first.name,
               typesOf(family.first));
  fmt::print("`cubejit targets --all` lists them, with cores, clocks and buffers\n");
}

// Those that work here.
std::vector<std::string> backendNames() {
  const auto environment = optionsFromEnvironment();
  Options options = environment.ok() ? *environment : Options{};
  std::vector<std::string> names;
  for (const BackendKind kind : kAllBackends) {
    options.backend = kind;
    if (!emitsCode(kind) || codeBackend(options).ok()) names.emplace_back(toString(kind));
  }
  return names;
}

int targets(bool json, bool all) {
  const std::vector<IsaLevel> isas = runnableIsas();
  const Machine m = detectHost(isas.empty() ? IsaLevel::kAvx2 : isas.front());
  Json out;
  out["schema"] = "cubejit.target/1";
  out["version"] = version();
  out["isa"] = Json::array();
  for (const IsaLevel level : isas) out["isa"].push_back(toString(level));
  const std::string tiles = missingTiles(IsaLevel::kAvx512Amx);
  if (!tiles.empty()) out["no_tiles"] = tiles;
  out["cores"] = m.cores;
  out["threads"] = defaultThreads();
  out["rates"] = toString(m.core);
  out["l1d_bytes"] = m.buffers.l0aBytes;
  out["l2_bytes"] = m.buffers.l1Bytes;
  out["l3_bytes"] = m.buffers.l2Bytes;
  const std::vector<std::string> backends = backendNames();
  out["backends"] = backends;
  out["machines"] = machineNames();
  out["machines"].insert(out["machines"].begin(), "host");
  if (json) {
    fmt::print("{}", jsonLine(out));
    return 0;
  }
  std::string levels;
  for (const IsaLevel level : isas) levels += (levels.empty() ? "" : ", ") + std::string(toString(level));
  fmt::print(
      "isa       {} (best first)\ntiles     {}\ncores     {}, {} usable by this process\nrates     {}'s (what plans "
      "are costed "
      "with)\n"
      "caches    L1d {} KiB, L2 {} KiB, L3 {} KiB\n",
      levels.empty() ? "none" : levels, tiles.empty() ? "AMX" : "none: " + tiles, m.cores, defaultThreads(),
      toString(m.core), m.buffers.l0aBytes / 1024, m.buffers.l1Bytes / 1024, m.buffers.l2Bytes / 1024);
  fmt::print("backends  {}\n", fmt::join(backends, ", "));
  all ? printMachines() : printFamilies();
  return 0;
}

// One machine, in the form that --soc FILE reads.
int target(const std::string& soc, const std::string& typed) {
  const auto machine = readMachine(soc);
  if (!machine.ok()) return report(machine.error(), typed);
  fmt::print("{}\n", machineToJson(*machine));
  return 0;
}

}  // namespace

void addTargets(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("targets", "What can be generated for and run on: ISA, caches, threads, backends, machines");
  example(*command, "targets --soc ascend910b2");
  auto json = std::make_shared<bool>(false);
  auto all = std::make_shared<bool>(false);
  auto soc = std::make_shared<std::string>();
  command->add_flag("--all", *all, "Every NPU on a line of its own");
  command->add_flag("--json", *json, "One JSON object");
  command->add_option("--soc", *soc, "Only this NPU, as JSON: what --soc FILE reads, to be changed");
  command->callback([&action, json, all, soc] {
    action = [json, all, soc](const std::string& typed) {
      return soc->empty() ? targets(*json, *all) : target(*soc, typed);
    };
  });
}

}  // namespace cubejit::cli
