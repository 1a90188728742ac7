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

std::string programFlags(const OfConvolution& c) { return toFlags(c.problem) + " --passes " + toString(c.plan.pass); }
std::string programFlags(const OfKernelText& k) { return settingFlags(k.source); }

// The flags behind `cubejit dump`, or behind the file of `cubejit kernel`, that ask for this folder, all but the plan and where to write.
std::string flags(const PassStages& s, const FilesRequest& r) {
  std::string text = std::visit([](const auto& of) { return programFlags(of); }, s.origin);
  text += (text.empty() ? "--isa " : " --isa ") + std::string(toString(s.machine.isa.level)) + " --emit " +
          stageList(r.stages);
  if (!r.backend.empty() && r.backend != "xbyak") text += " --backend " + r.backend;
  if (s.lowered) text += " --fast";
  if (!r.kernels.empty()) text += " --kernels " + quoted(r.kernels);
  if (!r.prefix.empty()) text += " --symbol " + quoted(r.prefix);
  return text;
}

Json parametersOf(const lang::Source& kernel) {
  Json out = Json::object();
  for (const lang::Parameter& p : kernel.parameters) out[p.name] = p.textOf(p.value);
  return out;
}

bool isKernel(const PassStages& s) { return std::holds_alternative<OfKernelText>(s.origin); }

}  // namespace

std::string parametersToJson(const lang::Source& kernel) { return oneLine(parametersOf(kernel)); }

std::string headerCommand(const PassStages& s) {
  const std::string flags = std::visit([](const auto& of) { return programFlags(of); }, s.origin);
  if (!isKernel(s)) return "cubejit dump " + flags + (s.machine.isEmulated() ? " --soc " + s.machine.name : "");
  return "cubejit kernel kernel.tile" + (flags.empty() ? "" : " " + flags);
}

std::string metaJson(const PassStages& s, const FilesRequest& r, const FolderFiles& files) {
  const auto hash = [&](const std::string& bytes) {
    return r.tools == nullptr ? Json() : Json(r.tools->sha256(bytes));
  };
  Json out;
  out["schema"] = "cubejit.dump/1";
  out["version"] = version();
  out["program"] = s.tile.name;
  const auto* const convolution = std::get_if<OfConvolution>(&s.origin);
  if (convolution != nullptr) out["pass"] = toString(convolution->plan.pass);
  out["isa"] = toString(s.machine.isa.level);
  out["backend"] = r.backend;
  if (convolution != nullptr) {
    out["problem"] = Json::parse(problemToJson(convolution->problem));
    out["layout"] = toString(convolution->problem.layout);
    out["dtype"] = toString(convolution->problem.dtype);
    out["plan"] = Json::parse(planToJson(convolution->plan));
  } else {
    const lang::Source& kernel = std::get<OfKernelText>(s.origin).source;
    out["kernel"] = kernel.name;
    out["parameters"] = parametersOf(kernel);
  }
  if (s.machine.isEmulated())
    out["machine"] = Json::parse(machineToJson(s.machine));
  else
    out["machine"] = {{"name", s.machine.name},
                      {"cores", s.machine.cores},
                      {"l1d_bytes", s.machine.buffers.l0aBytes},
                      {"l2_bytes", s.machine.buffers.l1Bytes},
                      {"l3_bytes", s.machine.buffers.l2Bytes}};
  out["command"] = isKernel(s) ? "cubejit kernel kernel.tile " + flags(s, r) + " --dump DIR"
                               : "cubejit dump " + flags(s, r) +
                                     (s.machine.isEmulated() ? " --soc " + quoted(s.machine.name) : "") + " -o DIR";
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
  const std::string command = isKernel(s) ? "kernel \"$here/kernel.tile\" " + flags(s, r) + " \\\n  --dump"
                                          : "dump " + flags(s, r) +
                                                (s.machine.isEmulated() ? " \\\n  --soc \"$here/machine.json\"" : "") +
                                                " \\\n  --plan \"$here/plan.json\" -o";
  return "#!/bin/sh\n"
         "# Makes this folder again and compares every file byte by byte. CUBEJIT says which command to use.\n"
         "set -eu\n"
         "here=$(cd \"$(dirname \"$0\")\" && pwd)\n"
         "again=$(mktemp -d)\n"
         "trap 'rm -rf \"$again\"' EXIT\n"
         "\"${CUBEJIT:-cubejit}\" " +
         command +
         " \"$again\" > \"$again/folders\"\n"
         "diff -r \"$here\" \"$(cat \"$again/folders\")\" && echo \"same: $(ls \"$here\" | wc -l) files\"\n";
}

}  // namespace cubejit
