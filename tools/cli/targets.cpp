// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what `targets` tells about this machine.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.h"
#include "cubejit/cubejit.hpp"
#include "json_line.h"
#include "runtime/backends.h"

namespace cubejit::cli {
namespace {

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

int targets(bool json) {
  const std::vector<IsaLevel> isas = runnableIsas();
  const Machine m = detectHost(isas.empty() ? IsaLevel::kAvx2 : isas.front());
  nlohmann::ordered_json out;
  out["schema"] = "cubejit.target/1";
  out["version"] = version();
  out["isa"] = nlohmann::ordered_json::array();
  for (const IsaLevel level : isas) out["isa"].push_back(toString(level));
  out["cores"] = m.cores;
  out["threads"] = defaultThreads();
  out["l1d_bytes"] = m.buffers.l0aBytes;
  out["l2_bytes"] = m.buffers.l1Bytes;
  out["l3_bytes"] = m.buffers.l2Bytes;
  const std::vector<std::string> backends = backendNames();
  out["backends"] = backends;
  out["machines"] = {"host"};
  if (json) {
    fmt::print("{}", jsonLine(out));
    return 0;
  }
  std::string levels;
  for (const IsaLevel level : isas) levels += (levels.empty() ? "" : ", ") + std::string(toString(level));
  fmt::print(
      "isa       {} (best first)\ncores     {}, {} usable by this process\ncaches    L1d {} KiB, L2 {} KiB, L3 {} "
      "KiB\n",
      levels.empty() ? "none" : levels, m.cores, defaultThreads(), m.buffers.l0aBytes / 1024, m.buffers.l1Bytes / 1024,
      m.buffers.l2Bytes / 1024);
  fmt::print("backends  {}\nmachines  host\n", fmt::join(backends, ", "));
  return 0;
}

}  // namespace

void addTargets(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("targets", "What can be generated for and run on: ISA, caches, threads, backends, machines");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "One JSON object");
  command->callback([&action, json] { action = [json](const std::string&) { return targets(*json); }; });
}

}  // namespace cubejit::cli
