// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the C face maps to the C++ one: structs are copied by their stated size, errors become a code and a text per thread.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "cubejit/cubejit.h"
#include "cubejit/cubejit.hpp"
#include "cubejit/machines.h"
#include "runtime/face/last_error.h"
#include "runtime/host/threads.h"
#include "runtime/pipeline/compile.h"
#include "runtime/text/json_report.h"
#include "tiling/no_throw.h"

struct cubejit_session {
  cubejit::Session session;
};

struct cubejit_executable {
  std::shared_ptr<const cubejit::Executable> executable;
  mutable std::mutex listing;
  mutable std::optional<std::vector<cubejit::KernelView>> kernels;  ///< made when first asked for
};

namespace cubejit {
namespace {

cubejit_status codeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidProblem: return CUBEJIT_INVALID_PROBLEM;
    case ErrorCode::kUnsupported: return CUBEJIT_UNSUPPORTED;
    case ErrorCode::kNoFeasiblePlan: return CUBEJIT_NO_FEASIBLE_PLAN;
    case ErrorCode::kLimitExceeded: return CUBEJIT_LIMIT_EXCEEDED;
    case ErrorCode::kIo: return CUBEJIT_IO;
    case ErrorCode::kInternal: break;
  }
  return CUBEJIT_INTERNAL;
}

// Runs a body that returns Status.
template <class Body>
cubejit_status statusOf(Stage stage, Body&& body) noexcept {
  Status status = withoutThrowing(stage, std::forward<Body>(body));
  if (status.ok()) return CUBEJIT_OK;
  const Error& error = status.error();
  try {
    lastError() = error.message;
    return codeOf(error.code);
  } catch (...) {
    lastError() = "out of memory";  // fits in any string
    return CUBEJIT_LIMIT_EXCEEDED;
  }
}

// A caller built with another version has a longer or shorter struct. Longer: what we do not know must be zero.
Status checkSize(const char* name, const void* given, std::size_t ours) {
  if (given == nullptr) return invalidInput(std::string(name) + " is null");
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof(size));
  if (size < ours) {
    return invalidInput(std::string(name) + ": struct_size = " + std::to_string(size) + " must be at least " +
                        std::to_string(ours) + "; start from the default the header gives");
  }
  const char* const bytes = static_cast<const char*>(given);
  if (size <= 65536 && std::all_of(bytes + ours, bytes + size, [](char byte) { return byte == 0; })) return Unit{};
  return Error{
      ErrorCode::kUnsupported, Stage::kProblem,
      std::string(name) + ": struct_size = " + std::to_string(size) + " sets fields this version does not know"};
}

// Fills a caller's struct and keeps the size it states.
template <class T>
Status fill(const char* name, T* out, T values) {
  CUBEJIT_RETURN_IF_ERROR(checkSize(name, out, sizeof(T)));
  values.struct_size = out->struct_size;
  *out = values;
  return Unit{};
}

// A caller's struct as ours, where it may end before `since`: fields that it has not are zero.
template <class T>
Result<T> wholeOf(const char* name, const T* given, std::size_t since) {
  std::size_t size = since;
  if (given != nullptr) std::memcpy(&size, given, sizeof(size));
  const bool whole = size >= sizeof(T);
  CUBEJIT_RETURN_IF_ERROR(checkSize(name, given, whole ? sizeof(T) : since));
  T out{};
  std::memcpy(&out, given, whole ? sizeof(T) : since);
  return out;
}

Dhw axes(const std::int64_t (&values)[3]) { return Dhw{values[0], values[1], values[2]}; }

Result<DType> dtypeOf(const std::string& name, std::int32_t given) {
  constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBf16, DType::kHf32, DType::kHf32Low};
  if (given >= CUBEJIT_F32 && given <= CUBEJIT_HF32_LOW) return kTypes[given];
  return invalidInput(name + "dtype = " + std::to_string(given) +
                      " is unknown; there are 0 (f32), 1 (f16), 2 (bf16), 3 (hf32), 4 (hf32_low)");
}

Result<Layout> layoutOf(const std::string& name, std::int32_t given) {
  constexpr Layout kLayouts[] = {Layout::kNcdhw, Layout::kNdhwc, Layout::kNdc1hwc0, Layout::kFractalZ3d};
  if (given >= CUBEJIT_NCDHW && given <= CUBEJIT_FRACTAL_Z_3D) return kLayouts[given];
  return invalidInput(name + "layout = " + std::to_string(given) +
                      " is unknown; there are 0 (ncdhw), 1 (ndhwc), 2 (ndc1hwc0), 3 (fractal_z_3d)");
}

