// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how what was generated is kept: by a key, generated once even if many threads ask at once, the least recently used dropped first.
// Failures are not kept. Leaves keys, and how many are kept, to those that have such a cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <future>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "cubejit/cubejit.hpp"
#include "runtime/host/fork.h"
#include "tiling/no_throw.h"

namespace cubejit {

/// What became of a look-up, for logs.
struct CacheLookUp {
  bool hit = false;
  std::int64_t evicted = 0;  ///< entries that went for this one
};

/// Thread-safe. What was found lives on with whoever holds it, dropped or not.
template <class Value>
class GeneratedCache {
 public:
  using Generated = Result<std::shared_ptr<const Value>>;

  /// `codeBytes` says what an entry adds to the statistics' bytes of code.
  explicit GeneratedCache(std::size_t (*codeBytes)(const Value&))
      : codeBytes_(codeBytes), fork_(mutex_, [this] { forgetUnfinished(); }) {}

  /// What is kept under the key, or what `generate()` makes, which then is one of at most `capacity` (at least one). `tell(CacheLookUp)` hears first
  /// which it is. Neither is called with a lock held. Where several threads ask at once, one generates and the others wait and get the same, an error too.
  template <class Tell, class Generate>
  Generated find(const std::string& key, std::size_t capacity, const Tell& tell, const Generate& generate);

  CacheStatistics statistics() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    CacheStatistics s = statistics_;
    s.entries = entries_.size();
    return s;
  }
  void clear() {
    const std::lock_guard<std::mutex> lock(mutex_);
    entries_.clear();
    recent_.clear();
    statistics_.codeBytes = 0;
  }

 private:
  using Told = std::shared_ptr<const Generated>;
  struct Entry {
    std::shared_future<Told> result;
    std::list<std::string>::iterator used;  ///< place in recent_
    std::uint64_t generation = 0;           ///< tells this entry from a later one under the same key
    bool ready = false;
    std::size_t codeBytes = 0;
  };
  using Place = typename std::unordered_map<std::string, Entry>::iterator;

  // The lock is held in all functions from here to finish().
  Place drop(Place entry) {
    statistics_.codeBytes -= entry->second.codeBytes;
    recent_.erase(entry->second.used);
    return entries_.erase(entry);
  }
  std::int64_t evictBeyond(std::size_t capacity) {
    const std::int64_t before = statistics_.evictions;
    for (; entries_.size() > std::max<std::size_t>(1, capacity); ++statistics_.evictions)
      drop(entries_.find(recent_.back()));
    return statistics_.evictions - before;
  }
  // In a forked child nobody finishes what another thread was generating.
  void forgetUnfinished() {
    for (auto entry = entries_.begin(); entry != entries_.end();)
      entry = entry->second.ready ? std::next(entry) : drop(entry);
  }
  void finish(const std::string& key, std::uint64_t generation, const Generated& generated) {
    const auto entry = entries_.find(key);
    if (entry == entries_.end() || entry->second.generation != generation) return;
    if (!generated.ok()) {
      drop(entry);
      return;
    }
    entry->second.ready = true;
    entry->second.codeBytes = codeBytes_(*generated.value());
    statistics_.codeBytes += entry->second.codeBytes;
  }

  std::size_t (*const codeBytes_)(const Value&);
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
  std::list<std::string> recent_;  ///< most recent first
  CacheStatistics statistics_;
  std::uint64_t generations_ = 0;
  ForkGuard fork_;  ///< last: goes first
};

template <class Value>
template <class Tell, class Generate>
typename GeneratedCache<Value>::Generated GeneratedCache<Value>::find(const std::string& key, std::size_t capacity,
                                                                      const Tell& tell, const Generate& generate) {
  // All memory that telling others takes is had before they can find the entry: nobody may wait for what then cannot be told.
  const auto outcome = std::make_shared<Generated>(Error{ErrorCode::kInternal, Stage::kProblem, ""});
  std::promise<Told> promise;
  std::shared_future<Told> result;
  std::list<std::string> place{key};
  std::uint64_t mine = 0;
  CacheLookUp lookUp;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = entries_.find(key);
    lookUp.hit = found != entries_.end();
    if (lookUp.hit) {
      ++statistics_.hits;
      recent_.splice(recent_.begin(), recent_, found->second.used);
      result = found->second.result;
    } else {
      ++statistics_.misses;
      mine = ++generations_;
      Entry entry;
      entry.result = promise.get_future().share();
      entry.generation = mine;
      entry.used = place.begin();
      entries_.emplace(key, std::move(entry));
      recent_.splice(recent_.begin(), place);
      lookUp.evicted = evictBeyond(capacity);
    }
  }
  if (lookUp.hit) {
    tell(lookUp);
    return *result.get();
  }
  *outcome = withoutThrowing(Stage::kProblem, [&]() -> Generated {
    tell(lookUp);
    return generate();
  });
  const auto settle = [&] {
    const std::lock_guard<std::mutex> lock(mutex_);
    finish(key, mine, *outcome);
  };
  // A failure is forgotten before anybody hears of it; what was made counts as ready once those that wait have it.
  if (!outcome->ok()) settle();
  promise.set_value(outcome);
  if (outcome->ok()) settle();
  return *outcome;
}

}  // namespace cubejit
