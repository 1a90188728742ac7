// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the library's C++ face: a Session compiles problems into Executables; an Executable computes passes.
// C++17; every failure is a Result, also of memory. What returns texts and lists by value throws std::bad_alloc, and nothing else throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cubejit/core_counts.h"
#include "cubejit/export.h"
#include "cubejit/kernel_args.h"
#include "cubejit/machine.h"
#include "cubejit/options.h"
#include "cubejit/plan.h"
#include "cubejit/problem.h"
#include "cubejit/result.h"
#include "cubejit/run_times.h"
#include "cubejit/sanitizer.h"
#include "cubejit/tensors.h"

namespace cubejit {

/// A plan of the caller's own for one pass (plan.pass says which); it is checked like any other.
struct CompileRequest {
  Problem problem;
  PassMask passes;
  std::vector<TilingPlan> plans;  ///< empty, or one per pass that should not be planned
  WeightsUse weights = WeightsUse::kEachRun;
};

/// Where an operand of a kernel's call lies.
struct KernelOperand {
  std::string
      buffer;  ///< as in Executable::tileProgram(): "dy", "x", "w", "dx", "dw", "db" or workspace; empty: not used
  std::int64_t bytes = 0;   ///< of the whole buffer; a tensor's elements lie in it as the problem's format says
  std::int64_t offset = 0;  ///< of the operand in it, bytes
};

/// A call of a kernel that a run makes: what KernelArgs holds, with places instead of pointers. The kernel stays within these
/// buffers whatever is in them, so the call can be made by hand on memory of the same sizes.
struct KernelCall {
  KernelOperand a, b, c, d;
  std::vector<std::int64_t> list;  ///< for KernelArgs::list; empty: a move, which takes none
  std::int64_t repeat = 1, aRepeat = 0, bRepeat = 0, cRepeat = 0;
  bool accumulate = false;
  std::int64_t dRepeat = 0;
};

/// One generated kernel, for reading and for calling by hand: examples/call_a_kernel.cpp.
struct KernelView {
  std::string name;
  Pass pass = Pass::kDx;
  const void* entry = nullptr;       ///< a KernelFunction, see kernel_args.h; null if the backend interprets
  std::vector<std::byte> bytes;      ///< as emitted: xbyak's machine code, position-independent, or LLVM's ELF object
  std::string vectorProgram;         ///< text
  bool multiplies = false;           ///< false: a move, see kernel_args.h
  std::int64_t resultAlignment = 1;  ///< bytes that KernelArgs::c and cRepeat are multiples of, beyond an element's
  std::optional<KernelCall>
      call;  ///< of those in a run one that fills most sections of its list; unset: none was found
};

/// Who chose a plan.
enum class PlanSource : std::uint8_t {
  kModel,   ///< the planner, by its cost model
  kRecord,  ///< a tuning run on this machine, see Options::store
  kPin,     ///< a pin file, see Options::pins
  kCaller   ///< CompileRequest::plans
};
constexpr const char* toString(PlanSource s) {
  return s == PlanSource::kModel    ? "model"
         : s == PlanSource::kRecord ? "record"
         : s == PlanSource::kPin    ? "pin"
                                    : "caller";
}

struct StageTimes {
  std::int64_t planNs = 0, lowerNs = 0, generateNs = 0;  ///< generate = vectorize + legalize + emit + load
  int kernels = 0;
};

/// The compiled form of a problem. Immutable; all methods may be called from many threads at once, each run with its own workspace.
class Executable {
 public:
  CUBEJIT_API Executable();
  CUBEJIT_API ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  CUBEJIT_API const Problem& problem() const;
  CUBEJIT_API PassMask passes() const;
  CUBEJIT_API const HostIsa& isa() const;
  /// Threads a run uses unless told otherwise.
  CUBEJIT_API int threads() const;
  /// Bytes of workspace a run with this many threads needs (0 or less = threads()): packed weights, dW accumulators, and panels per thread.
  /// `packedW`: of a run that is given Tensors::packedW, whose weights have memory of their own.
  CUBEJIT_API std::size_t workspaceBytes(int threads = 0, bool packedW = false) const;
  /// Bytes that the executable itself keeps, about: its code and its programs. Workspaces and packed weights are the caller's.
  CUBEJIT_API std::size_t memoryBytes() const;
  /// Computes the passes asked for. `workspace` must be 64-byte aligned (may be null if workspaceBytes is 0) and is scratch:
  /// its contents mean nothing before or after. An executable's results are bit-identical for any number of threads and from run to run.
  /// Denormals are flushed in all threads of the run as the calling thread has it; rounding is to nearest, and no exception traps (float_mode.h).
  /// 0: threads(); at most 1024 are used. Errors name every rule: negative threads, missing tensors, workspace small or misaligned, overlaps.
  CUBEJIT_API Status run(const Tensors& tensors, void* workspace, std::size_t workspaceBytes, int threads = 0) const;

