// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "codegen/lang/places.h"

#include <algorithm>
#include <functional>

namespace cubejit::lang {
namespace {

// The stride that a dimension in front of the first one had: of a value whose last dimension lies in blocks, that of those.
std::int64_t strideAfter(const Tensor& value, int lanes, const std::function<void(std::size_t, std::int64_t)>& visit) {
  std::int64_t stride = 1;
  for (std::size_t d = value.dimensions.size(); d-- > 0;) {
    const std::int64_t members = value.packed == static_cast<int>(d) ? value.members() : 1;
    const std::int64_t block = value.dimensions[d].block, extent = block > 0 ? block : value.dimensions[d].extent;
    visit(d, stride / members);
    stride *= (extent + members - 1) / members;
    if (d + 1 == value.dimensions.size() && block == 0) stride = (stride + lanes - 1) / lanes * lanes;
  }
  return stride;
}

// Elements from the beginning of a loop's tile to the next number's, if that began one. A tensor that holds a tile is at its beginning for all of it.
std::int64_t strideOfTiles(const std::vector<Index>& indices, const Tensor& t, std::size_t dimension, int loop) {
  const Tensor::Dimension& d = t.dimensions[dimension];
  if (d.tileOf >= 0 && isPartOf(indices, d.tileOf, loop)) return 0;
  return d.block == 0 ? d.stride : strideAfter(t, 1, [](std::size_t, std::int64_t) {}) / d.block;
}

}  // namespace

Place placeOf(const Source& kernel, const Access& access) {
  const Tensor& t = kernel.tensors[static_cast<std::size_t>(access.tensor)];
  const std::int64_t bytes = elementBytes(t.stored());
  const std::size_t indices = kernel.indices.size();
  Place place{access.tensor, t.stored(), 0, std::vector<std::int64_t>(indices), std::vector<std::int64_t>(indices)};
  for (std::size_t d = 0; d < t.dimensions.size(); ++d) {
    const Tensor::Dimension& dimension = t.dimensions[d];
    place.offset += access.at[d].constant * dimension.stride * bytes;
    for (const Subscript::Term& term : access.at[d].terms) {
      const auto index = static_cast<std::size_t>(term.index);
      place.apart[index] += term.factor * dimension.stride * bytes;
      for (int loop = term.index; loop >= 0; loop = kernel.indices[static_cast<std::size_t>(loop)].tileOf)
        place.start[static_cast<std::size_t>(loop)] += term.factor * strideOfTiles(kernel.indices, t, d, loop) * bytes;
    }
  }
  return place;
}

std::vector<int> indicesOf(const Access& access) {
  std::vector<int> all;
  for (const Subscript& s : access.at) {
    for (const Subscript::Term& t : s.terms) {
      if (!contains(all, t.index)) all.push_back(t.index);
    }
  }
  return all;
}

int contiguousIndex(const Source& kernel, const Access& access) {
  const Place place = placeOf(kernel, access);
  const auto seen = [&](int i) { return kernel.indices[static_cast<std::size_t>(i)].seen(); };
  int found = -1;
  const Tensor& t = kernel.tensors[static_cast<std::size_t>(access.tensor)];
  const auto inWords = [&](int i) {
    if (t.packed < 0) return false;
    const std::vector<Subscript::Term>& terms = access.at[static_cast<std::size_t>(t.packed)].terms;
    return std::any_of(terms.begin(), terms.end(), [&](const Subscript::Term& term) { return term.index == i; });
  };
  for (const int i : indicesOf(access)) {
    if (place.contiguous(i) && !inWords(i) && (found < 0 || seen(i) > seen(found))) found = i;
  }
  return found;
}

void layOut(Tensor& value, int lanes) {
  strideAfter(value, lanes, [&](std::size_t d, std::int64_t stride) { value.dimensions[d].stride = stride; });
}

std::int64_t bytesOfValue(const Tensor& value, int lanes) {
  const std::int64_t elements = strideAfter(value, lanes, [](std::size_t, std::int64_t) {});
  const Tensor::Dimension last = value.dimensions.empty() ? Tensor::Dimension{} : value.dimensions.back();
  const std::int64_t blocks = last.block == 0 ? 1 : (last.extent + last.block - 1) / last.block;
  return elements * blocks * elementBytes(value.stored());
}

}  // namespace cubejit::lang
