// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the flags of `dump`: which stages of which passes go where.
#include "cubejit/dump.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "commands.h"
#include "failure.h"
#include "json_line.h"
#include "request.h"
#include "runtime/dump/folder.h"

namespace cubejit::cli {
namespace {

int dump(const RequestFlags& flags, const DumpRequest& what, const std::string& typed) {
  const auto request = resolve(flags);
  if (!request.ok()) return report(request.error(), typed);
  const Session session(request->options);
  for (const Problem& problem : request->problems) {
    const auto folders = cubejit::dump(session, CompileRequest{problem, request->passes, request->plans}, what);
    if (!folders.ok()) {
      return report(folders.error(), fmt::format("{} --emit {} -o {}", reproduction("dump", flags, problem),
                                                 what.stages, what.directory));
    }
    for (const std::string& folder : *folders) {
      if (!flags.json) {
        fmt::print("{}\n", folder);
        continue;
      }
      const auto files = namesIn(folder);
      if (!files.ok()) return report(files.error(), typed);
      fmt::print("{}", jsonLine({{"schema", "cubejit.dumped/1"}, {"folder", folder}, {"files", *files}}));
    }
  }
  if (const Status runs = checkRunnable(session.machine().isa.level); !runs.ok())
    fmt::print(stderr, "note: {}\n", runs.error().message);
  return 0;
}

}  // namespace

void addDump(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "dump",
      "Write the stages of code generation, one folder a pass: plan, tile program, vector programs, LLVM IR, "
      "annotated "
      "assembly, bytes, a linkable object with its C header, simulated throughput, and a page for the browser; of an "
      "NPU "
      "(--soc) also what its core does, instruction by instruction");
  example(*command, "dump " + std::string(kExampleLayer) + " --passes dx --emit plan,asm,html -o out");
  auto flags = std::make_shared<RequestFlags>();
  auto what = std::make_shared<DumpRequest>();
  addProblemFlags(*command, *flags, true);
  addRunFlags(*command, *flags);
  addSocFlag(*command, *flags);
  addEmulationFlags(*command, *flags);
  command->add_option("--emit", what->stages, fmt::format("Stages, of {}; or all", fmt::join(dumpStageNames(), ", ")))
      ->capture_default_str();
  command->add_option("--kernels", what->kernels, "Only kernels with this in their name; * and ? stand for anything");
  command->add_option("--symbol", what->symbol,
                      "Prefix of the symbols in obj and c-header (default: the folder's name)");
  command->add_flag("--measure", what->measure, "Run the passes, and say on the page what they took");
  command->add_option("-o,--out", what->directory, "Folder to write into")->required();
  command->callback([&action, flags, what] {
    action = [flags, what](const std::string& typed) { return dump(*flags, *what, typed); };
  });
}

}  // namespace cubejit::cli
