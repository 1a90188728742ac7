// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how threads that measure begin together, and that none is left waiting or running where another cannot be had.
#pragma once

#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#include "cubejit/float_mode.h"

namespace cubejit {

/// Each of so many threads prepares(index); when all have, each works(index, what it prepared). Throws what the first of them threw, or that
/// a thread could not be had, once all have ended.
template <class Prepare, class Work>
void runTogether(int threads, const Prepare& prepare, const Work& work) {
  std::atomic<int> waiting{threads};
  std::atomic<bool> failed{false};
  std::exception_ptr first;
  const auto fails = [&] {
    if (!failed.exchange(true)) first = std::current_exception();
  };
  const FloatMode floats = FloatMode::ofThisThread();
  const auto run = [&](int index) {
    const FloatScope environment(floats);
    try {
      const auto own = prepare(index);
      waiting.fetch_sub(1);
      while (waiting.load() > 0 && !failed.load()) std::this_thread::yield();
      if (!failed.load()) work(index, own);
    } catch (...) {
      fails();
    }
  };
  std::vector<std::thread> team;
  try {
    team.reserve(static_cast<std::size_t>(threads));
    for (int i = 0; i < threads; ++i) team.emplace_back(run, i);
  } catch (...) {
    fails();
  }
  for (std::thread& thread : team) thread.join();
  if (failed) std::rethrow_exception(first);
}

}  // namespace cubejit
