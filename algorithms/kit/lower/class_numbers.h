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
  /// The number of a class, and whether it is a new one.
  std::pair<int, bool> of(T thing) {
    const auto [at, fresh] = numbers_.emplace(std::move(thing), static_cast<int>(numbers_.size()));
    return {at->second, fresh};
  }
  int count() const { return static_cast<int>(numbers_.size()); }

 private:
  std::map<T, int> numbers_;
};

}  // namespace cubejit
