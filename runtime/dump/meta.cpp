// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the fields and the script.
#include "runtime/dump/meta.h"

#include "cubejit/cubejit.hpp"
#include "runtime/text/json_machine.h"
#include "runtime/text/json_problem.h"
#include "runtime/text/json_value.h"
#include "runtime/text/problem_text.h"

namespace cubejit {
namespace {

std::string stageList(const std::vector<DumpStage>& stages) {
  std::string text;
  for (const DumpStage stage : stages)
    text += (text.empty() ? "" : ",") + dumpStageNames()[static_cast<std::size_t>(stage)];
  return text;
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// The flags behind `cubejit dump` that ask for this folder, all but the plan and where to write.
std::string flags(const PassStages& s, const FilesRequest& r) {
  std::string text = toFlags(s.problem) + " --passes " + toString(s.plan.pass) + " --isa " +
                     toString(s.machine.isa.level) + " --emit " + stageList(r.stages);
  if (!r.backend.empty() && r.backend != "xbyak") text += " --backend " + r.backend;
  if (s.lowered) text += " --fast";
  if (!r.kernels.empty()) text += " --kernels " + quoted(r.kernels);
  if (!r.prefix.empty()) text += " --symbol " + quoted(r.prefix);
  return text;
}

}  // namespace

std::string metaJson(const PassStages& s, const FilesRequest& r, const FolderFiles& files) {
  const auto hash = [&](const std::string& bytes) {
    return r.tools == nullptr ? Json() : Json(r.tools->sha256(bytes));
  };
  Json out;
  out["schema"] = "cubejit.dump/1";
  out["version"] = version();
  out["program"] = s.tile.name;
  out["pass"] = toString(s.plan.pass);
  out["isa"] = toString(s.machine.isa.level);
  out["backend"] = r.backend;
  out["problem"] = Json::parse(problemToJson(s.problem));
  out["layout"] = toString(s.problem.layout);
  out["dtype"] = toString(s.problem.dtype);
  out["plan"] = Json::parse(planToJson(s.plan));
  if (s.machine.isEmulated())
    out["machine"] = Json::parse(machineToJson(s.machine));
  else
    out["machine"] = {{"name", s.machine.name},
                      {"cores", s.machine.cores},
                      {"l1d_bytes", s.machine.buffers.l0aBytes},
                      {"l2_bytes", s.machine.buffers.l1Bytes},
                      {"l3_bytes", s.machine.buffers.l2Bytes}};
  out["command"] =
      "cubejit dump " + flags(s, r) + (s.machine.isEmulated() ? " --soc " + quoted(s.machine.name) : "") + " -o DIR";
  out["kernels"] = Json::array();
  for (std::size_t k = 0; k < s.vectors.size(); ++k) {
    Json kernel{{"name", s.vectors[k].name}, {"symbol", kernelSymbol(s, k)}, {"vector_ops", s.vectors[k].code.size()}};
    if (k < s.codes.size()) {
      const auto& bytes = s.codes[k].bytes;
      kernel["code_bytes"] = bytes.size();
      kernel["code_sha256"] = hash(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }
    out["kernels"].push_back(std::move(kernel));
  }
  out["files"] = Json::array();
  for (const auto& [name, contents] : files)
    out["files"].push_back({{"name", name}, {"bytes", contents.size()}, {"sha256", hash(contents)}});
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string reproScript(const PassStages& s, const FilesRequest& r) {
  return "#!/bin/sh\n"
         "# Makes this folder again and compares every file byte by byte. CUBEJIT says which command to use.\n"
         "set -eu\n"
         "here=$(cd \"$(dirname \"$0\")\" && pwd)\n"
         "again=$(mktemp -d)\n"
         "trap 'rm -rf \"$again\"' EXIT\n"
         "\"${CUBEJIT:-cubejit}\" dump " +
         flags(s, r) + (s.machine.isEmulated() ? " \\\n  --soc \"$here/machine.json\"" : "") +
         " \\\n  --plan \"$here/plan.json\" -o \"$again\" > \"$again/folders\"\n"
         "diff -r \"$here\" \"$(cat \"$again/folders\")\" && echo \"same: $(ls \"$here\" | wc -l) files\"\n";
}

}  // namespace cubejit
