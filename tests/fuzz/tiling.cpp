// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of any file that is to be a tiling of Ascend C: it is refused, or what is printed of it reads back as the same; rules are told of any
// values, and where none is broken the plan it stands for is legal and lowers to a program that is sound.
#include "tools/cli/tiling_file.h"

#include "algorithms/lower.h"
#include "codegen/tile/verify.h"
#include "cubejit/machines.h"
#include "cubejit/npu.h"
#include "runtime/text/json_problem.h"
#include "tests/fuzz/json_mutator.h"

using namespace cubejit;

namespace {

const Machine& chip() {
  static const Machine machine = *machineByName("ascend910b2");
  return machine;
}

// Programs grow with extents, and rules do not depend on how large they are.
bool isSmall(const Problem& p) {
  const auto size = [](std::int64_t extent) { return static_cast<double>(extent); };
  double product = size(p.batch) * size(p.cin) * size(p.cout);
  for (int axis = 0; axis < 3; ++axis)
    product *= size(p.in[axis]) * size(p.out[axis]) * size(p.kernel[axis]) * size(p.stride[axis]);
  return product < 1e12;
}

template <class T>
void legalOnesLower(const T& tiling) {
  if (!ascendc::checkTiling(tiling, chip()).empty()) return;
  const Problem problem = ascendc::problemOf(tiling);
  const TilingPlan plan = ascendc::planOf(tiling, chip());
  const auto broken = checkOnNpu(problem, plan, chip(), CubeKernels::kAscendC);
  fuzz::hold(broken.empty(), "the plan of a legal tiling is legal",
             (broken.empty() ? "" : broken.front()) + "\n" + planToJson(plan));
  if (!isSmall(problem)) return;
  Machine machine = chip();
  machine.isa = avx2Isa();
  const auto program = lower(problem, plan, machine);
  fuzz::hold(program.ok(), "a legal plan lowers",
             (program.ok() ? "" : program.error().message) + "\n" + problemToJson(problem) + "\n" + planToJson(plan));
  const Status sound = verify(*program);
  fuzz::hold(sound.ok(), "its program is sound",
             (sound.ok() ? "" : sound.error().message) + "\n" + problemToJson(problem) + "\n" + planToJson(plan));
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  return fuzz::mutateJsonText(data, size, most, seed,
                              {"cubejit.tiling/1", "TConv3DBackpropInputTiling", "TConv3DBpFilterTiling"});
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::ScratchFile file("tiling");
  file.write(fuzz::textOf(data, size));
  const auto tiling = cli::readTiling(file.path());
  if (!tiling.ok()) return 0;
  const std::string printed = cli::tilingToJson(*tiling);
  const auto again = cli::tilingFromJson(printed);
  fuzz::hold(again.ok(), "a printed tiling is read", printed + (again.ok() ? "" : "\n" + again.error().message));
  fuzz::hold(cli::tilingToJson(*again) == printed, "as the same", printed);
  std::visit([](const auto& one) { legalOnesLower(one); }, *tiling);
  return 0;
}
