// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is said of arguments of the wrong kind: the name, what was given, what would be right, of all of them at once. What pybind11 says
// by itself is every signature there is.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "cubejit/words.h"

namespace cubejit::python {

/// In words for people: "a whole number from -2^31 to 2^31 - 1".
template <class T>
struct Kind {
  static std::string text() {
    if constexpr (std::is_same_v<T, bool>) {
      return "True or False";
    } else if constexpr (std::is_integral_v<T>) {
      const std::string most = "2^" + std::to_string(std::numeric_limits<T>::digits);
      return "a whole number from " + (std::is_signed_v<T> ? "-" + most : std::string("0")) + " to " + most + " - 1";
    } else if constexpr (std::is_floating_point_v<T>) {
      return "a number";
    } else {
      return "a " + pybind11::type::of<T>().attr("__name__").template cast<std::string>();
    }
  }
};
template <>
struct Kind<std::string> {
  static std::string text() { return "a string"; }
};
template <>
struct Kind<pybind11::object> {
  static std::string text() { return "an object"; }
};
template <class T>
struct Kind<std::shared_ptr<T>> : Kind<T> {};
template <class T>
struct Kind<std::optional<T>> {
  static std::string text() { return Kind<T>::text() + ", or None"; }
};
template <class T>
struct Kind<std::vector<T>> {
  static std::string text() { return "a list, each " + Kind<T>::text(); }
};
template <class T, std::size_t N>
struct Kind<std::array<T, N>> {
  static std::string text() { return std::to_string(N) + " values, each " + Kind<T>::text(); }
};
template <class T>  // one for all, or one for each
struct Kind<std::variant<T, std::vector<T>>> {
  static std::string text() { return Kind<T>::text() + ", or a list of them"; }
};
template <>  // a word, or a number for each axis
struct Kind<std::variant<std::string, std::vector<std::int64_t>>> {
  static std::string text() { return Kind<std::string>::text() + ", or " + Kind<std::vector<std::int64_t>>::text(); }
};
template <class A, class B>
struct Kind<std::pair<A, B>> {
  static std::string text() { return "a pair of " + Kind<A>::text() + " and " + Kind<B>::text(); }
};
template <class K, class V>
struct Kind<std::map<K, V>> {
  static std::string text() { return "a dict from " + Kind<K>::text() + " to " + Kind<V>::text(); }
};
template <class... T>
struct Kind<std::tuple<T...>> {
  static std::string text() { return std::to_string(sizeof...(T)) + " values: " + ((Kind<T>::text() + "; ") + ...); }
};

/// What was given, by Python's own words, cut where it is long.
inline std::string shown(const pybind11::object& given) {
  constexpr std::size_t kMost = 80;
  const std::string type = pybind11::type::of(given).attr("__name__").cast<std::string>();
  std::string text;
  try {
    text = pybind11::repr(given).cast<std::string>();
  } catch (pybind11::error_already_set&) {  // an object that cannot tell what it is
    return "of type " + type;
  }
  return (text.size() <= kMost ? text : text.substr(0, kMost) + "...") + " (" + type + ")";
}

/// Reads an argument into its caster; otherwise `broken` is given a line.
template <class T>
void read(pybind11::detail::make_caster<T>& to, const char* name, const pybind11::object& given, std::string& broken) {
  if (to.load(given, true)) return;
  PyErr_Clear();
  broken +=
      (broken.empty() ? "" : "\n") + (name + (" = " + shown(given))) + " must be " + Kind<std::decay_t<T>>::text();
}

/// The value of one argument; TypeError if it is of another kind.
template <class T>
T argument(const char* name, const pybind11::object& given) {
  pybind11::detail::make_caster<T> caster;
  std::string broken;
  read<T>(caster, name, given, broken);
  if (!broken.empty()) throw pybind11::type_error(broken);
  return pybind11::detail::cast_op<T>(std::move(caster));
}

/// The names of a call: those that have no default come first, those that may be given without a name before the others.
struct Signature {
  std::string call;
  std::vector<std::string> names;
  std::size_t needed = 0, positional = 0;
  std::pair<const char*, const char*> renamed{};  ///< an argument's old name, which is still taken, and its name
};

/// What is wrong with arguments that no binding takes: too many, of an unknown name, given twice, missing; a line each.
inline std::string mismatch(const Signature& s, std::size_t given, const pybind11::kwargs& named) {
  std::string broken;
  const auto line = [&](const std::string& text) { broken += (broken.empty() ? "" : "\n") + s.call + "() " + text; };
  if (given > s.positional)
    line("takes " + std::to_string(s.positional) + " arguments without a name; it was given " + std::to_string(given));
  std::vector<bool> there(s.names.size(), false);
  std::fill_n(there.begin(), std::min(given, s.positional), true);
  for (const auto& [key, value] : named) {
    const std::string name = key.cast<std::string>();
    const auto found = std::find(s.names.begin(), s.names.end(), name);
    if (found == s.names.end()) {
      line("has no argument '" + name + "'" + wordsInstead(name, s.names));
      continue;
    }
    const auto at = static_cast<std::size_t>(found - s.names.begin());
    if (there[at]) line("was given '" + name + "' twice");
    there[at] = true;
  }
  for (std::size_t i = 0; i < s.needed; ++i) {
    if (!there[i]) line("lacks its argument '" + s.names[i] + "'");
  }
  return broken;
}

/// An overload behind the one that is meant, for a constructor: what does not fit that comes here, and is refused in words.
template <class R>
auto otherwise(Signature s) {
  return [s = std::move(s)](const pybind11::args& args, const pybind11::kwargs& named) -> R {
    throw pybind11::type_error(mismatch(s, args.size(), named));
  };
}

/// The same for a method of a class. A call with an argument's old name is warned of, and made again with its name.
inline auto otherwiseOf(Signature s) {
  return [s = std::move(s)](const pybind11::object& self, const pybind11::args& args,
                            const pybind11::kwargs& named) -> pybind11::object {
    const auto [old, now] = s.renamed;
    if (old == nullptr || !named.contains(old) || named.contains(now))
      throw pybind11::type_error(mismatch(s, args.size(), named));
    const std::string warning = s.call + "(" + old + "=) is called " + now + "= now";
    if (PyErr_WarnEx(PyExc_DeprecationWarning, warning.c_str(), 1) != 0) throw pybind11::error_already_set();
    pybind11::dict names = pybind11::reinterpret_steal<pybind11::dict>(PyDict_Copy(named.ptr()));
    names[now] = names[old];
    if (PyDict_DelItemString(names.ptr(), old) != 0) throw pybind11::error_already_set();
    return self.attr(s.call.c_str())(*args, **names);
  };
}

template <std::size_t>
using AnyObject = const pybind11::object&;

template <class R, class... A, std::size_t... I>
auto namedAs(R (*call)(A...), const std::array<const char*, sizeof...(A)>& names, std::index_sequence<I...>) {
  return [call, names](AnyObject<I>... given) -> R {
    std::tuple<pybind11::detail::make_caster<A>...> casters;
    std::string broken;
    (read<A>(std::get<I>(casters), names[I], given, broken), ...);
    if (!broken.empty()) throw pybind11::type_error(broken);
    return call(pybind11::detail::cast_op<A>(std::move(std::get<I>(casters)))...);
  };
}

/// A function to be bound whose arguments have these names: TypeError says which of them are of another kind.
template <class R, class... A>
auto named(R (*call)(A...), const std::array<const char*, sizeof...(A)>& names) {
  return namedAs(call, names, std::index_sequence_for<A...>{});
}

}  // namespace cubejit::python
