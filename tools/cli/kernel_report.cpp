// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which trials the page has: of a choice the last one, and of this run before an earlier one's.
#include "kernel_report.h"

#include <map>
#include <set>
#include <utility>

#include "kernel_report_page.h"
#include "page_text.h"
#include "runtime/text/json_value.h"
#include "runtime/text/whole_file.h"
#include "runtime/tuning/store.h"

namespace cubejit::cli {
namespace {

Json trialJson(const KernelRecord& r, const std::string& run) {
  Json out{{"settings", r.settings}, {"status", toString(r.status)}, {"rel", r.relative}, {"untuned", r.untuned}};
  out["ns"] = medianNs(r.samplesNs);
  out["spread"] = spreadOf(r.samplesNs);
  out["samples"] = r.samplesNs.size();
  out["verified"] = r.verified;
  out["confirmed"] = r.won && !r.untuned;
  out["now"] = r.run == run;
  out["message"] = r.message.substr(0, 400);
  return out;
}

}  // namespace

Status writeKernelReport(const std::string& path, const KernelTuneOutcome& outcome,
                         const std::vector<KernelRecord>& tried, const Session& session) {
  StagedFile out(path);
  CUBEJIT_RETURN_IF_ERROR(out.open());
  std::map<std::string, KernelRecord> trials;
  for (const KernelRecord& r : tried) trials[r.settings] = r;  // a confirmed choice comes a second time
  const KernelRecord& best = outcome.best;
  const std::string& run = outcome.untuned.run;
  if (const std::string& store = session.options().store; !store.empty()) {
    const auto opened =
        TuningStore::open(store, StoreAccess::kRead, nullptr, false, session.options().storeWaitSeconds);
    const auto known = opened.ok() ? (*opened)->kernelsOf(best.key, version())
                                   : Result<std::vector<KernelRecord>>(std::vector<KernelRecord>{});
    for (const KernelRecord& r : known.ok() ? *known : std::vector<KernelRecord>{}) trials.emplace(r.settings, r);
  }
  Json data{{"version", version()}, {"when", utcNow()}, {"machine", best.key.machine}, {"kernel", best.name}};
  const Json set = Json::parse(best.key.identity, nullptr, false);
  data["set"] = set.is_object() && set.contains("set") ? set["set"] : Json::object();
  data["threads"] = best.key.threads;
  data["backend"] = best.key.backend;
  data["seconds"] = outcome.seconds;
  data["choices"] = outcome.choices;
  data["tried"] = outcome.tried;
  data["known"] = outcome.known;
  data["untuned_ns"] = medianNs(outcome.untuned.samplesNs);
  data["best"] = best.settings;
  data["rel"] = best.relative;
  data["notes"] = outcome.notes;
  data["trials"] = Json::array();
  for (const auto& [settings, record] : trials) data["trials"].push_back(trialJson(record, run));
  CUBEJIT_RETURN_IF_ERROR(out.fill({pageText(kKernelReportPage, data)}));
  return out.publish();
}

}  // namespace cubejit::cli
