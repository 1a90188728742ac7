// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what `kernel` does with a kernel or a program that is given as text: read, lower, verify, and only then interpret, emit, dump or time it.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "codegen/disassemble.h"
#include "codegen/lang/lower.h"
#include "codegen/lang/parse.h"
#include "codegen/tile/parse.h"
#include "codegen/tile/print.h"
#include "codegen/tile/verify.h"
#include "codegen/vector/legalize.h"
#include "codegen/vector/parse.h"
#include "codegen/vector/print.h"
#include "codegen/vector/verify.h"
#include "codegen/vectorize.h"
#include "commands.h"
#include "cubejit/cubejit.hpp"
#include "cubejit/dump.h"
#include "distinct_files.h"
#include "duration.h"
#include "failure.h"
#include "interrupts.h"
#include "kernel_program.h"
#include "kernel_report.h"
#include "python_kernel.h"
#include "request.h"
#include "runtime/dump/dump.h"
#include "runtime/loader/backends.h"
#include "runtime/loader/llvm_component.h"
#include "runtime/text/text_file.h"
#include "runtime/tuning/tune_kernel.h"

namespace cubejit::cli {
namespace {

struct KernelFlags {
  std::string file, isa;
  PythonKernel python;  // whose places errors name; empty: the file is a text
  bool verify = false, interpret = false, time = false, tune = false, breakdown = false;
  std::vector<std::string> emit, inputs, outputs, settings;
  std::string store, budget = "10s", backend, report;
  DumpRequest dump;
  std::uint64_t seed = 1;
  int threads = 1;
};

// What is wrong with a program that came from outside is no bug of ours.
Error ofTheFile(Error error, const KernelFlags& flags) {
  if (error.code == ErrorCode::kInternal) error.code = ErrorCode::kInvalidProblem;
  const bool python = !flags.python.places.empty();
  error.message = python ? flags.python.placed(error.message) : printable(flags.file) + ": " + error.message;
  return error;
}

Result<std::map<std::string, std::string>> pairsOf(const std::vector<std::string>& pairs, const char* flag,
                                                   const char* form = "NAME=FILE") {
  std::map<std::string, std::string> out;
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == pair.size())
      return invalidInput(fmt::format("{} {} must be {}", flag, printable(pair), form));
    if (!out.emplace(pair.substr(0, equals), pair.substr(equals + 1)).second)
      return invalidInput(fmt::format("{} {} gives its name a second value", flag, printable(pair)));
  }
  return out;
}

// The ISA asked for, or the best of this CPU with such vectors, or any.
Result<IsaLevel> isaFor(const TileProgram& program, const std::string& asked) {
  if (!asked.empty()) return parseIsa(asked);
  const int lanes = program.kernels.empty() ? 0 : lanesOf(program.kernels.front());
  std::vector<IsaLevel> levels = runnableIsas();
  levels.insert(levels.begin(), std::rbegin(kAllIsaLevels), std::rend(kAllIsaLevels));
  const bool tiles = std::any_of(program.kernels.begin(), program.kernels.end(),
                                 [](const Kernel& kernel) { return std::holds_alternative<TileProduct>(kernel); });
  const auto fits = [&](IsaLevel level) {
    const HostIsa isa = isaOf(level);
    return (lanes == 0 || isa.lanes() == lanes) && (!tiles || isa.matrixUnit() != nullptr);
  };
  const auto level = std::find_if(levels.rbegin(), levels.rend(), fits);
  if (level == levels.rend()) return invalidInput(fmt::format("no ISA has vectors of {} lanes", lanes));
  return *level;
}

Options optionsFor(IsaLevel level) {
  Options options;
  options.isa = level;
  options.backend = usualBackend(level);
  options.verify = true;
  return options;
}

Status emitVector(const VectorProgram& legal, const std::string& stage) {
  if (stage == "vector") {
    fmt::print("{}\n", print(legal));
    return Unit{};
  }
  const Options options = optionsFor(legal.isa.level);
  CUBEJIT_TRY(component, llvmComponent(options.llvmComponent));
  CUBEJIT_TRY(backend, codeBackend(options));
  CUBEJIT_TRY(emitted, backend.emit(legal));
  CUBEJIT_TRY(code, component->binary.rawOf(emitted));
  CUBEJIT_TRY(lines, component->binary.decode(code));
  fmt::print("{}\n", layOut(code, lines, ListingNotes{&legal, {}, {}}).text);
  return Unit{};
}