Result<Problem> problemOf(const cubejit_problem* asked) {
  CUBEJIT_TRY(all, wholeOf("problem", asked, offsetof(cubejit_problem, reserved)));
  const cubejit_problem* const given = &all;
  CUBEJIT_TRY(dtype, dtypeOf("", given->dtype));
  CUBEJIT_TRY(layout, layoutOf("", given->layout));
  if (given->reserved != 0)
    return invalidInput("problem: reserved = " + std::to_string(given->reserved) + " must be 0");
  Problem p;
  p.rank = given->rank;
  p.transposed = given->transposed != 0;
  p.dtype = dtype;
  p.layout = layout;
  if (given->post_ops != nullptr) {
    CUBEJIT_TRY(post, parsePostOps(given->post_ops));
    p.postOps = post;
  }
  if (given->math < 0 || given->math >= std::ssize(kAllMathModes))
    return invalidInput("problem: math = " + std::to_string(given->math) +
                        " must be CUBEJIT_MATH_STRICT (0), _RELAXED (1) or _BF16 (2)");
  p.math = kAllMathModes[given->math];
  for (const TensorId t : kTensorIds) {
    const cubejit_format& format = t == TensorId::kY ? given->y_format : given->formats[static_cast<std::size_t>(t)];
    if (format.given == 0) continue;
    const std::string name = std::string(toString(t)) + ": ";
    CUBEJIT_TRY(type, dtypeOf(name, format.dtype));
    CUBEJIT_TRY(order, layoutOf(name, format.layout));
    TensorFormat own{type, order, {}, format.c0, format.given == 2};
    std::copy(std::begin(format.strides), std::end(format.strides), own.strides.begin());
    p.formats[static_cast<std::size_t>(t)] = own;
  }
  p.batch = given->batch;
  p.groups = given->groups;
  p.cin = given->cin;
  p.cout = given->cout;
  p.in = axes(given->in);
  p.kernel = axes(given->kernel);
  p.out = axes(given->out);
  p.stride = axes(given->stride);
  p.dilation = axes(given->dilation);
  p.padBefore = axes(given->pad_before);
  p.padAfter = axes(given->pad_after);
  return p;
}

