// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a TileProgram runs: a short recursive walk follows its flat nests; parallel tasks are dealt to slots through a counter.
// Leaves what becomes flat to flat_nest, threads to threads.h and kernels to whoever resolved them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "codegen/tile/caller_buffers.h"
#include "codegen/tile/prepack.h"
#include "codegen/tile/program.h"
#include "codegen/tile/workspace.h"
#include "cubejit/kernel_args.h"
#include "cubejit/options.h"
#include "cubejit/result.h"
#include "runtime/exec/back_to_back.h"
#include "runtime/exec/flat_nest.h"
#include "runtime/exec/kernel_times.h"

namespace cubejit {

/// What runs a kernel: generated code, or (function == null) an interpreter called with the kernel's index.
struct KernelRunner {
  std::vector<KernelFunction> functions;  ///< per kernel; null = interpret
  void (*interpret)(const void* user, int kernel, const KernelArgs& args) = nullptr;
  const void* user = nullptr;
};

/// Whether the walk has room for the program: kLimitExceeded names what is too many.
Status launchable(const TileProgram& program);

/// Who runs tasks.
struct Team {
  int slots;
  const ParallelFor& parallelFor;
  bool pin;
  double wakeCycles;  ///< phases of less work run on one thread
};

/// Precondition of run(): launchable(program).
class LaunchProgram {
 public:
  LaunchProgram(const TileProgram& program, KernelRunner runner);

  /// Bytes of workspace: shared buffers, then private ones per slot. `packed`: with what prepack() has filled.
  std::size_t workspaceBytes(int slots, bool packed = false) const {
    return static_cast<std::size_t>((packed ? besidePacked_ : workspace_).bytes.on(slots));
  }
  /// Runs the program. `workspace` is 64-byte aligned and large enough. `packed` is null or what prepack() has filled: the phases that it runs
  /// are left out then.
  void run(const CallerBuffers& callers, const void* packed, char* workspace, const Team& team) const;

  /// Runs one phase on the calling thread. Shared buffers hold what phases before have left in the workspace.
  void runPhase(std::size_t phase, const CallerBuffers& callers, char* workspace) const;
  /// Where such a buffer is.
  char* sharedBuffer(std::size_t buffer, char* workspace) const { return workspace + workspace_.offset[buffer]; }

  /// From now on runs are timed, in as many slots.
  void keepTimes(int slots) { times_ = std::make_unique<KernelTimes>(runner_.functions.size(), phases_.size(), slots); }
  const KernelTimes* times() const { return times_.get(); }  ///< null unless they are kept

  /// The same for the order's members, of `programs`, at once; their workspaces follow each other. `callers`: by program.
  using Programs = std::vector<const LaunchProgram*>;
  static void runBackToBack(const Programs& programs, const BackToBack& order,
                            const std::vector<CallerBuffers>& callers, const void* packed, char* workspace,
                            const Team& team);

  /// Bytes that prepack() fills; 0 if other phases read kept inputs, too.
  std::size_t prepackBytes() const { return prepack_.complete ? keptBytes_ : 0; }
  /// Runs the phases that depend on kept inputs alone, the only callers' buffers that are looked at; their results go to `kept`, 64-byte aligned.
  void prepack(const CallerBuffers& callers, char* kept, const Team& team) const;

 private:
  struct FlatVariant {
    KernelFunction function = nullptr, aligned = nullptr;
    std::int64_t alignment = 0;  ///< of C, in bytes, for `aligned`; a power of two. 0: there is none
    const std::int64_t* list = nullptr;
    std::int64_t accumulate = 0;
    int kernel = -1;
  };
  struct FlatCall {
    int a = -1, b = -1, c = -1, d = -1;
    std::vector<FlatVariant> variants;
  };
  struct FlatPhase {
    std::vector<Stream> streams;
    std::vector<FlatAxis> axes;
    std::vector<FlatNode> body;
    std::vector<FlatCall> calls;
    std::vector<int> parallelAxes;
    std::int64_t tasks = 0;
    double workCycles = 0;
  };
  struct Walk;
  struct Places {
    const CallerBuffers& callers;
    char* workspace = nullptr;
    char* kept = nullptr;  ///< where kept buffers are; null = in the workspace
  };
  FlatPhase flatPhase(const Phase& phase) const;
  FlatCall flatCall(const Call& call) const;
  struct Slot {
    int index;
    std::vector<char*> bases;
    std::int64_t residual;  ///< of kernels that add z
  };
  void runTasks(const FlatPhase& phase, const Slot& slot, std::int64_t begin, std::int64_t end) const;
  Slot slotOf(const Places& places, int index) const;
  std::vector<char*> basesOf(const Places& places, int slot) const;
  void runPhase(const FlatPhase& phase, const Places& places, const Team& team) const;
  void runPhases(std::size_t begin, std::size_t end, const Places& places, const Team& team) const;
  void walk(Walk& walk, const std::vector<FlatNode>& nodes, const std::int64_t* offsets) const;
  void walkLoop(Walk& walk, const FlatNode& loop, const std::int64_t* offsets) const;
  struct Operands;
  static void place(const Walk& walk, const FlatCallSite& site, const std::int64_t* offsets, Operands& out);
  void callStep(const Walk& walk, const Operands& place, const CallStep& step) const;
  void walkCalls(const Walk& walk, const FlatNode& list, Window steps, const std::int64_t* offsets) const;
  void callKernel(const FlatVariant& variant, KernelArgs& args) const;

  KernelRunner runner_;
  bool usesTiles_ = false;  ///< machine code of its kernels configures tiles
  std::vector<std::vector<std::int64_t>> lists_;
  std::vector<std::int64_t> alignments_;  ///< of each kernel's vectors
  std::vector<Buffer> buffers_;
  Residual residual_;
  Prepack prepack_;
  WorkspaceLayout workspace_, besidePacked_;  ///< the latter: of runs that read what prepack() has filled
  std::vector<std::size_t> keptPlace_;        ///< of each kept buffer among those
  std::size_t keptBytes_ = 0;
  std::vector<FlatPhase> phases_;
  std::unique_ptr<KernelTimes> times_;
};

}  // namespace cubejit