Status emitTile(const TileProgram& program, const KernelFlags& flags, const std::string& stage) {
  if (stage == "tile") {
    fmt::print("{}", print(program, Detail::kFull));
    return Unit{};
  }
  CUBEJIT_TRY(level, isaFor(program, flags.isa));
  for (const Kernel& kernel : program.kernels) {
    CUBEJIT_TRY(vector, vectorize(kernel, isaOf(level)));
    CUBEJIT_TRY(legal, legalize(vector));
    CUBEJIT_RETURN_IF_ERROR(emitVector(legal, stage));
  }
  return Unit{};
}

Status handleVector(const std::string& text, const KernelFlags& flags) {
  const auto parsed = parseVectorProgram(text);
  if (!parsed.ok()) return ofTheFile(parsed.error(), flags);
  if (const Status sound = cubejit::verify(*parsed); !sound.ok()) return ofTheFile(sound.error(), flags);
  if (flags.interpret || flags.time || !flags.inputs.empty() || !flags.outputs.empty() || !flags.isa.empty())
    return invalidInput(
        "a vector program says its ISA and no buffers: --verify and --emit vector,asm are what it takes");
  fmt::print(stderr, "{}: sound; {} instructions\n", printable(parsed->name), parsed->code.size());
  const auto legal = legalize(*parsed);
  for (const std::string& stage : flags.emit) {
    if (stage == "tile") return invalidInput("--emit tile of a vector program; it has vector and asm");
    if (!legal.ok()) return ofTheFile(legal.error(), flags);
    CUBEJIT_RETURN_IF_ERROR(emitVector(*legal, stage));
  }
  return Unit{};
}

Status handleTile(const Result<TileProgram>& parsed, const KernelFlags& flags) {
  if (!parsed.ok()) return ofTheFile(parsed.error(), flags);
  if (const Status sound = cubejit::verify(*parsed); !sound.ok()) return ofTheFile(sound.error(), flags);
  fmt::print(stderr, "{}: sound; {} buffers, {} kernels, {} lists, {} phases\n", printable(parsed->name),
             parsed->buffers.size(), parsed->kernels.size(), parsed->lists.size(), parsed->phases.size());
  KernelData data;
  CUBEJIT_TRY(inputs, pairsOf(flags.inputs, "--input"));
  CUBEJIT_TRY(outputs, pairsOf(flags.outputs, "--output"));
  if ((!inputs.empty() && !flags.interpret && !flags.time) || (!outputs.empty() && !flags.interpret))
    return invalidInput("--input is read by --interpret and --time, --output written by --interpret");
  std::vector<NamedFile> read{{"FILE", flags.file}}, written;
  for (const auto& [name, file] : inputs) read.push_back({"--input " + name, file});
  for (const auto& [name, file] : outputs) written.push_back({"--output " + name, file});
  CUBEJIT_RETURN_IF_ERROR(distinctFiles(written, read));
  data.inputs = inputs, data.outputs = outputs, data.seed = flags.seed;
  for (const std::string& stage : flags.emit) CUBEJIT_RETURN_IF_ERROR(emitTile(*parsed, flags, stage));
  if (flags.interpret) CUBEJIT_RETURN_IF_ERROR(interpretKernels(*parsed, data));
  if (!flags.time) return Unit{};
  CUBEJIT_TRY(level, isaFor(*parsed, flags.isa));
  Options options = optionsFor(level);
  options.threads = flags.threads;
  return timeKernels(*parsed, data, options, flags.breakdown);
}

Status tune(const std::string& text, const lang::Settings& settings, const KernelFlags& flags, const Session& session) {
  KernelTuneSetup setup;
  setup.text = text;
  setup.fixed = settings;
  setup.seed = flags.seed;
  CUBEJIT_TRY(seconds, parseDuration("--budget", flags.budget));
  setup.mostSeconds = seconds;
  std::vector<KernelRecord> tried;
  setup.tried = [&](const KernelRecord& record) {
    fmt::print(stderr, "{}\n", lineOf(record));
    if (!flags.report.empty()) tried.push_back(record);
  };
  setup.stop = stopRequested;
  listenForInterrupts();
  CUBEJIT_TRY(found, tuneKernel(setup, session.machine(), session.options()));
  for (const std::string& note : found.notes) fmt::print(stderr, "note: {}\n", note);
  fmt::print(
      "{}: {:.3f} us untuned, {:.2f} times as fast with {}; {} of {:.0f} choices tried, {} known before, {:.1f} s\n",
      found.untuned.name, static_cast<double>(medianNs(found.untuned.samplesNs)) * 1e-3, 1 / found.best.relative,
      found.best.settings, found.tried, found.choices, found.known, found.seconds);
  return flags.report.empty() ? Status(Unit{}) : writeKernelReport(flags.report, found, tried, session);
}