Result<Options> optionsOf(const cubejit_options* asked) {
  if (asked == nullptr) return optionsFromEnvironment();
  Options options;
  CUBEJIT_TRY(all, wholeOf("options", asked, offsetof(cubejit_options, machine)));
  const cubejit_options* const given = &all;
  if (given->machine != nullptr) {
    CUBEJIT_TRY(machine, readMachine(given->machine));
    options.machine = machine;
  }
  options.elideCopies = given->elide_copies != 0;
  constexpr IsaLevel kLevels[] = {IsaLevel::kAvx2,   IsaLevel::kAvx512,    IsaLevel::kAvx512Bf16,   IsaLevel::kNeon,
                                  IsaLevel::kSve256, IsaLevel::kAvx512Amx, IsaLevel::kAvx512AmxFp16};
  if (given->isa < CUBEJIT_ISA_BEST || given->isa > CUBEJIT_ISA_AVX512_AMX_FP16)
    return invalidInput(
        "isa = " + std::to_string(given->isa) +
        " is unknown; there are 0 (best), 1 (avx2), 2 (avx512), 3 (avx512_bf16), 4 (neon), 5 (sve256), 6 (avx512_amx), "
        "7 (avx512_amx_fp16)");
  if (given->isa != CUBEJIT_ISA_BEST) options.isa = kLevels[given->isa - 1];
  if (given->backend < CUBEJIT_BACKEND_XBYAK || given->backend > CUBEJIT_BACKEND_LLVM)
    return invalidInput("backend = " + std::to_string(given->backend) +
                        " is unknown; there are 0 (xbyak), 1 (interpreter), 2 (tile_interpreter), 3 (llvm)");
  constexpr BackendKind kBackends[] = {BackendKind::kXbyak, BackendKind::kInterpreter, BackendKind::kTileInterpreter,
                                       BackendKind::kLlvm};
  options.backend = kBackends[given->backend];
  if (given->threads < 0) return invalidInput(brokenThreads(given->threads));
  if (given->reserved != 0)
    return invalidInput("options: reserved = " + std::to_string(given->reserved) + " must be 0");
  options.threads = given->threads;
  options.pinThreads = given->pin_threads != 0;
  options.cacheCapacity = given->cache_capacity;
  if (given->mem_limit > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
    return invalidInput("mem_limit = " + std::to_string(given->mem_limit) +
                        " is more than any machine has; 0 is no limit");
  options.memLimit = static_cast<std::int64_t>(given->mem_limit);
  options.parallelFor = ParallelFor{given->parallel_for, given->parallel_for_user};
  return options;
}

Result<Pass> passOf(int pass) {
  if (pass == CUBEJIT_DX) return Pass::kDx;
  if (pass == CUBEJIT_DW) return Pass::kDw;
  if (pass == CUBEJIT_DB) return Pass::kDb;
  if (pass == CUBEJIT_Y) return Pass::kY;
  return invalidInput("pass = " + std::to_string(pass) + " must be one of 1 (dx), 2 (dw), 4 (db), 16 (y)");
}

int bitOf(Pass pass) {
  constexpr int kBits[] = {CUBEJIT_DX, CUBEJIT_DW, CUBEJIT_DB, CUBEJIT_Y};
  return kBits[static_cast<std::size_t>(pass)];
}

Result<PassMask> maskOfBits(int given) {
  const int passes = given & ~CUBEJIT_KEEP_WEIGHTS;
  if (passes == 0 || (passes & ~(CUBEJIT_DX | CUBEJIT_DW | CUBEJIT_DB | CUBEJIT_Y)) != 0)
    return invalidInput("passes = " + std::to_string(given) +
                        " must be a set of 1 (dx), 2 (dw), 4 (db), 16 (y), and 8 (weights are kept) beside them");
  return PassMask{(passes & CUBEJIT_DX) != 0, (passes & CUBEJIT_DW) != 0, (passes & CUBEJIT_DB) != 0,
                  (passes & CUBEJIT_Y) != 0};
}

std::string textOf(const TilingPlan& plan) {
  std::string text = std::string("pass=") + toString(plan.pass) + " algorithm=" + algorithmName(plan);
  describePlan(plan, [&](const char* name, const auto& field) {
    using Field = std::decay_t<decltype(field)>;
    text += (text.empty() ? "" : " ") + std::string(name) + "=";
    if constexpr (std::is_same_v<Field, bool>)
      text += field ? "1" : "0";
    else if constexpr (std::is_enum_v<Field>)
      text += toString(field);
    else
      text += std::to_string(field);
  });
  return text;
}

const std::vector<KernelView>& kernelsOf(const cubejit_executable& handle) {
  // Not std::call_once: glibc aborts where its function throws and there is no memory to load what unwinds its frames.
  const std::lock_guard<std::mutex> lock(handle.listing);
  if (!handle.kernels) handle.kernels = handle.executable->kernels();
  return *handle.kernels;
}

}  // namespace
}  // namespace cubejit

using cubejit::Stage;
using cubejit::Status;
using cubejit::Unit;

const char* cubejit_version(void) { return cubejit::version(); }
const char* cubejit_last_error(void) { return cubejit::lastError().c_str(); }

cubejit_status cubejit_session_create(const cubejit_options* options, cubejit_session** session) {
  return cubejit::statusOf(Stage::kProblem, [&]() -> Status {
    if (session == nullptr) return cubejit::invalidInput("session is null");
    CUBEJIT_TRY(values, cubejit::optionsOf(options));
    *session = new cubejit_session{cubejit::Session(values)};
    return Unit{};
  });
}

void cubejit_session_destroy(cubejit_session* session) { delete session; }

cubejit_status cubejit_session_statistics(const cubejit_session* session, cubejit_statistics* statistics) {
  return cubejit::statusOf(Stage::kProblem, [&]() -> Status {
    if (session == nullptr) return cubejit::invalidInput("session is null");
    const cubejit::CacheStatistics s = session->session.statistics();
    return cubejit::fill("statistics", statistics,
                         cubejit_statistics{0, s.hits, s.misses, s.evictions, s.entries, s.codeBytes});
  });
}

cubejit_status cubejit_plan(const cubejit_session* session, const cubejit_problem* problem, int pass,
                            cubejit_plan_report* report) {
  return cubejit::statusOf(Stage::kPlan, [&]() -> Status {
    if (session == nullptr) return cubejit::invalidInput("session is null");
    CUBEJIT_TRY(asked, cubejit::problemOf(problem));
    CUBEJIT_TRY(wanted, cubejit::passOf(pass));
    CUBEJIT_TRY(planned, session->session.plan(asked, wanted));
    auto& [bound, plan, other] = cubejit::returnedTexts();
    static_cast<void>(other);
    bound = planned.bound;
    plan = cubejit::textOf(planned.plan);
    return cubejit::fill(
        "report", report,
        cubejit_plan_report{0, planned.predictedCycles, planned.workspaceBytes, bound.c_str(), plan.c_str()});
  });
}

