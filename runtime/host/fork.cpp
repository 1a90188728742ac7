// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the handlers around fork().
#include "runtime/host/fork.h"

#include <pthread.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace cubejit {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<ForkGuard*> members;
  bool forked = false;
};

// Never destroyed: a process may fork while it exits.
Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

void beforeFork() {
  registry().mutex.lock();
  for (ForkGuard* member : registry().members) member->mutex.lock();
}

void afterForkInParent() {
  for (ForkGuard* member : registry().members) member->mutex.unlock();
  registry().mutex.unlock();
}

void afterForkInChild() {
  registry().forked = true;
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

}  // namespace cubejit
