// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helps to visit variants so that an alternative that is nowhere spoken of is a compile error: no visitor takes whatever is left.
#pragma once

#include <concepts>

namespace cubejit {

/// A visitor from one lambda for each alternative, or for several that it names by OneOf.
template <class... Visitors>
struct overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
overloaded(Visitors...) -> overloaded<Visitors...>;

template <class T, class... Ts>
concept OneOf = (std::same_as<T, Ts> || ...);

}  // namespace cubejit