// A kernel in the kernel language: its program for the ISA asked for, or the best of this CPU.
Status handleKernel(const std::string& text, KernelFlags flags) {
  CUBEJIT_TRY(settings, pairsOf(flags.settings, "--set", "NAME=VALUE"));
  if (flags.isa.empty()) {
    const std::vector<IsaLevel> levels = runnableIsas();
    flags.isa = toString(levels.empty() ? IsaLevel::kAvx2 : levels.front());
  }
  CUBEJIT_TRY(level, parseIsa(flags.isa));
  CUBEJIT_TRY(options, optionsFromEnvironment());
  options.isa = level;
  CUBEJIT_TRY(backend, parseBackend(flags.backend.empty() ? toString(usualBackend(level)) : flags.backend));
  if (!flags.backend.empty() || options.backend == kUsualBackend) options.backend = backend;
  options.threads = flags.threads;
  if (!flags.store.empty()) options.store = flags.store;
  if (flags.tune || !flags.store.empty()) options.tune = TuneMode::kUse;  // asked for, whatever the environment says
  const Session session(options);
  CUBEJIT_RETURN_IF_ERROR(session.status());
  if (flags.tune) {
    CUBEJIT_RETURN_IF_ERROR(
        distinctFiles({{"--report", flags.report}}, {{"FILE", flags.file}, {"the store", options.store}}));
    CUBEJIT_RETURN_IF_ERROR(checkRunnable(level));
    const Status tuned = tune(text, settings, flags, session);
    if (!tuned.ok()) return ofTheFile(tuned.error(), flags);
  }
  const auto chosen = withTunedSettings(text, settings, session.machine(), session.options());
  const auto source = lang::parse(text, chosen);
  if (!source.ok()) return ofTheFile(source.error(), flags);
  for (const lang::Parameter& p : source->parameters)
    fmt::print(stderr, "{} = {}{}\n", printable(p.name), p.textOf(p.value),
               chosen.count(p.name) > settings.count(p.name) ? " (tuned)" : "");
  const auto program = lang::lower(*source, isaOf(level));
  if (!program.ok() && program.error().code == ErrorCode::kInternal) return program.error();  // that is one of ours
  if (flags.dump.directory.empty()) return handleTile(program, flags);
  const std::string stages = fmt::format("{}", fmt::join(flags.emit, ","));
  flags.emit.clear();
  CUBEJIT_RETURN_IF_ERROR(handleTile(program, flags));
  flags.dump.stages = stages.empty() ? "all" : stages;
  lang::Settings all;  // so that the folder is made by what was said above
  for (const lang::Parameter& p : source->parameters) all[p.name] = p.textOf(p.value);
  CUBEJIT_TRY(folder, dumpKernel(text, all, flags.dump, session.machine(), session.options()));
  if (!folder.empty()) fmt::print("{}\n", folder);
  if (const Status runs = checkRunnable(level); !runs.ok()) fmt::print(stderr, "note: {}\n", runs.error().message);
  return Unit{};
}

