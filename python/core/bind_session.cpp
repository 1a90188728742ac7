// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what Python may ask a session for beside results: plans, dumps, measurements, statistics.
#include <pybind11/stl.h>

#include <map>
#include <optional>

#include "cubejit/describe_counts.h"
#include "cubejit/dump.h"
#include "cubejit/machines.h"
#include "python/core/arguments.h"
#include "python/core/bindings.h"
#include "python/core/call.h"
#include "python/core/failure.h"
#include "python/core/openmp.h"
#include "python/core/without_gil.h"

namespace cubejit::python {

namespace py = pybind11;

namespace {

using Texts = std::vector<std::string>;

PassMask maskOf(const Texts& names) {
  PassMask mask;
  for (const std::string& name : names) mask.add(passOf(name));
  return mask;
}

std::int64_t limitOf(std::int64_t bytes) {
  if (bytes < 0)
    throw Failure(
        invalidInput("mem_limit = " + std::to_string(bytes) + " must be at least 0, in bytes; 0 is no limit"));
  return bytes;
}

// What the environment says, changed by what is given.
SharedSession makeSession(const std::optional<std::string>& isa, const std::optional<std::string>& backend,
                          const std::optional<std::string>& algorithm, int threads,
                          const std::optional<std::string>& tune, const std::optional<std::string>& store,
                          const std::optional<double>& tuneSeconds, const std::optional<std::string>& pins,
                          const std::optional<std::string>& llvmComponent, const std::optional<std::string>& machine,
                          const std::optional<std::int64_t>& memLimit, bool elideCopies, bool openmp,
                          bool batchInvariant) {
  Options options = valueOf(optionsFromEnvironment());
  if (isa) options.isa = valueOf(parseIsa(*isa));
  if (backend) options.backend = valueOf(parseBackend(*backend));
  if (algorithm) options.algorithm = valueOf(parseAlgorithm(*algorithm));
  requireThreads(threads);
  if (threads > 0) options.threads = threads;
  if (tune) options.tune = valueOf(parseTuneMode(*tune));
  if (store) options.store = *store;
  if (tuneSeconds) options.tuneSeconds = *tuneSeconds;
  if (pins) options.pins = *pins;
  if (llvmComponent) options.llvmComponent = *llvmComponent;
  if (machine) options.machine = valueOf(readMachine(*machine));
  if (memLimit) options.memLimit = limitOf(*memLimit);
  options.elideCopies = elideCopies;
  options.batchInvariant = batchInvariant;
  if (openmp) options.parallelFor = openmpThreads();
  auto session = std::make_shared<Session>(std::move(options));
  require(session->status());
  return session;
}

py::dict planDict(const TilingPlan& plan) {
  py::dict out;
  out["version"] = kPlanVersion;
  out["pass"] = toString(plan.pass);
  out["algorithm"] = algorithmName(plan);
  describePlan(plan, [&](const char* field, const auto& value) {
    if constexpr (std::is_enum_v<std::decay_t<decltype(value)>>)
      out[field] = toString(value);
    else
      out[field] = value;
  });
  return out;
}

// Bytes by the tensor's name; what is copied by several passes, added up.
py::dict copiesDict(const std::vector<TensorCopy>& copies) {
  std::map<std::string, std::int64_t> bytes;
  for (const TensorCopy& copy : copies) bytes[toString(copy.tensor)] += copy.bytes;
  return py::cast(bytes);
}

py::dict reportDict(const PlanReport& report, bool explain) {
  py::dict out;
  out["plan"] = planDict(report.plan);
  out["source"] = toString(report.source);
  out["source_note"] = report.sourceNote;
  out["predicted_cycles"] = report.predictedCycles;
  out["bound"] = report.bound;
  out["copies"] = copiesDict(report.copies);
  out["workspace_bytes"] = report.workspaceBytes;
  if (!explain) return out;
  py::list candidates;
  for (const PlanCandidate& c : report.candidates) {
    py::dict candidate;
    candidate["plan"] = planDict(c.plan);
    candidate["predicted_cycles"] = c.predictedCycles;
    candidate["bound"] = c.bound;
    candidate["refused_by"] = c.refusedBy;
    candidates.append(std::move(candidate));
  }
  out["candidates"] = std::move(candidates);
  return out;
}

py::dict planOf(const SharedSession& session, const Problem& problem, const std::string& pass, bool explain) {
  const Pass which = passOf(pass);
  const PlanReport report = [&] {
    const WithoutGil released;
    return valueOf(session->plan(problem, which, explain));
  }();
  return reportDict(report, explain);
}

py::dict callOf(const SharedSession& session, const Problem& problem, const Texts& passes) {
  const CompileRequest request{problem, maskOf(passes), {}};
  const CallReport report = [&] {
    const WithoutGil released;
    return valueOf(session->planCall(request));
  }();
  py::dict out, plans;
  for (const TilingPlan& plan : report.plans) plans[toString(plan.pass)] = planDict(plan);
  Texts converted;
  for (const TensorId tensor : report.converted) converted.emplace_back(toString(tensor));
  out["plans"] = std::move(plans);
  out["converted"] = converted;
  out["interleaves"] = report.interleaves;
  out["copies"] = copiesDict(report.copies);
  out["workspace_bytes"] = report.workspaceBytes;
  return out;
}

Texts dumpOf(const SharedSession& session, const Problem& problem, const std::string& directory, const Texts& passes,
             const std::string& stages, const std::string& kernels, const std::string& symbol) {
  const CompileRequest request{problem, maskOf(passes), {}};
  const WithoutGil released;
  return valueOf(dump(*session, request, {stages, directory, kernels, symbol}));
}

py::dict countsDict(const CoreCounts& c) {
  py::dict out;
  describeCounts(
      c, [&](const char* name, auto number) { out[name] = number; },
      [&](const char* group, const char* name, auto number) {
        if (!out.contains(group)) out[group] = py::dict();
        out[group][name] = number;
      });
  return out;
}

py::dict reportOf(const SharedSession& session, const Problem& problem, const std::string& pass, bool trace) {
  const Pass which = passOf(pass);
  const EmulationReport report = [&] {
    const WithoutGil released;
    return valueOf(valueOf(session->compile(problem, maskOf({pass})))->emulationReport(which, trace));
  }();
  py::dict out;
  out["machine"] = session->machine().name;
  out["pass"] = pass;
  out["predicted_cycles"] = report.cycles;
  out["predicted_us"] = report.microseconds;
  out["total"] = countsDict(report.total);
  py::list cores;
  for (const CoreCounts& core : report.cores) cores.append(countsDict(core));
  out["cores"] = std::move(cores);
  if (!trace) return out;
  py::list events;
  for (const TraceEvent& e : report.trace)
    events.append(py::make_tuple(e.core, toString(e.pipe), e.name, e.start, e.end, e.bytes));
  out["events"] = std::move(events);
  out["events_dropped"] = report.eventsDropped;
  return out;
}

void compileOnly(const SharedSession& session, const Problem& problem, const Texts& passes) {
  const PassMask mask = maskOf(passes);
  const WithoutGil released;
  valueOf(session->compile(problem, mask));
}

py::dict statisticsOf(const SharedSession& session) {
  const CacheStatistics s = session->statistics();
  py::dict out;
  out["hits"] = s.hits, out["misses"] = s.misses, out["evictions"] = s.evictions;
  out["entries"] = s.entries, out["code_bytes"] = s.codeBytes;
  return out;
}

}  // namespace

void bindSession(py::module_& module, py::class_<Session, SharedSession>& session) {
  session
      .def(py::init(named(&makeSession,
                          {"isa", "backend", "algorithm", "threads", "tune", "store", "tune_seconds", "pins",
                           "llvm_component", "machine", "mem_limit", "elide_copies", "openmp", "batch_invariant"})),
           py::kw_only(), py::arg("isa") = py::none(), py::arg("backend") = py::none(),
           py::arg("algorithm") = py::none(), py::arg("threads") = 0, py::arg("tune") = py::none(),
           py::arg("store") = py::none(), py::arg("tune_seconds") = py::none(), py::arg("pins") = py::none(),
           py::arg("llvm_component") = py::none(), py::arg("machine") = py::none(), py::arg("mem_limit") = py::none(),
           py::arg("elide_copies") = false, py::arg("openmp") = false, py::arg("batch_invariant") = false)
      .def("plan", named(&planOf, {"session", "problem", "pass_", "explain"}), py::arg("problem"), py::arg("pass_"),
           py::arg("explain") = false,
           "The plan for one pass as a dict; explain=True adds the candidates and what refused some.")
      .def(
          "plan_call", named(&callOf, {"session", "problem", "passes"}), py::arg("problem"), py::arg("passes"),
          "What one call of these passes does: the plan of each, the tensors it converts once for all of them, whether "
          "passes take turns over blocks of dy, the copies of whole tensors it makes, in bytes, and its bytes of "
          "workspace.")
      .def("dump", named(&dumpOf, {"session", "problem", "directory", "passes", "stages", "kernels", "symbol"}),
           py::arg("problem"), py::arg("directory"), py::arg("passes") = Texts{"dx", "dw"},
           py::arg("stages") = "problem,plan,tile,vector,asm,bin", py::arg("kernels") = "", py::arg("symbol") = "",
           "Writes every stage of the passes into folders of `directory` and returns their paths.")
      .def("compile", named(&compileOnly, {"session", "problem", "passes"}), py::arg("problem"), py::arg("passes"),
           "Generates the code now, so that the first call does not have to.")
      .def("report", named(&reportOf, {"session", "problem", "pass_", "trace"}), py::arg("problem"),
           py::arg("pass_") = "dx", py::arg("trace") = false,
           "What a run of the pass does on the emulated machine: cycles, microseconds, tasks, counts of all cores "
           "(total) and of each. "
           "trace=True adds events, each (core, pipe, name, start, end, bytes) in core cycles, and how many were left "
           "out.")
      .def("plan", otherwiseOf({"plan", {"problem", "pass_", "explain"}, 2, 3, {"gradient", "pass_"}}))
      .def("plan_call", otherwiseOf({"plan_call", {"problem", "passes"}, 2, 2, {"gradients", "passes"}}))
      .def("dump", otherwiseOf({"dump",
                                {"problem", "directory", "passes", "stages", "kernels", "symbol"},
                                2,
                                6,
                                {"gradients", "passes"}}))
      .def("compile", otherwiseOf({"compile", {"problem", "passes"}, 2, 2, {"gradients", "passes"}}))
      .def("report", otherwiseOf({"report", {"problem", "pass_", "trace"}, 1, 3, {"gradient", "pass_"}}))
      .def("statistics", &statisticsOf, "Hits, misses and evictions of the session's code, and its size.")
      .def("clear", &Session::clear, "Forgets all generated code that is not in use.")
      .def_property_readonly("store", [](const Session& s) { return s.options().store; })
      .def_property_readonly(
          "threads", [](const Session& s) { return s.options().threads > 0 ? s.options().threads : defaultThreads(); });
  module.def(
      "openmp", [] { return openmpThreads().run != nullptr; },
      "Whether the process has the OpenMP runtime that Session(openmp=True) runs on.");
  module.def("dump_stages", [] { return dumpStageNames(); });
  module.def("machines", [] { return machineNames(); }, "Names of the NPUs that Session(machine=...) knows.");
}

}  // namespace cubejit::python
