// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides small problems for tests of the Ascend C classes: operands of small integers in the documented formats, and the right
// gradients, which such operands give exactly.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "cubejit/index_map.h"
#include "cubejit_ascendc/elements.h"
#include "runtime/verify/reference_conv.h"

namespace cubejit {

/// Calls visit(plainIndex, memoryIndex) for every element of a tensor, plain order being that of NCDHW.
template <class Visit>
void forEachElement(const Problem& formatted, TensorId id, const Visit& visit) {
  const IndexMap map = indexMap(formatted, id);
  const auto& e = map.extent;
  std::size_t plain = 0;
  for (std::int64_t a = 0; a < e[0]; ++a)
    for (std::int64_t c = 0; c < e[1] / map.groups; ++c) {
      const std::int64_t channel = map.groups == 1 ? c : a / (e[0] / map.groups) * (e[1] / map.groups) + c;
      for (std::int64_t d = 0; d < e[2]; ++d)
        for (std::int64_t h = 0; h < e[3]; ++h)
          for (std::int64_t w = 0; w < e[4]; ++w)
            visit(plain++, static_cast<std::size_t>(map.at({a, channel, d, h, w})));
    }
}

/// A problem with its operands, plain and in f32.
struct AscendCase {
  Problem problem;  ///< plain
  std::vector<float> dy, x, w;

  explicit AscendCase(Problem p, std::uint32_t seed = 1) : problem(std::move(p)) {
    problem.layout = Layout::kNcdhw;
    for (int a = 0; a < 3; ++a)
      problem.out[a] = (problem.in[a] + problem.padBefore[a] + problem.padAfter[a] -
                        problem.dilation[a] * (problem.kernel[a] - 1) - 1) /
                           problem.stride[a] +
                       1;
    std::mt19937 random(seed);
    const auto fill = [&](std::vector<float>& v, std::int64_t count) {
      v.resize(static_cast<std::size_t>(count));
      for (float& f : v) f = static_cast<float>(static_cast<int>(random() % 5) - 2);
    };
    fill(dy, yElements(problem));
    fill(x, xElements(problem));
    fill(w, wElements(problem));
  }

  /// The problem with a tensor's format set.
  Problem with(TensorId id, DType dtype, Layout layout, std::int64_t c0) const {
    Problem p = problem;
    p.formats[static_cast<std::size_t>(id)] = TensorFormat{dtype, layout, {}, layout == Layout::kNcdhw ? 0 : c0};
    return p;
  }
  template <class T>
  std::vector<T> pack(TensorId id, Layout layout, const std::vector<float>& plain) const {
    const Problem p = with(id, ascendc::kDTypeOf<T>, layout, 32 / static_cast<std::int64_t>(sizeof(T)));
    std::vector<T> memory(static_cast<std::size_t>(indexMap(p, id).elements), T(0.0F));
    forEachElement(p, id, [&](std::size_t from, std::size_t to) { memory[to] = plain[from]; });
    return memory;
  }
  ReferenceResults reference() const { return referenceResults(problem, PassMask{true, true, false}, dy, x, w); }
};

}  // namespace cubejit