  /// Bytes of the memory that packWeights() fills; 0 if no pass reads weights, or if the plan packs them as it goes:
  /// compile with WeightsUse::kKept, and it does not.
  CUBEJIT_API std::size_t packedWeightsBytes() const;
  /// Packs the weights into the caller's memory (64-byte aligned, packedWeightsBytes() long, not overlapping w), which runs then
  /// read as Tensors::packedW. Say again when w has changed: nothing watches it. The memory may be read by many runs at once,
  /// copied and moved (to a 64-byte boundary); it is tied to this executable, or one of equal problem, plan, ISA and version.
  CUBEJIT_API Status packWeights(const void* w, void* packed, std::size_t bytes, int threads = 0) const;

  /// Precondition wherever a pass is named: passes().has(pass).
  CUBEJIT_API TilingPlan plan(Pass pass) const;
  CUBEJIT_API PlanSource planSource(Pass pass) const;
  CUBEJIT_API std::string tileProgram(Pass pass) const;
  CUBEJIT_API std::vector<KernelView> kernels() const;
  CUBEJIT_API StageTimes times() const;
  /// Where the time of all runs so far went; empty unless Options::timeKernels was set. Runs may go on meanwhile.
  CUBEJIT_API RunTimes runTimes() const;
  /// What a run of the pass does on the NPU it was compiled for, core by core, with estimated cycles: the same for every run, so
  /// none is needed. With `trace` also what each instruction did and when, of the first `mostEvents`; later tasks are left out.
  /// kUnsupported: it was compiled for this host.
  CUBEJIT_API Result<EmulationReport> emulationReport(Pass pass, bool trace = false,
                                                      std::int64_t mostEvents = 1000000) const;
  /// What the program of the NPU it was compiled for does that a real chip would get wrong (sanitizer.h): read off the program, without a
  /// run. Thread-safe, like all else; takes up to 2.5 GiB for the shadow of a large workspace. kUnsupported: it was compiled for this host.
  CUBEJIT_API Result<SanitizerReport> sanitize(Pass pass) const;

  struct State;
  State& state() { return *state_; }
  const State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// The generated conversion of one tensor from one type and layout to another. Immutable; all methods may be called from many
/// threads at once.
class Repacking {
 public:
  CUBEJIT_API Repacking();
  CUBEJIT_API ~Repacking();
  Repacking(const Repacking&) = delete;
  Repacking& operator=(const Repacking&) = delete;

  CUBEJIT_API std::size_t sourceBytes() const;
  CUBEJIT_API std::size_t targetBytes() const;
  /// Converts. What stands for nothing in the target's blocks becomes zero. Errors: null or overlapping memory, memory that is not
  /// aligned to an element. 0 threads: the session's choice.
  CUBEJIT_API Status run(const void* source, void* target, int threads = 0) const;

