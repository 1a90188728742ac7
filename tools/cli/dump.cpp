// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what `dump` writes: one folder a problem and gradient, with the stages asked for; whole or not at all.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "codegen/backend.h"
#include "codegen/disassemble.h"
#include "codegen/lower.h"
#include "codegen/tile/print.h"
#include "codegen/vector/legalize.h"
#include "codegen/vector/print.h"
#include "codegen/vectorize.h"
#include "commands.h"
#include "failure.h"
#include "request.h"
#include "runtime/json_problem.h"
#include "tiling/planner.h"

namespace cubejit::cli {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string>& stageNames() {
  static const std::vector<std::string> kNames{"problem", "plan", "tile", "vector", "asm", "bin"};
  return kNames;
}

Result<std::vector<std::string>> parseStages(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    if (std::find(stageNames().begin(), stageNames().end(), name) == stageNames().end()) {
      return Error{ErrorCode::kUnsupported, Stage::kProblem,
                   fmt::format("unknown stage '{}'; there are {}", name, fmt::join(stageNames(), ", "))};
    }
    out.push_back(name);
    begin = end + 1;
  }
  return out;
}

// File name -> contents of one gradient's folder.
Result<std::map<std::string, std::string>> stagesOf(const Problem& p, Gradient gradient, const Machine& machine,
                                                    const std::vector<TilingPlan>& plans,
                                                    const std::vector<std::string>& stages, std::string& folder) {
  const auto wants = [&](const char* stage) { return std::find(stages.begin(), stages.end(), stage) != stages.end(); };
  TilingPlan plan;
  const auto given = std::find_if(plans.begin(), plans.end(),
                                  [&](const TilingPlan& candidate) { return candidate.gradient == gradient; });
  if (given != plans.end()) {
    plan = *given;
    const auto broken = checkPlan(p, plan, machine);
    if (!broken.empty())
      return Error{ErrorCode::kNoFeasiblePlan, Stage::kPlan, fmt::format("{}", fmt::join(broken, "\n"))};
  } else {
    CUBEJIT_TRY(choice, choosePlan(p, gradient, machine, false));
    plan = choice.plan;
  }
  CUBEJIT_TRY(tile, lower(p, plan, machine));
  folder = tile.name + "__" + toString(machine.isa.level);
  std::map<std::string, std::string> files;
  if (wants("problem")) files["problem.json"] = problemToJson(p) + "\n";
  if (wants("plan")) files["plan.json"] = planToJson(plan) + "\n";
  if (wants("tile")) files["tile.txt"] = print(tile, Detail::kFull);
  for (std::size_t k = 0; k < tile.kernels.size() && (wants("vector") || wants("asm") || wants("bin")); ++k) {
    CUBEJIT_TRY(vector, vectorize(tile.kernels[k], machine.isa));
    CUBEJIT_TRY(legal, legalize(vector));
    const std::string stem = fmt::format("k{:02}_{}", k, legal.name);
    if (wants("vector")) files[stem + ".vector.txt"] = print(legal);
    if (!wants("asm") && !wants("bin")) continue;
    CUBEJIT_TRY(code, emitXbyak(legal));
    if (wants("bin"))
      files[stem + ".bin"] = std::string(reinterpret_cast<const char*>(code.bytes.data()), code.bytes.size());
    if (!wants("asm")) continue;
    CUBEJIT_TRY(listing, disassemble(code, &legal));
    files[stem + ".s"] = listing;
  }
  return files;
}

Status writeFolder(const fs::path& root, const std::string& name, const std::map<std::string, std::string>& files) {
  std::error_code error;
  const auto failed = [&](const std::string& what) {
    return Error{ErrorCode::kIo, Stage::kRun, what + ": " + error.message()};
  };
  fs::create_directories(root, error);
  if (error) return failed("cannot create " + root.string());
  const fs::path temporary = root / (name + ".tmp" + std::to_string(getpid())), target = root / name;
  fs::create_directory(temporary, error);
  if (error) return failed("cannot create " + temporary.string());
  for (const auto& [file, contents] : files) {
    std::ofstream out(temporary / file, std::ios::binary);
    out << contents;
    out.close();
    if (out) continue;
    error = std::error_code(errno, std::generic_category());
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    return failed("cannot write " + (temporary / file).string());
  }
  fs::remove_all(target, error);
  if (!error) fs::rename(temporary, target, error);
  if (!error) return Unit{};
  std::error_code ignored;
  fs::remove_all(temporary, ignored);
  return failed("cannot write " + target.string());
}

int dump(const RequestFlags& flags, const std::string& emit, const std::string& out, const std::string& typed) {
  const auto stages = parseStages(emit);
  if (!stages.ok()) return report(stages.error(), typed);
  const auto request = resolve(flags);
  if (!request.ok()) return report(request.error(), typed);
  const std::vector<IsaLevel> runnable = runnableIsas();
  const Machine machine = detectHost(request->options.isa ? *request->options.isa
                                     : runnable.empty()   ? IsaLevel::kAvx2
                                                          : runnable.front());
  for (const Problem& problem : request->problems) {
    for (const Gradient gradient : gradientsOf(request->gradients)) {
      std::string folder;
      auto files = stagesOf(problem, gradient, machine, request->plans, *stages, folder);
      if (!files.ok()) return report(files.error(), reproduction("dump", flags, problem));
      (*files)["repro.txt"] = reproduction("dump", flags, problem) + " --emit " + emit + " -o DIR\n";
      const Status written = writeFolder(out, folder, *files);
      if (!written.ok()) return report(written.error(), reproduction("dump", flags, problem));
      fmt::print("{}\n", (fs::path(out) / folder).string());
    }
  }
  return 0;
}

}  // namespace

void addDump(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "dump", "Write the stages of code generation: plan, tile program, vector programs, annotated assembly, bytes");
  auto flags = std::make_shared<RequestFlags>();
  auto emit = std::make_shared<std::string>("plan,tile,vector,asm,bin"), out = std::make_shared<std::string>();
  addProblemFlags(*command, *flags, true);
  addRunFlags(*command, *flags);
  command->add_option("--emit", *emit, fmt::format("Stages, of {}", fmt::join(stageNames(), ", ")));
  command->add_option("-o,--out", *out, "Folder to write into")->required();
  command->callback([&action, flags, emit, out] {
    action = [flags, emit, out](const std::string& typed) { return dump(*flags, *emit, *out, typed); };
  });
}

}  // namespace cubejit::cli
