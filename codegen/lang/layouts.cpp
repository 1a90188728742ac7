// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "codegen/lang/layouts.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/lang/pairs.h"
#include "codegen/lang/places.h"

namespace cubejit::lang {
namespace {

// Finds for each tensor the one tile size in which all accesses go over its last dimension; 0: there is none.
class Tiles {
 public:
  explicit Tiles(const Source& k) : k_(k), of_(k.tensors.size()) { items(k.body); }
  std::int64_t of(std::size_t tensor) const { return of_[tensor].value_or(0); }

 private:
  void items(const std::vector<Item>& all) {
    for (const Item& item : all) {
      items(item.body);
      if (item.index >= 0) continue;
      access(item.statement.target);
      value(item.statement.value);
    }
  }
  void value(const Expr& e) {
    if (const auto* a = std::get_if<Access>(&e.what)) access(*a);
    for (const Expr& part : e.of) value(part);
  }
  void access(const Access& a) {
    const Tensor& t = k_.tensors[static_cast<std::size_t>(a.tensor)];
    if (t.dimensions.empty()) return;
    std::optional<std::int64_t>& known = of_[static_cast<std::size_t>(a.tensor)];
    const std::int64_t tile = tileAlong(a.at.back(), t.dimensions.back());
    known = known.value_or(tile) == tile ? tile : 0;
  }
  // The tile of the subscript's loop, if that goes over exactly this dimension; else 0.
  std::int64_t tileAlong(const Subscript& s, const Tensor::Dimension& d) const {
    if (s.constant != 0 || s.terms.size() != 1 || s.terms.front().factor != 1) return 0;
    const int index = s.terms.front().index;
    const Index& i = k_.indices[static_cast<std::size_t>(index)];
    const bool all = d.tileOf < 0 ? i.extent == d.extent : index != d.tileOf && isPartOf(k_.indices, index, d.tileOf);
    return i.loop != Index::Loop::kNone && all ? i.tile : 0;
  }

  const Source& k_;
  std::vector<std::optional<std::int64_t>> of_;
};

}  // namespace

Source laidOut(Source kernel, const HostIsa& isa) {
  Source k = withPacked(std::move(kernel), isa);
  const Tiles tiles(k);
  for (std::size_t t = 0; t < k.tensors.size(); ++t) {
    Tensor& tensor = k.tensors[t];
    const std::int64_t tile = tiles.of(t);
    if (!isValue(tensor) || tile == 0 || tensor.dimensions.size() < 2 || tile >= tensor.dimensions.back().extent ||
        tensor.packed + 1 == std::ssize(tensor.dimensions) || tile % tensor.members() != 0)
      continue;
    tensor.dimensions.back().block = tile;
    layOut(tensor, isa.lanes());
  }
  return k;
}

}  // namespace cubejit::lang
