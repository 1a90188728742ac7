// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the handlers around fork().
#include "runtime/host/fork.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <new>
#include <utility>
#include <vector>

namespace cubejit {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<ForkGuard*> members;
  bool forked = false;
  int threadsWithin = 0;  ///< that have a NoFork
  int forking = 0;        ///< threads that wait for them
  std::condition_variable changed;
};

thread_local int noForks = 0;

// Never destroyed: a process may fork while it exits.
Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

void beforeFork() {
  std::unique_lock<std::mutex> lock(registry().mutex);
  ++registry().forking;
  const int own = noForks > 0 ? 1 : 0;
  registry().changed.wait(lock, [&] { return registry().threadsWithin == own; });
  lock.release();
  for (ForkGuard* member : registry().members) member->mutex.lock();
}

void afterForkInParent() {
  for (ForkGuard* member : registry().members) member->mutex.unlock();
  --registry().forking;
  registry().changed.notify_all();
  registry().mutex.unlock();
}

void afterForkInChild() {
  registry().forked = true;
  registry().forking = 0;
  new (&registry().changed) std::condition_variable;  // threads that waited for the old one are not here
  for (ForkGuard* member : registry().members) {
    member->forget();
    member->mutex.unlock();
  }
  registry().mutex.unlock();
}

bool watchForks() {
  static const bool watching = pthread_atfork(beforeFork, afterForkInParent, afterForkInChild) == 0;
  return watching;
}

}  // namespace

bool inForkedChild() { return watchForks() && registry().forked; }

ForkGuard::ForkGuard(std::mutex& guarded, std::function<void()> forgetOthers)
    : mutex(guarded), forget(std::move(forgetOthers)) {
  static_cast<void>(watchForks());
  const std::lock_guard<std::mutex> lock(registry().mutex);
  registry().members.push_back(this);
}

ForkGuard::~ForkGuard() {
  const std::lock_guard<std::mutex> lock(registry().mutex);
  auto& members = registry().members;
  members.erase(std::remove(members.begin(), members.end(), this), members.end());
}

NoFork::NoFork() {
  if (noForks++ > 0) return;
  static_cast<void>(watchForks());
  std::unique_lock<std::mutex> lock(registry().mutex);
  registry().changed.wait(lock, [] { return registry().forking == 0; });
  ++registry().threadsWithin;
}

NoFork::~NoFork() {
  if (--noForks > 0) return;
  const std::lock_guard<std::mutex> lock(registry().mutex);
  --registry().threadsWithin;
  registry().changed.notify_all();
}

}  // namespace cubejit
