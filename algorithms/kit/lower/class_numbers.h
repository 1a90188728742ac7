// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the numbers of classes: things that are equal have one, in the order in which they are first seen.
#pragma once

#include <map>
#include <utility>

namespace cubejit {

template <class T>
class ClassNumbers {
 public:
  /// The number of a class, and whether it is a new one; only then `thing` is copied, or moved from.
  template <class Thing>
  std::pair<int, bool> of(Thing&& thing) {
    const auto [at, fresh] = numbers_.try_emplace(std::forward<Thing>(thing), static_cast<int>(numbers_.size()));
    return {at->second, fresh};
  }
  int count() const { return static_cast<int>(numbers_.size()); }

 private:
  std::map<T, int> numbers_;
};

}  // namespace cubejit
