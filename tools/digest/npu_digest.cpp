// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what of emulated chips is digested: the plan's cost, and of a run the results' bits, counts and cycles.
#include <cstdio>
#include <random>
#include <vector>

#include "cubejit/emulation.h"
#include "cubejit/index_map.h"
#include "cubejit/machines.h"
#include "cubejit/npu.h"
#include "runtime/verify/format_tensor.h"
#include "runtime/verify/random_problem.h"
#include "tools/digest/digest.h"

namespace cubejit::digest {
namespace {

constexpr const char* kChips[] = {"ascend310p3", "ascend910", "ascend910b2", "toy"};
constexpr DType kTypes[] = {DType::kF16, DType::kBf16, DType::kF32};

std::string planLine(const Problem& problem, Pass pass, const Machine& chip) {
  const auto report = planOnNpu(problem, pass, chip);
  if (!report.ok()) return "none " + std::to_string(static_cast<int>(report.error().code));
  Hash hash;
  for (const double cycles : report->coreCycles) hash.number(cycles);
  for (const BufferUse& use : report->buffers) hash.number(use.usedBytes);
  for (const PipeUse& use : report->pipes) hash.number(use.cycles);
  const CubeTile& cube = report->plan.cube().tile;
  for (const std::int64_t n : {cube.base.m, cube.base.k, cube.base.n, cube.stepM, cube.stepN, cube.stepKa, cube.stepKb})
    hash.number(n);
  char text[80];
  std::snprintf(text, sizeof text, "%016llx %.17g", static_cast<unsigned long long>(hash.value()),
                report->predictedCycles);
  return text;
}

std::string runLine(const Problem& problem, Pass pass, const Machine& chip, bool fast) {
  EmulationRequest request{problem, pass, chip, {}};
  request.fast = fast;
  const auto emulation = Emulation::create(request);
  if (!emulation.ok()) return "none " + std::to_string(static_cast<int>(emulation.error().code));
  std::mt19937_64 random(7);
  std::array<std::vector<char>, kTensorIds.size()> memory;
  for (const TensorId t : kTensorIds) {
    auto& bytes = memory[static_cast<std::size_t>(t)];
    bytes.assign(static_cast<std::size_t>(formatBytes(problem, t)), 0);
    encodeTensor(problem, t, randomReals(random, plainElements(problem, t)), bytes.data());
  }
  const auto at = [&](TensorId t) { return memory[static_cast<std::size_t>(t)].data(); };
  Tensors tensors{at(TensorId::kDy), at(TensorId::kX),  at(TensorId::kW),
                  at(TensorId::kDx), at(TensorId::kDw), at(TensorId::kDb)};
  EmulationRun how;
  how.threads = 1;
  how.trace = true;
  const auto report = (*emulation)->run(tensors, how);
  if (!report.ok()) return "failed";
  Hash bits, counts;
  for (const TensorId t : {TensorId::kDx, TensorId::kDw, TensorId::kDb})
    bits.bytes(at(t), memory[static_cast<std::size_t>(t)].size());
  const CoreCounts& total = report->total;
  for (const std::int64_t n : total.bytes) counts.number(n);
  for (const double n : total.busy) counts.number(n);
  for (const std::int64_t n : total.highWater) counts.number(n);
  for (const std::int64_t n : {total.cubeSteps, total.instructions, total.blocks, total.skipped, total.tasks})
    counts.number(n);
  for (const TraceEvent& event : report->trace) {
    counts.number(event.core), counts.number(event.pipe), counts.number(event.bytes);
    counts.number(event.start), counts.number(event.end);
  }
  char text[100];
  std::snprintf(text, sizeof text, "%016llx %016llx %.17g", static_cast<unsigned long long>(bits.value()),
                static_cast<unsigned long long>(counts.value()), report->cycles);
  return text;
}

}  // namespace

void addNpuJobs(const std::vector<Problem>& suite, int randomProblems, std::vector<Job>& jobs) {
  for (const char* name : kChips) {
    const auto chip = machineByName(name);
    if (!chip.ok()) continue;
    for (Problem p : suite) {
      jobs.emplace_back([p, chip = *chip]() mutable {
        std::vector<Line> lines;
        for (const DType dtype : kTypes) {
          p.dtype = dtype;
          for (const Pass g : {Pass::kDx, Pass::kDw})
            lines.push_back(p.name + " " + chip.name + " " + toString(dtype) + " " + toString(g) + ": " +
                            planLine(p, g, chip));
        }
        return lines;
      });
    }
    std::mt19937_64 random(35);
    for (int i = 0; i < randomProblems; ++i) {
      Problem p = randomProblem(random, 2e5);
      p.dtype = kTypes[i % 3];
      p.layout = i % 2 ? Layout::kNdc1hwc0 : Layout::kNcdhw;
      jobs.emplace_back([p, i, chip = *chip] {
        std::vector<Line> lines;
        for (const Pass g : kGradients) {
          for (const bool fast : {false, true})
            lines.push_back("random" + std::to_string(i) + " " + chip.name + " " + toString(g) +
                            (fast ? " fast: " : ": ") + runLine(p, g, chip, fast));
        }
        return lines;
      });
    }
  }
}

}  // namespace cubejit::digest
