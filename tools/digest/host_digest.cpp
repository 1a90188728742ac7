// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which programs of the host are digested: machine code of all kernels, how they are called, the workspace, the cost.
#include <cstdio>
#include <functional>
#include <map>
#include <random>

#include "cubejit/cubejit.hpp"
#include "runtime/pipeline/compile.h"
#include "runtime/verify/random_problem.h"
#include "tiling/planner.h"
#include "tools/digest/digest.h"

namespace cubejit::digest {
namespace {

constexpr IsaLevel kIsas[] = {IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kAvx512Bf16};

/// The same machine everywhere: Zen 4 for the older levels, Zen 5 for the newest.
Machine machineOf(IsaLevel level) {
  const HostCore core = level == IsaLevel::kAvx512Bf16 ? HostCore::kZen5 : HostCore::kZen4;
  return hostMachine(isaOf(level), 2, 32 << 10, 1 << 20, 32 << 20, core);
}

void addNodes(Hash& hash, const std::vector<Node>& nodes) {
  hash.number(nodes.size());
  for (const Node& node : nodes) {
    hash.number(node.axis);
    addNodes(hash, node.body);
    if (node.axis >= 0) continue;
    const Call& call = node.call;
    for (const int stream : {call.a, call.b, call.c, call.d}) hash.number(stream);
    for (const int axis : call.classAxes) hash.number(axis);
    for (const Variant& v : call.variants) {
      for (const int number : {v.kernel, v.list, static_cast<int>(v.accumulate), v.aligned}) hash.number(number);
    }
  }
}

// Entries that are missing are zeros.
void addDeltas(Hash& hash, const std::vector<std::int64_t>& deltas) {
  for (std::size_t i = 0; i < deltas.size(); ++i) {
    if (deltas[i] != 0) hash.number(i), hash.number(deltas[i]);
  }
}

void addAxis(Hash& hash, const Axis& axis) {
  hash.number(axis.classes);
  hash.number(axis.windowAxis);
  for (const Window& window : axis.windows) hash.number(window.begin), hash.number(window.end);
  hash.number(axis.steps.size());
  for (const AxisStep& step : axis.steps) {
    addDeltas(hash, step.delta);
    hash.number(step.cls);
    hash.number(step.repeat);
    if (step.repeat > 1) addDeltas(hash, step.repeatDelta);
  }
}

void addCalls(Hash& hash, const TileProgram& program) {
  for (const Buffer& buffer : program.buffers) {
    const std::string_view name = buffer.boundName();
    hash.bytes(name.data(), name.size());
    hash.number(buffer.use);
    hash.number(buffer.kept);
    hash.number(buffer.bytes);
    hash.bytes(buffer.values.data(), buffer.values.size() * sizeof(float));
  }
  for (const SegmentList& list : program.lists) {
    for (const auto& section : list) {
      hash.number(section.size());
      for (const Segment& s : section) hash.number(s.aOffset), hash.number(s.bOffset), hash.number(s.outer);
    }
  }
  for (const Phase& phase : program.phases) {
    for (const Stream& stream : phase.streams) hash.number(stream.buffer), hash.number(stream.offset);
    for (const Axis& axis : phase.axes) addAxis(hash, axis);
    for (const int axis : phase.parallelAxes) hash.number(axis);
    addNodes(hash, phase.body);
    hash.number(phase.workCycles);
  }
}

PassMask only(Pass g) { return maskOf(g); }

struct Asked {
  Problem problem;
  PassMask passes;
  IsaLevel isa{};
  std::vector<TilingPlan> plans;
  WeightsUse weights = WeightsUse::kEachRun;
};

std::string digestOf(const Asked& asked) {
  const Machine machine = machineOf(asked.isa);
  Options options;
  options.threads = 2;
  options.isa = asked.isa;
  options.backend = BackendKind::kXbyak;
  options.verify = false;  // which takes longer than generating, and changes nothing
  const auto made = generateExecutable({asked.problem, asked.passes, asked.plans, asked.weights}, machine, options);
  if (!made.ok()) return "none " + std::to_string(static_cast<int>(made.error().code));
  const Executable::State& state = (*made)->state();
  Hash code, calls;
  double cost = 0;
  auto workspace = static_cast<std::size_t>(state.workspace.keptBytes());
  const auto add = [&](const CompiledPass& part) {
    for (const Code& kernel : part.codes) {
      code.number(kernel.bytes.size());
      code.bytes(kernel.bytes.data(), kernel.bytes.size());
    }
    addCalls(calls, part.tile);
    for (const Buffer& buffer : part.tile.buffers) {
      if (buffer.use == Buffer::Use::kShared || buffer.use == Buffer::Use::kPrivate)
        workspace += static_cast<std::size_t>(buffer.bytes);
    }
  };
  for (const SharedTensor& shared : state.shared) add(*shared.program);
  for (const auto& part : state.parts) {
    add(*part);
    cost += planCost(part->problem, part->plan, machine).totalCycles;
  }
  calls.number(state.together.has_value());
  char text[120];
  std::snprintf(text, sizeof text, "%016llx %016llx %zu %.17g", static_cast<unsigned long long>(code.value()),
                static_cast<unsigned long long>(calls.value()), workspace, cost);
  return text;
}

/// Costs of all legal candidates, in the order of preference, and the program of the cheapest of each family.
void addCandidates(const Problem& problem, Pass pass, IsaLevel isa,
                   const std::function<void(const std::string&, const std::string&)>& add) {
  const auto choice = choosePlan(problem, pass, machineOf(isa), true);
  if (!choice.ok()) return add("candidates", "none");
  Hash hash;
  std::size_t legal = 0;
  for (const Candidate& candidate : choice->considered) {
    if (!candidate.refusedBy.empty()) continue;
    ++legal;
    hash.number(candidate.cost.totalCycles);
  }
  char text[60];
  std::snprintf(text, sizeof text, "%zu %016llx", legal, static_cast<unsigned long long>(hash.value()));
  add("candidates", text);
  std::map<std::string, const TilingPlan*> cheapest;
  for (const Candidate& candidate : choice->considered) {
    if (candidate.refusedBy.empty()) cheapest.emplace(planFamily(candidate.plan), &candidate.plan);
  }
  for (const auto& [family, plan] : cheapest) add(family, digestOf({problem, only(pass), isa, {*plan}}));
}

struct Formats {
  const char* key;
  DType dtype;
  bool wideResults;  ///< dx and dw are f32
};
constexpr Formats kFormats[] = {{"f32", DType::kF32, false},
                                {"bf16", DType::kBf16, false},
                                {"f16", DType::kF16, false},
                                {"mixed", DType::kBf16, true}};

struct Order {
  const char* key;
  Layout activations, weights;
  std::int64_t c0;
};
constexpr Order kOrders[] = {{"ncdhw", Layout::kNcdhw, Layout::kNcdhw, 0},
                             {"ndhwc", Layout::kNdhwc, Layout::kNcdhw, 0},
                             {"ndc1hwc0", Layout::kNdc1hwc0, Layout::kFractalZ3d, 0},
                             {"ndc1hwc16", Layout::kNdc1hwc0, Layout::kNcdhw, 16}};

Problem formatted(Problem p, const Formats& type, const Order& order) {
  p.dtype = type.dtype;
  p.layout = order.activations;
  for (const TensorId t : kTensorIds) {
    if (t == TensorId::kDb) continue;
    TensorFormat f = formatOf(p, t);
    const bool weights = t == TensorId::kW || t == TensorId::kDw;
    f.layout = weights ? order.weights : order.activations;
    if (f.layout == Layout::kNdc1hwc0) f.c0 = order.c0;
    if (type.wideResults && (t == TensorId::kDx || t == TensorId::kDw)) f.dtype = DType::kF32;
    p.formats[static_cast<std::size_t>(t)] = f;
  }
  return p;
}

std::vector<Line> linesOf(const Problem& problem, const std::string& key, bool eachAlgorithm) {
  std::vector<Line> lines;
  for (const IsaLevel isa : kIsas) {
    const std::string where = key + " " + toString(isa) + " ";
    const auto add = [&](const std::string& what, const std::string& digest) {
      lines.push_back(where + what + ": " + digest);
    };
    for (const Pass g : kGradients) {
      add(toString(g), digestOf({problem, only(g), isa, {}}));
      if (g == Pass::kDb || !eachAlgorithm) continue;
      addCandidates(problem, g, isa, [&](const std::string& what, const std::string& digest) {
        add(std::string(toString(g)) + " " + what, digest);
      });
    }
    add("all", digestOf({problem, {true, true, true}, isa, {}}));
    add("dx kept", digestOf({problem, {true, false, false}, isa, {}, WeightsUse::kKept}));
  }
  return lines;
}

}  // namespace

void addHostJobs(const std::vector<Problem>& suite, int randomProblems, std::vector<Job>& jobs) {
  for (const Problem& problem : suite) {
    for (const Formats& type : kFormats) {
      for (const Order& order : kOrders) {
        const std::string key = problem.name + " " + type.key + " " + order.key;
        jobs.emplace_back([p = formatted(problem, type, order), key] { return linesOf(p, key, false); });
      }
    }
  }
  std::mt19937_64 random(34);
  for (int i = 0; i < randomProblems; ++i) {
    Problem p = randomProblem(random);
    if (i % 4 == 3) fitRelaxedMath(random, p);
    randomFormats(random, p, i % 3 != 0, i % 2 != 0);
    jobs.emplace_back([p, i] { return linesOf(p, "random" + std::to_string(i), true); });
  }
}

}  // namespace cubejit::digest
