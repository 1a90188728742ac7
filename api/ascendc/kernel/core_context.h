// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what device code finds around it on the thread that runs it: its core, its share of the launch, where faults go. Leaves
// starting threads to the launcher.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cubejit_ascendc/core.h"
#include "cubejit_ascendc/launch.h"
#include "runtime/cores/core_barrier.h"
#include "runtime/cores/kernel_core.h"

namespace cubejit::ascendc {

class WriteLog;
struct Collision;

/// What is said of a tensor that begins nowhere.
inline constexpr const char* kNoMemory = " has no memory: call SetGlobalBuffer first, and check the offset";

/// Addresses [begin, end) that may be touched; both 0: not known.
struct Bounds {
  std::uintptr_t begin = 0, end = 0;
  bool known() const { return end != 0; }
  bool holds(std::uintptr_t first, std::uint64_t bytes) const {
    return !known() || (first >= begin && first <= end && bytes <= end - first);
  }
};

/// A collision as a finding.
Finding findingOf(FindingKind kind, const Collision& collision, FindingParty party);

/// A fault, and how often a core had it.
struct Fault {
  std::string core;  ///< "core 3"
  std::string text;  ///< where, and the rule
  std::int64_t times = 1;
};
/// One line a fault; the same fault of several cores is one line.
std::string describe(const std::vector<Fault>& faults);

/// One core for the time of a launch. Used by one thread at a time.
class CoreContext {
 public:
  /// A core of options.machine, an NPU, which `spelled` tells from all others; see KernelCore for the other options.
  CoreContext(Options options, std::string spelled, std::int64_t core)
      : options_(std::move(options)), spelled_(std::move(spelled)), core_(core) {}

  const Machine& machine() const { return *options_.machine; }
  const std::string& spelled() const { return spelled_; }
  std::int64_t core() const { return core_; }
  std::int64_t block = 0, blocks = 1;
  const std::vector<GlobalMemory>* memory = nullptr;
  WriteLog* writes = nullptr;  ///< null: nobody watches
  bool sanitize = false;
  std::int64_t round = 0;          ///< of SyncAll()
  CoreBarrier* barrier = nullptr;  ///< of the launch; null: there is no other block
  bool launched = true;            ///< false: faults go to cubejit_last_error()
  std::int64_t mostEvents = 0;     ///< of this core; 0: none are kept
  CoreReport report;
  std::vector<TraceEvent> events;  ///< cycles since the launch began
  std::int64_t eventsDropped = 0;

  /// The first kMostFaults that differ are kept.
  void fault(const std::string& where, const std::string& rule);
  void note(const std::string& text);
  /// What the sanitiser found; the first of each kind and rule is kept.
  void find(Finding finding);
  void find(FindingKind kind, const Collision& collision, FindingParty party);
  /// A call that is no gradient's has set or read these bytes.
  void touched(const void* begin, std::int64_t bytes, const char* call);
  /// The emulated core itself: one that was given back, or another.
  std::unique_ptr<KernelCore> takeCore();
  /// Adds what it did since it was counted last. Single shapes are one after the other, whichever object they are of.
  void count(KernelCore& core);
  /// Counts it and keeps it.
  void giveBack(std::unique_ptr<KernelCore> core);
  /// What is known of the memory around a tensor.
  Bounds boundsOf(const GlobalRange& range) const;
  void forgetFaults() { faults_.clear(), dropped_ = 0; }

  const std::vector<Fault>& faults() const { return faults_; }
  std::int64_t droppedFaults() const { return dropped_; }
  const std::vector<std::string>& notes() const { return notes_; }
  const std::vector<Finding>& findings() const { return findings_; }

 private:
  static constexpr std::size_t kMostFaults = 32;
  const Options options_;
  const std::string spelled_;
  const std::int64_t core_;
  std::vector<Fault> faults_;
  std::vector<std::string> notes_;
  std::vector<Finding> findings_;
  std::vector<std::unique_ptr<KernelCore>> idle_;  ///< they keep their memory
  std::int64_t dropped_ = 0;
};

/// The calling thread's core; without a launch, one of chipOf("") that is the thread's own.
CoreContext& currentCore();
/// Makes `core` the calling thread's, null: none. Returns what it was.
CoreContext* enterCore(CoreContext* core);

}  // namespace cubejit::ascendc