Status kernel(const KernelFlags& flags) {
  if (!flags.report.empty() && !flags.tune) return invalidInput("--report is of --tune");
  if (flags.breakdown && !flags.time) return invalidInput("--breakdown is of --time");
  const bool dumps = !flags.dump.directory.empty();
  for (const std::string& stage : flags.emit) {
    if (!dumps && stage != "tile" && stage != "vector" && stage != "asm")
      return invalidInput(
          fmt::format("unknown stage '{}' of --emit; there are tile, vector, asm, and with --dump {}, all",
                      printable(stage), fmt::join(dumpStageNames(), ", ")));
  }
  if (const auto file = pythonFileOf(flags.file)) {
    KernelFlags read = flags;
    CUBEJIT_TRY(made, readPythonKernel(*file));
    read.file = file->path;
    read.python = std::move(made);
    return handleKernel(read.python.text, read);
  }
  CUBEJIT_TRY(text, readText(flags.file, "a kernel, a tile program or a vector program", Stage::kProblem));
  const std::size_t line = std::min(text.size(), text.find_first_not_of(" \t\r\n"));
  const auto begins = [&](std::string_view words) { return text.compare(line, words.size(), words) == 0; };
  if (begins("cubejit kernel")) return handleKernel(text, flags);
  if (!flags.settings.empty()) return invalidInput("--set is for kernels; programs have no parameters");
  if (dumps) return invalidInput("--dump is for kernels; of programs --emit prints the stages");
  return begins("cubejit vector") ? handleVector(text, flags) : handleTile(parseTileProgram(text), flags);
}

}  // namespace

void addKernel(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("kernel",
                                         "Read a kernel in the kernel language, or a tile or vector program as dump "
                                         "writes them, and verify it; then interpret, emit, dump or time it");
  example(*command, "kernel layer.tile --interpret");
  auto flags = std::make_shared<KernelFlags>();
  command
      ->add_option("FILE", flags->file,
                   "The program's text, whose first line says which sort and version it is; or FILE.py, in which "
                   "cubejit.define makes a kernel, FILE.py:NAME where it makes several ($CUBEJIT_PYTHON, or python3, "
                   "runs it)")
      ->required();
  command
      ->add_option("--set", flags->settings,
                   "NAME=VALUE, a parameter of the kernel, e.g. M=64 or type=bf16 (default: what its text says)")
      ->delimiter(',');
  command->add_flag("--verify", flags->verify, "Only verify it, which is done in any case");
  command->add_flag("--interpret", flags->interpret,
                    "Run the tile program, a scalar at a time, and print a digest of each output");
  command->add_option("--emit", flags->emit, "Print stages, of tile, vector, asm (asm: with the LLVM component)")
      ->delimiter(',');
  command->add_option(
      "--dump", flags->dump.directory,
      fmt::format("Write a kernel's stages into a folder of this one instead: what --emit says of {} (default: all)",
                  fmt::join(dumpStageNames(), ", ")));
  command->add_option("--kernels", flags->dump.kernels,
                      "With --dump: only kernels of the program with this in their name; * and ? stand for anything");
  command->add_option("--symbol", flags->dump.symbol,
                      "With --dump: prefix of the symbols in obj and c-header (default: the folder's name)");
  command->add_flag("--measure", flags->dump.measure, "With --dump: run it, and say on the page what that took");
  command->add_option("--backend", flags->backend,
                      "With --dump and --tune: xbyak or llvm (default: $CUBEJIT_BACKEND, or the usual one of the ISA)");
  command->add_flag("--time", flags->time, "Generate the tile program's code and time it");
  command->add_flag("--breakdown", flags->breakdown,
                    "With --time: the share of each statement's kernels, of loops and of waiting");
  command->add_flag(
      "--tune", flags->tune,
      "Measure values of parameters that are not set, of those lists that the kernel's text has, and keep "
      "what is found in the store; what is asked beside it is done with the best");
  command->add_option("--report", flags->report, "With --tune: write a page about what was tried to this HTML file");
  command->add_option("--budget", flags->budget, "Time that --tune takes, e.g. 90s or 2m (default: 10s)");
  command->add_option("--db", flags->store, "The store of tuning records (default: $CUBEJIT_DB, or the user's)");
  command->add_option("--threads", flags->threads, "Threads that --time and --tune run on (default: 1)")
      ->transform(wholeFrom<int>(1));
  command->add_option("--input", flags->inputs, "NAME=FILE.npy, the elements of a buffer (default: random ones)");
  command->add_option("--output", flags->outputs, "NAME=FILE.npy, where --interpret writes a buffer");
  command->add_option("--seed", flags->seed, "Seed of random data")->transform(wholeFrom<std::uint64_t>(0));
  command->add_option("--isa", flags->isa, "What code is for (default: the best of this CPU that has such vectors)");
  command->callback([&action, flags] {
    action = [flags](const std::string& typed) {
      const Status status = kernel(*flags);
      return status.ok() ? 0 : report(status.error(), typed);
    };
  });
}

}  // namespace cubejit::cli