  struct State;
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

struct PlanCandidate {
  TilingPlan plan;
  double predictedCycles = 0, computeCycles = 0, memoryCycles = 0, moveCycles = 0, callCycles = 0;
  std::string bound;
  std::vector<std::string> refusedBy;  ///< rules broken; empty = legal
};

struct PlanReport {
  TilingPlan plan;
  PlanSource source = PlanSource::kModel;
  std::string sourceNote;  ///< what a record promises, or why one was not used
  Mkn singleShape;         ///< what a task works on, in the GEMM view of the pass
  double predictedCycles = 0;
  std::string bound;
  std::size_t workspaceBytes = 0;         ///< with the session's threads
  std::vector<TensorCopy> copies;         ///< those that the plan asks for (reorder_x and its siblings)
  std::vector<PlanCandidate> candidates;  ///< best first, refused last; filled when asked to explain
};

/// What a call of several passes does, before anything is generated.
struct CallReport {
  std::vector<TilingPlan> plans;  ///< in the order of kPasses
  std::vector<TensorId>
      converted;             ///< the call makes copies of these, once for all passes, in the format they read them in
  bool interleaves = false;  ///< passes that read dy take turns, a block of it at a time
  std::vector<TensorCopy> copies;  ///< those of the call, then those of each plan
  std::size_t workspaceBytes = 0;  ///< with the session's threads: what Executable::workspaceBytes() will say
};

struct CacheStatistics {
  std::int64_t hits = 0, misses = 0, evictions = 0;
  std::size_t entries = 0, codeBytes = 0;
};

/// Compiles and keeps executables. Thread-safe; one per process is enough. A problem that many threads ask for at once is
/// generated once; a failure is not remembered.
class Session {
 public:
  /// What the environment says (optionsFromEnvironment()): plans tuned on this machine are used. Where it says something wrong, every
  /// call does.
  CUBEJIT_API Session();
  /// What the options say, and of the environment only what Diagnostics leave open.
  CUBEJIT_API explicit Session(Options options);
  CUBEJIT_API ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  CUBEJIT_API Result<std::shared_ptr<const Executable>> compile(const Problem& problem, PassMask passes,
                                                                WeightsUse weights = WeightsUse::kEachRun);
  /// The same with plans of the caller's own; not cached.
  CUBEJIT_API Result<std::shared_ptr<const Executable>> compile(const CompileRequest& request);
  CUBEJIT_API Result<PlanReport> plan(const Problem& problem, Pass pass, bool explain = false) const;
  /// The passes of a request as one call, as compile() takes it. Errors: those of compile() up to its plans.
  CUBEJIT_API Result<CallReport> planCall(const CompileRequest& request) const;
  /// Generates the conversion of a tensor from the format the problem gives it to `to`. Not cached.
  CUBEJIT_API Result<std::shared_ptr<const Repacking>> repack(const Problem& problem, TensorId tensor,
                                                              const TensorFormat& to) const;

  /// What every call of the session fails with, if it does: the environment or the options are wrong (kInvalidProblem, ...), or there was no
  /// memory to make it (kLimitExceeded). Then options() and machine() are not what was asked for.
  CUBEJIT_API Status status() const;
  CUBEJIT_API const Options& options() const;
  CUBEJIT_API const Machine& machine() const;
  CUBEJIT_API CacheStatistics statistics() const;
  CUBEJIT_API void clear();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// ISA levels this CPU and operating system can run, best first.
CUBEJIT_API std::vector<IsaLevel> runnableIsas();
/// Ok: this process can run code for the level. Else kUnsupported, and what is missing. Levels with tiles (AMX) need a permission that Linux gives
/// to a process; it is asked for by the first call that needs it, and grows the frames of signals by 8 KiB for as long as the process lives.
CUBEJIT_API Status checkRunnable(IsaLevel level);
/// Threads the process may use: min(CPUs in the affinity mask, cgroup quota rounded up).
CUBEJIT_API int defaultThreads();
/// The machine plans are made for when code is generated for `level`.
CUBEJIT_API Machine detectHost(IsaLevel level);
/// GFLOP/s of a generated loop of the type's own multiply-add on `threads` threads at once, each bound to a CPU; measured now
/// (about `milliseconds`). That is the product of tiles for types that the level has them of, the bf16 dot product for bf16 where it has that, and
/// the f32 FMA otherwise.
CUBEJIT_API Result<double> measurePeakGflops(IsaLevel level, int threads, int milliseconds = 60,
                                             DType type = DType::kF32);

CUBEJIT_API const char* version();

}  // namespace cubejit
