// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what `run` does: NumPy files in, the passes named by --out written, nothing written if anything is wrong.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#include "aligned_memory.h"
#include "commands.h"
#include "cubejit/index_map.h"
#include "distinct_files.h"
#include "failure.h"
#include "json_line.h"
#include "memory_shape.h"
#include "npy.h"
#include "request.h"
#include "run_soc.h"
#include "tiling/words.h"

namespace cubejit::cli {
namespace {

// NAME=FILE pairs with names from `allowed`.
Result<std::map<std::string, std::string>> parsePairs(const std::vector<std::string>& pairs,
                                                      const std::vector<std::string>& allowed, const char* flag) {
  std::map<std::string, std::string> out;
  std::string broken;
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    const std::string name = pair.substr(0, equals);
    if (equals == std::string::npos || equals + 1 == pair.size() ||
        std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
      const std::string near = equals == std::string::npos ? "" : nearestWord(name, allowed);
      broken += fmt::format("{}{} {} must be NAME=FILE with a name of {}{}", broken.empty() ? "" : "\n", flag, pair,
                            fmt::join(allowed, ", "), near.empty() || near == name ? "" : "; the nearest is " + near);
    } else if (!out.emplace(name, pair.substr(equals + 1)).second) {
      broken += fmt::format("{}{} {} names {} a second time", broken.empty() ? "" : "\n", flag, pair, name);
    }
  }
  if (!broken.empty()) return invalidInput(broken);
  return out;
}

// What else would make an --in of use.
const char* whatReads(TensorId t) {
  switch (t) {
    case TensorId::kB: return ", or ask for --out y with --post-ops bias";
    case TensorId::kZ: return ", or ask for --out y with --post-ops add";
    case TensorId::kY: return ", or ask for a gradient, without y, of a problem with an activation in --post-ops";
    default: return "";
  }
}

// The passes, by a session; all checked before anything is written.
Result<std::shared_ptr<const Executable>> compute(const Request& request, const Tensors& tensors) {
  const Problem& p = request.problems.front();
  Session session(request.options);
  CUBEJIT_TRY(executable, session.compile(CompileRequest{p, request.passes, request.plans}));
  const std::size_t bytes = executable->workspaceBytes();
  const AlignedMemory workspace(bytes);
  if (workspace.data() == nullptr)
    return Error{ErrorCode::kLimitExceeded, Stage::kRun, fmt::format("no memory for a workspace of {} bytes", bytes)};
  CUBEJIT_RETURN_IF_ERROR(executable->run(tensors, workspace.data(), bytes));
  return executable;
}

Status execute(const RequestFlags& flags, const TimelineFiles& pictures, const std::vector<std::string>& inPairs,
               const std::vector<std::string>& outPairs) {
  CUBEJIT_TRY(ins, parsePairs(inPairs, {"dy", "x", "w", "b", "z", "y"}, "--in"));
  CUBEJIT_TRY(outs, parsePairs(outPairs, {"y", "dx", "dw", "db"}, "--out"));
  if (outs.empty()) return invalidInput("no --out given; name at least one of y, dx, dw, db");
  std::vector<NamedFile> read, written{{"--trace", pictures.trace}, {"--timeline", pictures.timeline}};
  for (const auto& [name, file] : ins) read.push_back({"--in " + name, file});
  for (const auto& [name, file] : outs) written.push_back({"--out " + name, file});
  CUBEJIT_RETURN_IF_ERROR(distinctFiles(written, read));
  RequestFlags wanted = flags;
  wanted.passes.clear();
  for (const auto& [name, file] : outs) wanted.passes += (wanted.passes.empty() ? "" : ",") + name;
  CUBEJIT_TRY(request, resolve(wanted));
  CUBEJIT_TRY(said, parsePasses(flags.passes));
  if (flags.passes != RequestFlags().passes && said != request.passes)
    return invalidInput(
        fmt::format("--passes {} and --out {} differ; leave --passes out", printable(flags.passes), wanted.passes));
  const Problem& p = request.problems.front();
  std::string unlike;
  const auto note = [&](const std::string& text) { unlike += (unlike.empty() ? "" : "\n") + text; };
  for (std::size_t i = 0; i < kTensors; ++i) {
    const auto t = static_cast<TensorId>(i);
    const bool given = t == TensorId::kY && request.passes.y;  // by the call itself
    const bool needed = passesRead(p, request.passes, t) && !given;
    const auto in = ins.find(toString(t));
    if (needed && in == ins.end())
      note(fmt::format("--in {}=FILE is missing; the passes asked for need it", toString(t)));
    if (!needed && in != ins.end())
      note(fmt::format("--in {}={} is read by none of the passes asked for ({}{}); leave it out{}", in->first,
                       printable(in->second), wanted.passes,
                       p.postOps.any() ? " with --post-ops " + toString(p.postOps) : ", without post-ops",
                       whatReads(t)));
  }
  if (!unlike.empty()) return invalidInput(unlike);
  std::map<std::string, std::vector<std::int64_t>> shapes;
  std::map<std::string, std::string> axes;
  std::map<std::string, DType> types;
  for (std::size_t i = 0; i < kTensors; ++i) {
    const auto t = static_cast<TensorId>(i);
    shapes[toString(t)] = memoryShape(p, t);
    axes[toString(t)] = memoryAxes(p, t);
    types[toString(t)] = formatOf(p, t).dtype;
  }
  std::map<std::string, NpyArray> arrays;
  std::string broken;
  ErrorCode code = ErrorCode::kInvalidProblem;
  for (const auto& [name, file] : ins) {
    auto array = readNpy(file, shapes.at(name), axes.at(name), types.at(name));
    if (array.ok()) {
      arrays[name] = std::move(array.value());
    } else {
      broken += (broken.empty() ? "" : "\n") + array.error().message;
      if (array.error().code == ErrorCode::kIo) code = ErrorCode::kIo;
    }
  }
  if (!broken.empty()) return Error{code, Stage::kProblem, broken};
  std::map<std::string, std::vector<char>> results;
  for (const Pass pass : passesOf(request.passes)) {
    const TensorId t = resultOf(pass);
    results[toString(t)].resize(static_cast<std::size_t>(formatBytes(p, t)));
  }
  const Tensors tensors{arrays["dy"].bytes.data(),
                        arrays["x"].bytes.data(),
                        arrays["w"].bytes.data(),
                        results["dx"].data(),
                        results["dw"].data(),
                        results["db"].data(),
                        nullptr,
                        request.passes.y ? results["y"].data() : arrays["y"].bytes.data(),
                        arrays["b"].bytes.data(),
                        arrays["z"].bytes.data()};
  if (!request.soc() && pictures.any()) return invalidInput("--trace and --timeline show an emulated chip; add --soc");
  CUBEJIT_TRY(executable, compute(request, tensors));
  if (request.soc()) {
    if (request.options.sanitize) fmt::print(stderr, "sanitize: nothing found\n");
    CUBEJIT_RETURN_IF_ERROR(tellOfChip(*executable, *request.soc(), pictures, flags.json));
  }
  std::vector<NpyOutput> files;
  for (const auto& [name, file] : outs)
    files.push_back(NpyOutput{file, shapes.at(name), types.at(name), std::move(results[name])});
  CUBEJIT_RETURN_IF_ERROR(writeNpy(files));
  for (const auto& [name, file] : outs) {
    if (!flags.json) continue;
    fmt::print("{}", jsonLine({{"schema", "cubejit.run/1"},
                               {"pass", name},
                               {"file", file},
                               {"shape", shapes.at(name)},
                               {"axes", axes.at(name)}}));
  }
  return Unit{};
}

}  // namespace

