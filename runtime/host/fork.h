// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what survives fork(): locks are held across it, and it waits for what must not be cut in two, so that the child finds consistent
// state; what other threads were about to deliver is given up in the child. Leaves what that is to the objects that register here.
#pragma once

#include <functional>
#include <mutex>

namespace cubejit {

/// True in a child of fork(), where the threads of a pool started earlier do not exist.
/// Precondition for being told: the function was called once before the fork.
bool inForkedChild();

/// Keeps `mutex` across fork(); in the child `forget` is then called, with the lock held, by the only thread there is.
/// Make it the last member of what it guards, so that it goes first.
class ForkGuard {
 public:
  ForkGuard(std::mutex& mutex, std::function<void()> forget);
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  std::mutex& mutex;
  const std::function<void()> forget;
};

/// While one exists no thread's fork() gets further, so that the child finds a library whole that has locks of its own. Any number of
/// threads may have some, one within another too; a fork keeps others from beginning. Not to be made with a lock held that a ForkGuard keeps.
class NoFork {
 public:
  NoFork();
  ~NoFork();
  NoFork(const NoFork&) = delete;
  NoFork& operator=(const NoFork&) = delete;
};

}  // namespace cubejit
