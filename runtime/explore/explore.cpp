// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "runtime/explore/explore.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "tiling/no_throw.h"

namespace cubejit {

Status explore(const std::vector<GridPoint>& grid, const ExploreQuestion& question, const ExploreRun& run,
               PointFile& file, std::vector<Json>& points) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].is_null()) open.push_back(i);
  }
  std::atomic<std::size_t> next{0};
  std::size_t done = points.size() - open.size();
  std::mutex mutex;
  Status status = Unit{};
  const auto work = [&] {
    for (std::size_t i = next++; i < open.size() && !run.stop(); i = next++) {
      Status kept = withoutThrowing(Stage::kPlan, [&]() -> Status {
        CUBEJIT_TRY(numbers, pointToJson(grid[open[i]], question));
        Json point{{"point", open[i]}};
        point.update(numbers);
        const std::scoped_lock lock(mutex);
        CUBEJIT_RETURN_IF_ERROR(file.add(point));
        points[open[i]] = std::move(point);
        run.ended(++done, grid[open[i]].machine);
        return Unit{};
      });
      if (kept.ok()) continue;
      next = open.size();
      const std::scoped_lock lock(mutex);
      status = std::move(kept);
      return;
    }
  };
  std::vector<std::thread> threads;
  try {
    threads.reserve(run.threads);
    for (std::size_t i = 1; i < run.threads; ++i) threads.emplace_back(work);
  } catch (const std::exception&) {  // no thread, or no memory for one: those there are do it all
  }
  work();
  for (std::thread& thread : threads) thread.join();
  return status;
}

}  // namespace cubejit
