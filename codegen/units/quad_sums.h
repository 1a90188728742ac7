// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which accumulators of a contract of quads share what is subtracted from them: dot products take A's bytes as unsigned ones, 128 more
// than they are, so a sum is too large by 128 times all bytes of B that it met. Leaves the code to units/contract.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "codegen/tile/contract.h"

namespace cubejit {

class QuadSums {
 public:
  static constexpr std::uint32_t kSigns = 0x80808080U;
  using VectorOfB = std::tuple<std::size_t, std::size_t, int>;  ///< section, step, its number there

  /// Accumulators that meet the same vectors of B have one sum.
  explicit QuadSums(const Contract& c) : of_(c.accumulators.size(), -1) {
    std::vector<std::vector<VectorOfB>> met(of_.size());
    for (std::size_t s = 0; c.products == Products::kQuads && s < c.sections.size(); ++s) {
      for (std::size_t k = 0; k < c.sections[s].steps.size(); ++k) {
        for (const AOperand& a : c.sections[s].steps[k].a) {
          for (const Use& use : a.uses) met[static_cast<std::size_t>(use.acc)].push_back({s, k, use.b});
        }
      }
    }
    std::map<std::vector<VectorOfB>, int> known;
    for (std::size_t acc = 0; acc < met.size(); ++acc) {
      if (met[acc].empty()) continue;
      const auto [sum, fresh] = known.try_emplace(met[acc], static_cast<int>(known.size()));
      of_[acc] = sum->second;
      for (std::size_t i = 0; fresh && i < met[acc].size(); ++i) at_[met[acc][i]].push_back(sum->second);
    }
    count_ = static_cast<int>(known.size());
  }

  int count() const { return count_; }
  /// The accumulator's; -1: it adds nothing.
  int of(int accumulator) const { return of_[static_cast<std::size_t>(accumulator)]; }
  /// Those that a vector of B is added to, as often as it is met.
  const std::vector<int>& at(const VectorOfB& vector) const {
    static const std::vector<int> kNone;
    const auto found = at_.find(vector);
    return found == at_.end() ? kNone : found->second;
  }

 private:
  std::vector<int> of_;
  std::map<VectorOfB, std::vector<int>> at_;
  int count_ = 0;
};

}  // namespace cubejit
