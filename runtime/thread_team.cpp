// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how threads wait for the last of them.
#include "runtime/thread_team.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace cubejit {

Status runTogether(int threads, const std::function<void(int)>& body) {
  enum class Word : std::uint8_t { kWait, kGo, kLeave };
  std::atomic<Word> word{Word::kWait};
  const auto say = [&](Word said) {
    word.store(said);
    word.notify_all();
  };
  std::vector<std::thread> team;
  team.reserve(static_cast<std::size_t>(threads));
  Status status = Unit{};
  try {
    for (int i = 0; i < threads; ++i) {
      team.emplace_back([&word, &body, i] {
        word.wait(Word::kWait);
        if (word.load() == Word::kGo) body(i);
      });
    }
    say(Word::kGo);
  } catch (const std::exception& e) {  // no thread, or no memory for one
    say(Word::kLeave);
    status = Error{
        ErrorCode::kLimitExceeded, Stage::kRun,
        "cannot start thread " + std::to_string(team.size() + 1) + " of " + std::to_string(threads) + ": " + e.what()};
  }
  for (std::thread& thread : team) thread.join();
  return status;
}

}  // namespace cubejit
