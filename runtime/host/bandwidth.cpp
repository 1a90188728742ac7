// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the loop: sums of a buffer in order, which is what hardware prefetchers like best.
#include "runtime/host/bandwidth.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/host/run_together.h"
#include "tiling/no_throw.h"

namespace cubejit {
namespace {

constexpr std::size_t kWords = std::size_t{8} << 20;  // 64 MiB a thread
constexpr int kMostReaders = 256;

std::uint64_t sumOf(const std::vector<std::uint64_t>& words) {
  std::array<std::uint64_t, 16> sums{};  // enough chains to keep every load port busy
  for (std::size_t i = 0; i + sums.size() <= words.size(); i += sums.size()) {
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += words[i + k];
  }
  std::uint64_t total = 0;
  for (const std::uint64_t sum : sums) total += sum;
  return total;
}

Result<double> measure(int threads, int milliseconds) {
  if (threads < 1 || threads > kMostReaders) {
    return invalidInput("threads = " + std::to_string(threads) + " must be from 1 to " + std::to_string(kMostReaders),
                        Stage::kRun);
  }
  using Clock = std::chrono::steady_clock;
  std::atomic<std::uint64_t> keepAlive{0};
  std::vector<double> best(static_cast<std::size_t>(threads), 0.0);
  using Words = std::vector<std::uint64_t>;
  const auto fill = [](int index) { return Words(kWords, static_cast<std::uint64_t>(index) + 1); };
  const auto read = [&](int thread, const Words& words) {
    const auto index = static_cast<std::size_t>(thread);
    const auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
    do {
      const auto start = Clock::now();
      keepAlive.fetch_add(sumOf(words));
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      best[index] = std::max(best[index], static_cast<double>(kWords) * 8 / seconds * 1e-9);
    } while (Clock::now() < end);
  };
  runTogether(threads, fill, read);
  double total = 0;
  for (const double one : best) total += one;
  return total;
}

}  // namespace

Result<double> measureReadBandwidth(int threads, int milliseconds) {
  return withoutThrowing(Stage::kRun, [&] { return measure(threads, milliseconds); });
}

}  // namespace cubejit
