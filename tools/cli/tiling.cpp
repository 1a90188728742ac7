// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what `tiling` does with the structs of the Ascend C API: print the one GetTiling fills, compare two, or take one from a
// file, check it and say what it costs.
#include <fmt/core.h>

#include <memory>

#include "commands.h"
#include "cubejit/cubejit.h"
#include "cubejit/machines.h"
#include "cubejit/npu.h"
#include "failure.h"
#include "json_line.h"
#include "plan_npu.h"
#include "request.h"
#include "runtime/text/json_machine.h"
#include "runtime/text/json_npu_report.h"
#include "runtime/text/whole_file.h"
#include "tiling/rule_lines.h"
#include "tiling_file.h"

namespace cubejit::cli {
namespace {

struct TilingFlags {
  RequestFlags request;
  std::vector<std::string> compare;
  std::string import, raw;
  bool forChip = false;
};

// What an operator developer would tell the tiling classes about the problem.
ascendc::TilingRequest requestFor(const Problem& p, const Machine& machine) {
  ascendc::TilingRequest r;
  r.machine = machine;
  r.n = p.batch, r.cin = p.cin, r.cout = p.cout, r.groups = p.groups;
  for (int a = 0; a < 3; ++a) {
    const auto i = static_cast<std::size_t>(a);
    r.in[i] = p.in[a], r.out[i] = p.out[a], r.kernel[i] = p.kernel[a];
    r.stride[i] = p.stride[a], r.dilation[i] = p.dilation[a];
    r.pads[2 * i] = p.padBefore[a], r.pads[2 * i + 1] = p.padAfter[a];
  }
  const DType type = formatOf(p, TensorId::kDy).dtype;
  using ConvCommonApi::ConvDtype;
  const ConvDtype dtype = type == DType::kF16    ? ConvDtype::FLOAT16
                          : type == DType::kBf16 ? ConvDtype::BF16
                                                 : ConvDtype::FLOAT32;
  r.hf32 = isHf32(type);
  r.weight.dtype = r.input.dtype = r.gradOutput.dtype = dtype;
  return r;
}

struct Filled {
  Tiling tiling;
  std::string source;  ///< of its plan
};

Result<Filled> fill(const Problem& p, Pass pass, const Request& asked, bool forChip) {
  if (pass == Pass::kDb || pass == Pass::kY)
    return invalidInput(std::string(toString(pass)) + " has no tiling: ask for dx or dw", Stage::kPlan);
  if (p.transposed)
    return invalidInput("the tiling classes know gradients of ordinary convolutions only; use plan --soc",
                        Stage::kPlan);
  ascendc::TilingRequest request = requestFor(p, *asked.soc());
  request.forChip = forChip;
  for (const TilingPlan& plan : asked.plans) {
    if (plan.pass == pass) request.plan = plan;
  }
  std::string source;
  if (pass == Pass::kDx) {
    InputTiling tiling;
    if (ascendc::fillInputTiling(request, tiling, &source) == 0) return Filled{tiling, source};
  } else {
    AscendC::tiling::Conv3DBackpropFilterTilingData tiling;
    if (ascendc::fillFilterTiling(request, tiling, &source) == 0) return Filled{tiling.dwTiling, source};
  }
  return invalidInput(cubejit_last_error(), Stage::kPlan);
}

void print(const Filled& filled, bool json) {
  const Tiling& tiling = filled.tiling;
  if (json) {
    fmt::print("{}\n", tilingToJson(tiling));
    return;
  }
  fmt::print("{}, plan of the {}\n",
             std::holds_alternative<InputTiling>(tiling) ? "TConv3DBackpropInputTiling" : "TConv3DBpFilterTiling",
             filled.source);
  describeTiling(tiling, [](const char* name, const auto& value) { fmt::print("  {:<18} {}\n", name, value); });
}

// What a kernel's last parameter points to.
Status writeRaw(const Tiling& tiling, const Machine& machine, const std::string& path) {
  const auto bytes = [](const auto& data) { return std::string(reinterpret_cast<const char*>(&data), sizeof(data)); };
  const auto written = [&](const std::string& data) -> Status { return writeWholeFile(path, data); };
  if (const auto* input = std::get_if<InputTiling>(&tiling))
    return written(bytes(AscendC::tiling::Conv3DBackpropInputTilingData{*input}));
  return written(bytes(ascendc::filterDataOf(std::get<FilterTiling>(tiling), machine)));
}

int printFilled(const TilingFlags& flags, const std::string& typed) {
  const auto request = resolve(flags.request);
  if (!request.ok()) return report(request.error(), typed);
  PassMask mask = request->passes;
  if (mask.dx && mask.dw) mask.db = false;
  if (const std::size_t structs = request->problems.size() * passesOf(mask).size(); !flags.raw.empty() && structs != 1)
    return report(
        invalidInput(
            fmt::format("--raw is one file, and there are {} structs; ask for one pass of one problem", structs),
            Stage::kPlan),
        typed);
  for (const Problem& problem : request->problems) {
    for (const Pass pass : passesOf(mask)) {
      const auto filled = fill(problem, pass, *request, flags.forChip);
      if (!filled.ok()) return report(filled.error(), reproduction("tiling", flags.request, problem));
      if (!flags.raw.empty()) {
        const Status written = writeRaw(filled->tiling, *request->soc(), flags.raw);
        if (!written.ok()) return report(written.error(), typed);
      }
      print(*filled, flags.request.json);
    }
  }
  return 0;
}

// 0 if equal, 1 if not, like diff.
int compare(const TilingFlags& flags, const std::string& typed) {
  const auto a = readTiling(flags.compare[0]), b = readTiling(flags.compare[1]);
  for (const auto* side : {&a, &b}) {
    if (!side->ok()) return report(side->error(), typed);
  }
  if (a->index() != b->index())
    return report(invalidInput("one tiling is an input gradient's, the other a filter gradient's", Stage::kPlan),
                  typed);
  std::vector<std::string> values;
  describeTiling(*b, [&](const char*, const auto& value) { values.push_back(std::to_string(value)); });
  Json out{{"schema", "cubejit.tiling_diff/1"}, {"fields", Json::object()}};
  std::size_t at = 0;
  describeTiling(*a, [&](const char* name, const auto& value) {
    const std::string other = values[at++];
    if (std::to_string(value) == other) return;
    out["fields"][name] = {std::to_string(value), other};
    if (!flags.request.json) fmt::print("{:<18} {:>12} {:>12}\n", name, value, other);
  });
  if (flags.request.json) fmt::print("{}", jsonLine(out));
  return out["fields"].empty() ? 0 : 1;
}

int import(const TilingFlags& flags, const std::string& typed) {
  const auto machine = readMachine(flags.request.soc);
  if (!machine.ok()) return report(machine.error(), typed);
  const auto tiling = readTiling(flags.import);
  if (!tiling.ok()) return report(tiling.error(), typed);
  const auto broken = std::visit([&](const auto& t) { return ascendc::checkTiling(t, *machine); }, *tiling);
  if (!broken.empty()) return report(invalidInput(inLines(broken), Stage::kPlan), typed);
  const Problem problem = std::visit([](const auto& t) { return ascendc::problemOf(t); }, *tiling);
  const TilingPlan plan = std::visit([&](const auto& t) { return ascendc::planOf(t, *machine); }, *tiling);
  const auto costs = reportOnNpu(problem, plan, *machine, CubeKernels::kAscendC);
  if (!costs.ok()) return report(costs.error(), typed);
  if (flags.request.json)
    fmt::print("{}", jsonLine(npuReportToJson(problem, *machine, *costs)));
  else
    printNpuReport(problem, *machine, *costs, false);
  return 0;
}

int tiling(const TilingFlags& flags, const std::string& typed) {
  const bool needsSoc = flags.compare.empty();
  if (needsSoc && flags.request.soc.empty())
    return reportUsage("--soc is required: it says which chip the tiling is for", typed);
  if (!flags.compare.empty()) return compare(flags, typed);
  return flags.import.empty() ? printFilled(flags, typed) : import(flags, typed);
}

}  // namespace

void addTiling(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("tiling", "Print, compare or check the tiling structs of the Ascend C API");
  example(*command, "tiling " + std::string(kExampleLayer) + " --passes dw --soc ascend910b2");
  auto flags = std::make_shared<TilingFlags>();
  flags->request.dtype = "f16";
  addProblemFlags(*command, flags->request, true);
  addSocFlag(*command, flags->request);
  command->add_flag("--json", flags->request.json, "One JSON object a line on standard output");
  command->add_option(
      "--plan", flags->request.planFile,
      "File with plans as JSON, one a line, to be told as structs; else pins, records and the planner choose");
  command->add_flag("--for-chip", flags->forChip,
                    "Keep to the conventions of the vendor's own tilings: for kernels of a real chip");
  command->add_option("--raw", flags->raw, "Also write the bytes of the whole struct to this file");
  command
      ->add_option("--diff", flags->compare,
                   "Compare two tiling files (JSON or bytes) field by field; exit code 1 if they differ")
      ->expected(2);
  command->add_option("--import", flags->import, "Check a tiling file for --soc and say what it costs");
  command->callback([&action, flags] { action = [flags](const std::string& typed) { return tiling(*flags, typed); }; });
}

}  // namespace cubejit::cli
