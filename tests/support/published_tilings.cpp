// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a published row means: fields of the tiling struct for dX, extents of a task for dW.
#include "tests/support/published_tilings.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "cubejit_ascendc/tiling_request.h"
#include "runtime/text/json_problem.h"

namespace cubejit {
namespace {

using Json = nlohmann::json;

ascendc::TilingRequest requestFor(const Problem& p, const Machine& machine) {
  ascendc::TilingRequest r;
  r.machine = machine;
  r.n = p.batch, r.cin = p.cin, r.cout = p.cout;
  r.in = {p.in.d, p.in.h, p.in.w};
  r.out = {p.out.d, p.out.h, p.out.w};
  r.kernel = {p.kernel.d, p.kernel.h, p.kernel.w};
  r.stride = {p.stride.d, p.stride.h, p.stride.w};
  r.pads = {p.padBefore.d, p.padAfter.d, p.padBefore.h, p.padAfter.h, p.padBefore.w, p.padAfter.w};
  return r;
}

Error unreadable(const std::string& what) { return invalidInput(what, Stage::kPlan); }

Status fillInput(PublishedTiling& row, const Json& fields, const Machine& machine) {
  AscendC::tiling::TConv3DBackpropInputTiling t;
  if (ascendc::fillInputTiling(requestFor(row.problem, machine), t) != 0)
    return unreadable("the problem has no tiling");
  ascendc::describeInputTiling(t, [&](const char* name, auto& field) {
    if (fields.contains(name)) field = fields.at(name).get<std::decay_t<decltype(field)>>();
  });
  t.singleCoreCout1 = t.singleCoreCout / t.c0;
  t.singleCoreCin1 = static_cast<std::uint32_t>(t.singleCoreCin / t.c0);
  t.stepM = t.stepN = t.iterateOrder = 1;
  row.broken = ascendc::checkTiling(t, machine);
  if (!row.broken.empty()) return Unit{};
  CUBEJIT_TRY(theirs, reportOnNpu(ascendc::problemOf(t), ascendc::planOf(t, machine), machine, CubeKernels::kAscendC));
  row.theirs = theirs;
  return Unit{};
}

Status fillFilter(PublishedTiling& row, const Json& fields, const Machine& machine) {
  NpuPlanOptions given;
  given.kernels = CubeKernels::kAscendC;
  given.trustExtents = true;
  const Problem& p = row.problem;
  // The published K rounds a whole plane up to fractals; what lies beyond it is never computed.
  const std::int64_t plane = p.out.h * p.out.w;
  const auto extent = [&](const char* name) { return fields.at(name).get<std::int64_t>(); };
  given.singleShape = Mkn{extent("singleCoreM"), std::min(extent("singleCoreK"), plane), extent("singleCoreN")};
  const auto theirs = planOnNpu(p, Pass::kDw, machine, given);
  if (theirs.ok())
    row.theirs = *theirs;
  else
    row.broken = {theirs.error().message};
  return Unit{};
}

Result<PublishedTiling> rowOf(const std::string& line, const Machine& machine) {
  const Json json = Json::parse(line, nullptr, false);
  if (json.is_discarded()) return unreadable("not JSON");
  PublishedTiling row;
  CUBEJIT_TRY(problem, problemFromJson(json.at("problem").dump()));
  row.problem = problem;
  row.problem.dtype = DType::kF16;
  row.pass = json.at("pass") == "dx" ? Pass::kDx : Pass::kDw;
  const Status filled =
      row.pass == Pass::kDx ? fillInput(row, json.at("tiling"), machine) : fillFilter(row, json.at("tiling"), machine);
  if (!filled.ok()) return filled.error();
  NpuPlanOptions options;
  options.kernels = CubeKernels::kAscendC;
  options.trustExtents = true;
  CUBEJIT_TRY(ours, planOnNpu(row.problem, row.pass, machine, options));
  row.ours = ours;
  return row;
}

}  // namespace

Result<std::vector<PublishedTiling>> publishedTilings(const std::string& path, const Machine& machine) {
  std::ifstream file(path);
  std::vector<PublishedTiling> rows;
  std::size_t number = 1;
  for (std::string line; std::getline(file, line); ++number) {
    auto row = rowOf(line, machine);
    if (!row.ok()) return unreadable(path + ":" + std::to_string(number) + ": " + row.error().message);
    rows.push_back(*row);
  }
  if (rows.empty()) return unreadable(path + " holds no tiling");
  return rows;
}

}  // namespace cubejit
