// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a kernel of the kernel language computes, number by number in f64, as its text reads: loops over tiles, statements for all
// numbers of their indices. It shares no code with the lowering.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "codegen/lang/source.h"

namespace cubejit {

class EvaluatedKernel {
 public:
  explicit EvaluatedKernel(const lang::Source& k)
      : k_(k), memory_(k.tensors.size()), seen_(k.indices.size()), now_(k.indices.size()) {
    for (std::size_t t = 0; t < k.tensors.size(); ++t) {
      memory_[t].resize(static_cast<std::size_t>(count(k.tensors[t])), std::nan(""));
      if (k.tensors[t].use == Buffer::Use::kConstant) std::iota(memory_[t].begin(), memory_[t].end(), 0);
    }
    for (std::size_t i = 0; i < k.indices.size(); ++i) seen_[i] = {0, k.indices[i].extent};
  }

  /// A tensor's elements, the last dimension fastest whatever its strides; values of a tile have a place for every tile.
  std::vector<double>& of(const std::string& tensor) {
    for (std::size_t t = 0; t < k_.tensors.size(); ++t) {
      if (k_.tensors[t].name == tensor) return memory_[t];
    }
    static std::vector<double> none;
    return none;
  }
  void run() { items(k_.body); }

 private:
  std::int64_t extentOf(const lang::Tensor::Dimension& d) const {
    return d.tileOf < 0 ? d.extent : k_.indices[static_cast<std::size_t>(d.tileOf)].extent;
  }
  std::int64_t count(const lang::Tensor& t) const {
    std::int64_t n = 1;
    for (const auto& d : t.dimensions) n *= extentOf(d);
    return n;
  }

  void items(const std::vector<lang::Item>& all) {
    for (const lang::Item& item : all) {
      if (item.index < 0) {
        statement(item.statement);
        continue;
      }
      const auto i = static_cast<std::size_t>(item.index);
      const lang::Index& loop = k_.indices[i];
      const auto [first, end] =
          loop.tileOf < 0 ? std::pair(std::int64_t{0}, loop.extent) : seen_[static_cast<std::size_t>(loop.tileOf)];
      for (std::int64_t at = first; at < end; at += loop.tile) {
        seen_[i] = {now_[i] = at, std::min(end, at + loop.tile)};
        items(item.body);
      }
      seen_[i] = {0, loop.extent};
    }
  }

  template <class Visit>
  void each(const std::vector<int>& indices, std::size_t from, const Visit& visit) {
    if (from == indices.size()) return visit();
    const auto i = static_cast<std::size_t>(indices[from]);
    const std::int64_t before = now_[i];
    for (now_[i] = seen_[i].first; now_[i] < seen_[i].second; ++now_[i]) each(indices, from + 1, visit);
    now_[i] = before;
  }

  // All values first: a statement may read what it writes.
  void statement(const lang::Statement& s) {
    std::vector<int> indices;
    for (const lang::Subscript& at : s.target.at) {
      for (const auto& term : at.terms) indices.push_back(term.index);
    }
    std::vector<std::pair<double*, double>> made;
    each(indices, 0, [&] { made.emplace_back(&element(s.target), value(s.value)); });
    for (const auto& [place, x] : made) *place = x;
  }

  double& element(const lang::Access& a) {
    const lang::Tensor& t = k_.tensors[static_cast<std::size_t>(a.tensor)];
    std::int64_t place = 0;
    for (std::size_t d = 0; d < a.at.size(); ++d) {
      std::int64_t at = a.at[d].constant;
      for (const auto& term : a.at[d].terms) at += term.factor * now_[static_cast<std::size_t>(term.index)];
      place = place * extentOf(t.dimensions[d]) + at;
    }
    return memory_[static_cast<std::size_t>(a.tensor)][static_cast<std::size_t>(place)];
  }

  double value(const lang::Expr& e) {
    if (const auto* number = std::get_if<lang::Number>(&e.what)) return number->value;
    if (const auto* access = std::get_if<lang::Access>(&e.what)) return element(*access);
    if (const auto* how = std::get_if<lang::Reduction>(&e.what)) {
      double result = how->combine == Combine::kSum ? 0 : how->combine == Combine::kMin ? INFINITY : -INFINITY;
      each(how->over, 0, [&] {
        const double x = value(e.of.front());
        result = how->combine == Combine::kSum   ? result + x
                 : how->combine == Combine::kMin ? std::fmin(result, x)
                                                 : std::fmax(result, x);
      });
      return result;
    }
    std::vector<double> o;
    for (const lang::Expr& part : e.of) o.push_back(value(part));
    return operation(std::get<lang::Apply>(e.what).operation->word, o);
  }

  // Comparisons give 1 or 0 here, bits there: select() alone reads them.
  static double operation(const std::string& word, const std::vector<double>& o) {
    static const std::map<std::string, double (*)(const std::vector<double>&)> kAll{
        {"add", [](const auto& x) { return x[0] + x[1]; }},
        {"sub", [](const auto& x) { return x[0] - x[1]; }},
        {"mul", [](const auto& x) { return x[0] * x[1]; }},
        {"div", [](const auto& x) { return x[0] / x[1]; }},
        {"fma", [](const auto& x) { return x[0] * x[1] + x[2]; }},
        {"min", [](const auto& x) { return x[0] < x[1] ? x[0] : x[1]; }},
        {"max", [](const auto& x) { return x[0] > x[1] ? x[0] : x[1]; }},
        {"abs", [](const auto& x) { return std::abs(x[0]); }},
        {"neg", [](const auto& x) { return -x[0]; }},
        {"sqrt", [](const auto& x) { return std::sqrt(x[0]); }},
        {"rsqrt", [](const auto& x) { return 1 / std::sqrt(x[0]); }},
        {"round", [](const auto& x) { return std::nearbyint(x[0]); }},
        {"floor", [](const auto& x) { return std::floor(x[0]); }},
        {"exp", [](const auto& x) { return std::exp(x[0]); }},
        {"log", [](const auto& x) { return std::log(x[0]); }},
        {"tanh", [](const auto& x) { return std::tanh(x[0]); }},
        {"erf", [](const auto& x) { return std::erf(x[0]); }},
        {"sigmoid", [](const auto& x) { return 1 / (1 + std::exp(-x[0])); }},
        {"relu", [](const auto& x) { return x[0] > 0 ? x[0] : 0; }},
        {"gelu", [](const auto& x) { return x[0] / 2 * (1 + std::erf(x[0] / std::sqrt(2.0))); }},
        {"silu", [](const auto& x) { return x[0] / (1 + std::exp(-x[0])); }},
        {"equal", [](const auto& x) { return x[0] == x[1] ? 1.0 : 0.0; }},
        {"less", [](const auto& x) { return x[0] < x[1] ? 1.0 : 0.0; }},
        {"at_most", [](const auto& x) { return x[0] <= x[1] ? 1.0 : 0.0; }},
        {"select", [](const auto& x) { return x[0] != 0 ? x[1] : x[2]; }}};
    return kAll.at(word)(o);
  }

  const lang::Source& k_;
  std::vector<std::vector<double>> memory_;
  std::vector<std::pair<std::int64_t, std::int64_t>> seen_;
  std::vector<std::int64_t> now_;
};

}  // namespace cubejit
