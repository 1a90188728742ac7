// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what of a core's buffers outlives what: L1 and L0 a run of instructions, UB the iterations of a task. Decides who is named.
#include "emulation/program_sanitizer.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "codegen/tile/walk.h"
#include "emulation/memory_sanitizer.h"
#include "emulation/task_sanitizer.h"

namespace cubejit {
namespace {

constexpr std::size_t kMostFindings = 64;

class ProgramSanitizer {
 public:
  ProgramSanitizer(const Problem& problem, const TileProgram& program)
      : p_(program),
        mayStay_(problem.groups > 1),
        touch_(program),
        exact_(program),
        memory_(problem, program, touch_, exact_) {}

  SanitizerReport run(const std::function<std::vector<int>(const Phase&)>& coresOf) {
    const auto found = [&](const MemoryFinding& f) { add(f); };
    for (std::size_t i = 0; i < p_.phases.size(); ++i) {
      const Phase& phase = p_.phases[i];
      const std::vector<int> cores = coresOf(phase);
      std::size_t next = 0;
      std::int64_t task = -1;
      Written ub;
      walkChoices(phase, [&](const ChoiceSite& site) {
        CoreVisit v;
        v.phase = static_cast<int>(i);
        v.core = next < cores.size() ? cores[next] : -1;
        ++next;
        v.task = site.task;
        v.calls = &site.choice->body;
        v.run = site.choice->windows[site.number];
        if (std::exchange(task, site.task) != site.task) ub.clear();
        v.at = movedBy(phase, *site.steps);
        visits_.push_back(v);
        if (v.run.begin < v.run.end) ub = checkRun(phase, v, ub);
        memory_.visit(static_cast<std::int64_t>(visits_.size()) - 1, v, found);
        return true;
      });
    }
    memory_.finish(found);
    report_.unchecked = memory_.unchecked();
    return std::move(report_);
  }

 private:
  static std::vector<std::int64_t> movedBy(const Phase& phase, const std::vector<const AxisStep*>& steps) {
    std::vector<std::int64_t> at(phase.streams.size());
    for (const AxisStep* step : steps) {
      for (std::size_t s = 0; step != nullptr && s < step->delta.size(); ++s) at[s] += step->delta[s];
    }
    return at;
  }

  // What UB holds after the run. The same run from the same UB finds the same.
  const Written& checkRun(const Phase& phase, const CoreVisit& v, const Written& ub) {
    const auto key = std::tuple(v.phase, v.run.begin, v.run.end, ub);
    const auto [known, fresh] = checked_.try_emplace(key);
    if (fresh) {
      Written written = ub;
      known->second.findings = sanitizeRun(touch_, exact_, phase, *v.calls, v.run, mayStay_, written);
      std::erase_if(
          written, [&](const auto& buffer) { return p_.buffers[static_cast<std::size_t>(buffer.first)].name != "UB"; });
      known->second.ub = std::move(written);
    }
    for (const TaskFinding& f : known->second.findings) {
      add({f.kind, party(v, f.call), f.otherCall < 0 ? FindingParty{} : party(v, f.otherCall), nameOf(f.buffer),
           f.bytes.begin, f.bytes.end, f.what, 1},
          {v.phase, f.call < 0 ? -1 : v.run.begin + f.call, f.otherCall < 0 ? -1 : v.run.begin + f.otherCall});
    }
    return known->second.ub;
  }

  std::string nameOf(int buffer) const {
    return buffer < 0 ? std::string() : p_.buffers[static_cast<std::size_t>(buffer)].name;
  }

  FindingParty party(const CoreVisit& v, int call) const {
    const Phase& phase = p_.phases[static_cast<std::size_t>(v.phase)];
    FindingParty party = call < 0 ? FindingParty{} : partyOf(phase, *v.calls, v.run, call);
    party.phase = phase.name;
    party.core = v.core;
    party.task = v.task;
    return party;
  }