void addRun(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("run", "Compute passes of NumPy files");
  example(*command, "run " + std::string(kExampleLayer) + " --in dy=dy.npy --in x=x.npy --out dw=dw.npy");
  auto flags = std::make_shared<RequestFlags>();
  auto ins = std::make_shared<std::vector<std::string>>(), outs = std::make_shared<std::vector<std::string>>();
  addProblemFlags(*command, *flags, false);
  addRunFlags(*command, *flags);
  command->add_option("--in", *ins,
                      "dy=FILE.npy, x=FILE.npy, w=FILE.npy, of post-ops b and z, of their backward passes y (repeat); "
                      "arrays have the axes that --layout says: "
                      "N,spatial,C (weights O,I,spatial) by default, ncdhw: N,C,spatial");
  command->add_option("--out", *outs,
                      "y=FILE.npy, dx=FILE.npy, dw=FILE.npy, db=FILE.npy: the results to compute (repeat)");
  addSocFlag(*command, *flags);
  addEmulationFlags(*command, *flags);
  addSanitizeFlag(*command, *flags);
  auto files = std::make_shared<TimelineFiles>();
  command->add_option("--trace", files->trace,
                      "With --soc: write what every core did when, for Perfetto (Chrome trace)");
  command->add_option("--timeline", files->timeline,
                      "With --soc: the same as a page to explore (FILE.html), or a picture (SVG)");
  command->callback([&action, flags, ins, outs, files] {
    action = [flags, ins, outs, files](const std::string& typed) {
      const Status status = execute(*flags, *files, *ins, *outs);
      return status.ok() ? 0 : report(status.error(), typed);
    };
  });
}

}  // namespace cubejit::cli
