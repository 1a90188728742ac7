// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whether programs are verified when nobody says: what the library was built for.
#include "runtime/loader/generate.h"

#include <limits>
#include <string>
#include <utility>

#include "codegen/tile/isa_rounding.h"
#include "codegen/tile/verify.h"
#include "codegen/vector/legalize.h"
#include "codegen/vector/verify.h"
#include "codegen/vectorize.h"
#include "runtime/loader/backends.h"
#include "runtime/loader/emit_kernels.h"

namespace cubejit {
namespace {

#if defined(CUBEJIT_VERIFY) || !defined(NDEBUG)
constexpr bool kVerifies = true;
#else
constexpr bool kVerifies = false;
#endif

// No instruction that kernels consist of is shorter.
constexpr std::int64_t kLeastBytes = 4;

// What is spelled out of a kernel, in vector ops at least.
std::int64_t opsSpelledOut(const Kernel& kernel) {
  const auto* contract = std::get_if<Contract>(&kernel);
  std::int64_t ops = 0;
  if (contract == nullptr) return ops;
  for (const Section& section : contract->sections) {
    for (const Step& step : section.steps) {
      for (const AOperand& a : step.a) ops += static_cast<std::int64_t>(a.uses.size());
    }
  }
  return ops;
}

Error overBudget(const TileProgram& tile, std::int64_t bytes, const Options& options) {
  return Error{ErrorCode::kLimitExceeded, Stage::kVector,
               tile.name + ": its plan takes " + std::to_string(bytes) +
                   " bytes of code or more, Options::codeBudget allows " + std::to_string(options.codeBudget) +
                   "; take a plan that unrolls less, or allow more"};
}

}  // namespace

Result<std::unique_ptr<CompiledPass>> generate(TileProgram tile, PlanBackend wanted, const HostIsa& isa,
                                               const Options& options) {
  const bool verifies = options.verify.value_or(kVerifies);
  CUBEJIT_RETURN_IF_ERROR(verifies ? verify(tile) : Status(Unit{}));
  CUBEJIT_RETURN_IF_ERROR(launchable(tile));
  useIsaRounding(tile, isa);
  auto part = std::make_unique<CompiledPass>();
  part->isa = isa;
  part->tile = std::move(tile);
  // A chip's programs have a bound of their own.
  const std::int64_t budget = options.machine ? std::numeric_limits<std::int64_t>::max() : options.codeBudget;
  std::int64_t ops = 0, bytes = 0;
  for (const Kernel& kernel : part->tile.kernels) {
    const std::int64_t spelledOut = ops + opsSpelledOut(kernel);
    if (spelledOut * kLeastBytes > budget) return overBudget(part->tile, spelledOut * kLeastBytes, options);
    CUBEJIT_TRY(vector, vectorize(kernel, isa));
    ops += static_cast<std::int64_t>(vector.code.size());
    if (ops * kLeastBytes > budget) return overBudget(part->tile, ops * kLeastBytes, options);
    CUBEJIT_TRY(legal, legalize(vector));  // which verifies what it is given, whatever the options say
    CUBEJIT_RETURN_IF_ERROR(verifies ? verify(legal) : Status(Unit{}));
    part->vectors.push_back(std::move(legal));
  }
  CUBEJIT_TRY(backend, codeBackend(wanted, options));
  CUBEJIT_TRY(codes, emitKernels(part->vectors, backend, options));
  for (const Code& code : codes) bytes += code.instructionBytes;
  if (bytes > budget) return overBudget(part->tile, bytes, options);
  part->codes = std::move(codes);
  return part;
}

Result<std::vector<std::unique_ptr<CompiledPass>>> generateEach(std::vector<ProgramForms> programs,
                                                                const Problem& problem,
                                                                const std::vector<TilingPlan>& plans,
                                                                const Options& options) {
  std::vector<std::unique_ptr<CompiledPass>> parts;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const auto made = [&](TileProgram tile, const HostIsa& isa) -> Result<std::unique_ptr<CompiledPass>> {
      CUBEJIT_TRY(part, generate(std::move(tile), plans[i].backend, isa, options));
      part->problem = problem;
      if (plans[i].pass != Pass::kY) part->problem.postOps = {};  // the call has multiplied dy by the slope before
      part->plan = plans[i];
      return std::move(part);
    };
    ProgramForms& forms = programs[i];
    CUBEJIT_TRY(part, made(std::move(forms.tile), forms.isa));
    part->lowered = std::move(forms.lowered);
    if (forms.anyValues) {
      CUBEJIT_TRY(careful, made(std::move(*forms.anyValues), forms.anyValuesIsa));
      part->anyValues = std::move(careful);
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace cubejit