  // The last call of a visit that touches the byte; -1 if none does.
  int callAt(const CoreVisit& v, int buffer, std::int64_t byte) {
    const Phase& phase = p_.phases[static_cast<std::size_t>(v.phase)];
    for (int i = v.run.end; i-- > v.run.begin;) {
      const Call& call = (*v.calls)[static_cast<std::size_t>(i)].call;
      for (const CallAccess& access : accessesOf(touch_, phase, call)) {
        if (access.buffer != buffer) continue;
        const auto stream = static_cast<std::size_t>(access.stream);
        bool touches = false;
        exact_.visit(call, access.operand, v.at[stream] + phase.streams[stream].offset, [&](ByteRange r) {
          touches = r.begin <= byte && byte < r.end;
          return !touches;
        });
        if (touches) return i - v.run.begin;
      }
    }
    return -1;
  }

  void add(const MemoryFinding& f) {
    Finding made{f.kind, {}, {}, nameOf(f.buffer), f.bytes.begin, f.bytes.end, f.what, 1};
    std::array<int, 3> key{-1, -1, -1};
    const auto of = [&](std::int64_t visit) -> const CoreVisit& { return visits_[static_cast<std::size_t>(visit)]; };
    if (f.visit >= 0) {
      const int call = f.call >= 0 || f.buffer < 0 ? f.call : callAt(of(f.visit), f.buffer, f.bytes.begin);
      made.party = party(of(f.visit), call);
      key = {of(f.visit).phase, of(f.visit).run.begin + call, -1};
    }
    if (f.other >= 0) made.other = party(of(f.other), f.buffer < 0 ? -1 : callAt(of(f.other), f.buffer, f.bytes.begin));
    add(std::move(made), key);
  }

  void add(Finding finding, const std::array<int, 3>& key) {
    const auto [known, fresh] =
        known_.try_emplace(std::tuple(finding.kind, finding.buffer, key, finding.what), report_.findings.size());
    if (!fresh) {
      if (known->second < report_.findings.size()) ++report_.findings[known->second].times;
      return;
    }
    if (report_.findings.size() < kMostFindings) return report_.findings.push_back(std::move(finding));
    known->second = kMostFindings;
    ++report_.dropped;
  }

  struct Checked {
    std::vector<TaskFinding> findings;
    Written ub;
  };
  const TileProgram& p_;
  const bool mayStay_;
  ProgramTouch touch_;
  ExactTouch exact_;
  MemorySanitizer memory_;
  std::vector<CoreVisit> visits_;
  std::map<std::tuple<int, int, int, Written>, Checked> checked_;
  std::map<std::tuple<FindingKind, std::string, std::array<int, 3>, std::string>, std::size_t> known_;
  SanitizerReport report_;
};

std::string text(const FindingParty& p) {
  std::string s = p.core < 0 ? std::string() : "core " + std::to_string(p.core);
  const auto add = [&](const std::string& word) { s += (s.empty() ? "" : ", ") + word; };
  if (!p.phase.empty()) add("phase " + p.phase);
  if (p.task >= 0) add("task " + std::to_string(p.task));
  if (p.block >= 0) add("block " + std::to_string(p.block));
  if (!p.unit.empty())
    add(p.unit + " " + p.instruction + (p.number < 0 ? "" : " (instruction " + std::to_string(p.number) + ")"));
  return s;
}

}  // namespace

std::string describe(const Finding& f) {
  std::string s = std::string(toString(f.kind)) + ": ";
  const std::string who = text(f.party);
  if (!who.empty()) s += who + ": ";
  s += f.what;
  if (f.end > f.begin)
    s += "; " + f.buffer + (f.buffer.empty() ? "bytes [" : " bytes [") + std::to_string(f.begin) + ", " +
         std::to_string(f.end) + ")";
  if (f.other.known()) s += "; the other: " + text(f.other);
  if (f.times > 1) s += " (" + std::to_string(f.times) + " times)";
  return s;
}

SanitizerReport sanitizeProgram(const Problem& problem, const TileProgram& program,
                                const std::function<std::vector<int>(const Phase&)>& coresOf) {
  return ProgramSanitizer(problem, program).run(coresOf);
}

}  // namespace cubejit
