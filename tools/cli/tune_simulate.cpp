// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where records come from, and how the replay is told.
#include "tune_simulate.h"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "failure.h"
#include "json_line.h"
#include "runtime/tuning/json_record.h"
#include "runtime/tuning/record_keeper.h"
#include "runtime/tuning/replay.h"
#include "runtime/tuning/store.h"

namespace cubejit::cli {
namespace {

Result<std::vector<TuneRecord>> recordsOf(const std::string& path) {
  std::string head(15, '\0');
  if (std::error_code ignored; std::filesystem::is_regular_file(path, ignored))  // of a pipe, all is read below
    std::ifstream(path, std::ios::binary).read(head.data(), static_cast<std::streamsize>(head.size()));
  if (head == "SQLite format 3") {
    CUBEJIT_TRY(store, TuningStore::open(path, StoreAccess::kRead, nullptr));
    return store->all();
  }
  CUBEJIT_TRY(lines, readRecords(path));
  for (const std::string& line : lines.refused) fmt::print(stderr, "left out {}\n", printable(line));
  return lines.records;
}

}  // namespace

int simulate(const std::string& path, bool json, const std::string& typed) {
  const auto records = recordsOf(path);
  if (!records.ok()) return report(records.error(), typed);
  const std::vector<IsaLevel> isas = runnableIsas();
  const Replays replays = replayStrategies(*records, detectHost(isas.empty() ? IsaLevel::kAvx2 : isas.front()));
  if (replays.problems == 0) {
    return report(invalidInput(fmt::format("{} holds no problem with {} or more measured plans", path, kFewestReplayed),
                               Stage::kPlan),
                  typed);
  }
  if (!json) {
    fmt::print("{} problems replayed; how far behind the best recorded plan, geometric mean\n", replays.problems);
    fmt::print("{:<12}", "strategy");
    for (const int mark : kReplayMarks) fmt::print("{:>10}", fmt::format("after {}", mark));
    fmt::print("  trials to within 2 %\n");
  }
  for (const Replays::Strategy& strategy : replays.strategies) {
    Json out{{"schema", "cubejit.simulation/1"}, {"strategy", toString(strategy.kind)}, {"problems", replays.problems}};
    if (!json) fmt::print("{:<12}", toString(strategy.kind));
    for (std::size_t m = 0; m < kReplayMarks.size(); ++m) {
      out[fmt::format("regret_{}", kReplayMarks[m])] = strategy.regret[m];
      if (!json) fmt::print("{:>9.1f}%", 100 * strategy.regret[m]);
    }
    out["trials_to_2_percent"] = strategy.trialsToClose;
    if (json)
      fmt::print("{}", jsonLine(out));
    else
      fmt::print("  {:.1f}\n", strategy.trialsToClose);
  }
  return 0;
}

}  // namespace cubejit::cli