cubejit_status cubejit_compile(cubejit_session* session, const cubejit_problem* problem, int passes,
                               cubejit_executable** executable) {
  return cubejit::statusOf(Stage::kProblem, [&]() -> Status {
    if (session == nullptr) return cubejit::invalidInput("session is null");
    if (executable == nullptr) return cubejit::invalidInput("executable is null");
    CUBEJIT_TRY(asked, cubejit::problemOf(problem));
    CUBEJIT_TRY(mask, cubejit::maskOfBits(passes));
    const bool keeps = (passes & CUBEJIT_KEEP_WEIGHTS) != 0;
    CUBEJIT_TRY(compiled, session->session.compile(asked, mask,
                                                   keeps ? cubejit::WeightsUse::kKept : cubejit::WeightsUse::kEachRun));
    auto handle = std::make_unique<cubejit_executable>();
    handle->executable = std::move(compiled);
    *executable = handle.release();
    return Unit{};
  });
}

void cubejit_executable_destroy(cubejit_executable* executable) { delete executable; }

size_t cubejit_workspace_bytes(const cubejit_executable* executable, int threads) {
  return executable == nullptr ? 0 : executable->executable->workspaceBytes(threads);
}

size_t cubejit_workspace_bytes_beside_packed(const cubejit_executable* executable, int threads) {
  return executable == nullptr ? 0 : executable->executable->workspaceBytes(threads, true);
}

cubejit_status cubejit_run(const cubejit_executable* executable, const cubejit_tensors* tensors, void* workspace,
                           size_t workspace_bytes, int threads) {
  return cubejit::statusOf(Stage::kRun, [&]() -> Status {
    if (executable == nullptr) return cubejit::invalidInput("executable is null");
    CUBEJIT_TRY(t, cubejit::wholeOf("tensors", tensors, offsetof(cubejit_tensors, y)));
    return executable->executable->run(cubejit::Tensors{t.dy, t.x, t.w, t.dx, t.dw, t.db, t.packed_w, t.y, t.b, t.z},
                                       workspace, workspace_bytes, threads);
  });
}

cubejit_status cubejit_emulation_report(const cubejit_executable* executable, int pass, const char** json) {
  return cubejit::statusOf(Stage::kRun, [&]() -> Status {
    if (executable == nullptr) return cubejit::invalidInput("executable is null");
    if (json == nullptr) return cubejit::invalidInput("json is null");
    CUBEJIT_TRY(wanted, cubejit::passOf(pass));
    const cubejit::Executable& compiled = *executable->executable;
    CUBEJIT_TRY(report, compiled.emulationReport(wanted));
    std::string& text = cubejit::returnedTexts().report;
    text = cubejit::reportToJson(*compiled.state().chip, compiled.plan(wanted), report);
    *json = text.c_str();
    return Unit{};
  });
}

size_t cubejit_packed_weights_bytes(const cubejit_executable* executable) {
  return executable == nullptr ? 0 : executable->executable->packedWeightsBytes();
}

cubejit_status cubejit_pack_weights(const cubejit_executable* executable, const void* w, void* packed,
                                    size_t packed_bytes, int threads) {
  return cubejit::statusOf(Stage::kRun, [&]() -> Status {
    if (executable == nullptr) return cubejit::invalidInput("executable is null");
    return executable->executable->packWeights(w, packed, packed_bytes, threads);
  });
}

size_t cubejit_kernel_count(const cubejit_executable* executable) {
  return executable == nullptr ? 0 : static_cast<size_t>(executable->executable->times().kernels);
}

cubejit_status cubejit_get_kernel(const cubejit_executable* executable, size_t index, cubejit_kernel* kernel) {
  return cubejit::statusOf(Stage::kProblem, [&]() -> Status {
    if (executable == nullptr) return cubejit::invalidInput("executable is null");
    const std::vector<cubejit::KernelView>& kernels = cubejit::kernelsOf(*executable);
    if (index >= kernels.size())
      return cubejit::invalidInput("index = " + std::to_string(index) + " must be less than " +
                                   std::to_string(kernels.size()));
    const cubejit::KernelView& k = kernels[index];
    return cubejit::fill("kernel", kernel,
                         cubejit_kernel{0, k.name.c_str(), cubejit::bitOf(k.pass), k.entry, k.bytes.data(),
                                        k.bytes.size(), k.vectorProgram.c_str()});
  });
}
