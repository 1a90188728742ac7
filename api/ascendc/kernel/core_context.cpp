// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how faults are worded and which memory bounds a tensor; see the header.
#include "api/ascendc/kernel/core_context.h"

#include <algorithm>

#include "api/ascendc/kernel/write_log.h"
#include "cubejit_ascendc/chip.h"
#include "cubejit_ascendc/kernel_kind.h"
#include "cubejit_ascendc/last_error.h"
#include "runtime/text/json_machine.h"

namespace cubejit::ascendc {
namespace {

constexpr std::int64_t kMostNames = 4;  // of cores with the same fault

thread_local CoreContext* current = nullptr;

std::uintptr_t at(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

}  // namespace

std::string describe(const std::vector<Fault>& faults) {
  std::vector<bool> told(faults.size());
  std::string all;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    if (told[i]) continue;
    std::int64_t times = 0, cores = 0;
    std::string names;
    for (std::size_t j = i; j < faults.size(); ++j) {
      if (faults[j].text != faults[i].text) continue;
      told[j] = true;
      times += faults[j].times;
      if (++cores <= kMostNames) names += (names.empty() ? "" : ", ") + faults[j].core;
    }
    if (cores > kMostNames) names += " and " + std::to_string(cores - kMostNames) + " more";
    all += (all.empty() ? "" : "\n") + names + ", " + faults[i].text;
    if (times > cores) all += " (" + std::to_string(times) + " times)";
  }
  return all;
}

Finding findingOf(FindingKind kind, const Collision& c, FindingParty party) {
  Finding finding{kind, std::move(party), {}, {}, c.begin, c.end, c.what, 1};
  if (c.argument >= 0) finding.buffer = "argument " + std::to_string(c.argument) + " of the launch";
  if (c.other >= 0) finding.other.core = c.other;  // the block's core, unless blocks take turns
  return finding;
}

void CoreContext::fault(const std::string& where, const std::string& rule) {
  const Fault made{"core " + std::to_string(core_) +
                       (block != core_ ? " (GetBlockIdx " + std::to_string(block) + ")" : std::string()),
                   where + ": " + rule};
  const auto same = std::find_if(faults_.begin(), faults_.end(),
                                 [&](const Fault& f) { return f.text == made.text && f.core == made.core; });
  if (same != faults_.end())
    ++same->times;
  else if (faults_.size() < kMostFaults)
    faults_.push_back(made);
  else
    ++dropped_;
  if (!launched) setLastError(describe(faults_));
}

void CoreContext::note(const std::string& text) {
  if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(text);
}

void CoreContext::find(Finding finding) {
  finding.party.core = core_;
  const auto same = std::find_if(findings_.begin(), findings_.end(), [&](const Finding& f) {
    return f.kind == finding.kind && f.what == finding.what && f.party.instruction == finding.party.instruction;
  });
  if (same != findings_.end())
    ++same->times;
  else if (findings_.size() < kMostFaults)
    findings_.push_back(std::move(finding));
}

void CoreContext::find(FindingKind kind, const Collision& c, FindingParty party) {
  if (!c.what.empty()) find(findingOf(kind, c, std::move(party)));
}

void CoreContext::touched(const void* begin, std::int64_t bytes, const char* call) {
  if (!sanitize || writes == nullptr) return;
  const std::string name = call;
  const bool fills = name == "Fill" || name == "SetValue";
  const BlockRound who{block, round};
  FindingParty party;
  party.instruction = name;
  party.unit = "scalar";
  find(FindingKind::kRace, fills ? writes->filled(who, begin, bytes) : writes->read(who, begin, bytes),
       std::move(party));
}

std::unique_ptr<KernelCore> CoreContext::takeCore() {
  std::unique_ptr<KernelCore> core;
  if (idle_.empty()) {
    core = std::make_unique<KernelCore>(options_, static_cast<int>(core_));
  } else {
    core = std::move(idle_.back());
    idle_.pop_back();
  }
  core->keepEvents(mostEvents > 0);
  return core;
}

void CoreContext::count(KernelCore& core) {
  const double start = report.counts.cycles;
  const CoreCounts counts = core.takeCounts();
  report.counts.add(counts);
  if (counts.tasks == 0 || mostEvents == 0) return;
  for (TraceEvent event : core.events()) {
    if (static_cast<std::int64_t>(events.size()) >= mostEvents) {
      ++eventsDropped;
      continue;
    }
    event.core = static_cast<std::int32_t>(core_);
    event.start += start;
    event.end += start;
    event.until += start;
    event.task = static_cast<std::int32_t>(report.counts.tasks - counts.tasks);
    events.push_back(event);
  }
}

void CoreContext::giveBack(std::unique_ptr<KernelCore> core) {
  count(*core);
  idle_.push_back(std::move(core));
}

Bounds CoreContext::boundsOf(const GlobalRange& range) const {
  Bounds bounds;
  const std::uintptr_t buffer = at(range.buffer);
  if (range.bytes > 0) bounds = {buffer, buffer + range.bytes};
  if (memory == nullptr) return bounds;
  for (const GlobalMemory& m : *memory) {
    const std::uintptr_t begin = at(m.address), end = begin + m.bytes;
    if (buffer < begin || buffer >= end) continue;
    bounds = bounds.known() ? Bounds{std::max(bounds.begin, begin), std::min(bounds.end, end)} : Bounds{begin, end};
    break;
  }
  return bounds;
}

CoreContext& currentCore() {
  if (current != nullptr) return *current;
  thread_local CoreContext alone = [] {
    Options options;
    const auto machine = chipOf("");
    options.machine = machine.ok() ? *machine : Machine{};
    std::string spelled = machineToJson(*options.machine);
    CoreContext context(std::move(options), std::move(spelled), 0);
    context.launched = false;
    if (!machine.ok()) context.fault("the chip", machine.error().message);
    return context;
  }();
  return alone;
}

CoreContext* enterCore(CoreContext* core) {
  CoreContext* before = current;
  current = core;
  return before;
}

std::int64_t blockIndex() noexcept { return current == nullptr ? 0 : current->block; }
std::int64_t blockCount() noexcept { return current == nullptr ? 1 : current->blocks; }

void syncAll(bool vectorCoresOnly) noexcept {
  try {
    CoreContext& core = currentCore();
    if (vectorCoresOnly)
      core.note("SyncAll() waits for cube cores; on the chip only vector cores do, unless it is SyncAll<false>()");
    if (core.barrier == nullptr) return;
    const std::string broken = core.barrier->wait();
    ++core.round;
    if (!broken.empty()) core.fault("SyncAll", broken);
  } catch (...) {  // no memory for the report
  }
}

bool onVectorCore() noexcept {
  try {
    currentCore().note("code for vector cores (ASCEND_IS_AIV) was left out: a launch runs cube cores alone");
  } catch (...) {  // no memory for the note
  }
  return false;
}

bool mayTouch(const GlobalRange& range, std::uint64_t offset, std::uint64_t bytes, const char* call) noexcept {
  try {
    CoreContext& core = currentCore();
    if (range.address == nullptr) {
      core.fault(call, std::string("the tensor") + kNoMemory);
      return false;
    }
    const Bounds bounds = core.boundsOf(range);
    const std::uintptr_t first = at(range.address) + offset;
    if (bounds.holds(first, bytes)) {
      core.touched(reinterpret_cast<const void*>(first), static_cast<std::int64_t>(bytes), call);
      return true;
    }
    const std::string from = std::to_string(static_cast<std::int64_t>(first - bounds.begin));
    core.fault(call, (bounds.holds(first, 1) ? std::to_string(bytes) + " bytes from byte " + from : "byte " + from) +
                         " of memory of " + std::to_string(bounds.end - bounds.begin) + " bytes");
  } catch (...) {  // no memory for the report
  }
  return false;
}

}  // namespace cubejit::ascendc
