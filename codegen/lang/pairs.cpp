// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "codegen/lang/pairs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "codegen/lang/places.h"

namespace cubejit::lang {
namespace {

const Tensor& tensorOf(const Source& k, const Access& a) { return k.tensors[static_cast<std::size_t>(a.tensor)]; }

// The dimension in which the index stands alone or beside others, if it stands in no other one.
int dimensionOf(const Access& a, int index) {
  int found = -1;
  for (std::size_t d = 0; d < a.at.size(); ++d) {
    for (const Subscript::Term& term : a.at[d].terms) {
      if (term.index != index) continue;
      if (found >= 0) return -1;
      found = static_cast<int>(d);
    }
  }
  return found;
}

// Whether numbers of the index from 0 on are members of pairs in turn, whatever the other indices are.
bool countsMembers(const Subscript& s, int index) {
  bool even = s.constant % 2 == 0;
  for (const Subscript::Term& term : s.terms) even = even && (term.index == index || term.factor % 2 == 0);
  return even && contains(s.terms, Subscript::Term{index, 1});
}

// What reads and writes each tensor.
class Uses {
 public:
  struct Of {
    std::vector<DotSum> vectors;  ///< dot products along whose vectors it is
    bool other = false;           ///< it is the other factor of one
    bool elsewhere = false;       ///< it is read by something else
    std::vector<Statement> wrote;
  };

  Uses(const Source& k, const HostIsa& isa) : k_(k), isa_(isa), of_(k.tensors.size()) { items(k.body); }
  const Of& of(std::size_t tensor) const { return of_[tensor]; }

 private:
  Of& of(const Access& a) { return of_[static_cast<std::size_t>(a.tensor)]; }

  void items(const std::vector<Item>& all) {
    for (const Item& item : all) {
      items(item.body);
      if (item.index >= 0) continue;
      of(item.statement.target).wrote.push_back(item.statement);
      value(item.statement.value, contiguousIndex(k_, item.statement.target));
    }
  }
  void value(const Expr& e, int vector) {
    if (const auto* access = std::get_if<Access>(&e.what)) of(*access).elsewhere = true;
    const bool reduces = std::holds_alternative<Reduction>(e.what);
    if (const auto dot = reduces ? dotSumOf(k_, e, vector, isa_) : std::nullopt) {
      of(dot->vectors).vectors.push_back(*dot);
      of(dot->other).other = true;
      return;
    }
    for (const Expr& part : e.of)
      value(part, reduces ? -1 : vector);  // lanes of what stands in a reduction: not known here
  }

  const Source& k_;
  const HostIsa& isa_;
  std::vector<Of> of_;
};

// The one statement that writes a value, if it copies elements of bf16.
const Statement* copyOf(const Source& k, const Tensor& value, const Uses::Of& uses) {
  if (!isValue(value) || uses.wrote.size() != 1) return nullptr;
  const auto* source = std::get_if<Access>(&uses.wrote.front().value.what);
  const bool copies = source != nullptr && tensorOf(k, *source).use == Buffer::Use::kInput &&
                      tensorOf(k, *source).element == Element::kBf16;
  return copies ? &uses.wrote.front() : nullptr;
}

// Whether a copy can write pairs in this dimension: whole ones, from rows that lie beside each other or from words.
bool writesPairs(const Source& k, const Statement& copy, int dimension) {
  const auto d = static_cast<std::size_t>(dimension);
  const Subscript& s = copy.target.at[d];
  if (s.terms.size() != 1) return false;
  const int index = s.terms.front().index, vector = contiguousIndex(k, copy.target);
  const Index& i = k.indices[static_cast<std::size_t>(index)];
  const bool whole = i.loop == Index::Loop::kNone && i.extent == tensorOf(k, copy.target).dimensions[d].extent &&
                     countsMembers(s, index) && dimensionOf(copy.target, index) == dimension;
  const Place from = placeOf(k, std::get<Access>(copy.value.what));
  return whole && vector >= 0 && vector != index &&
         ((from.contiguous(vector) && !from.sameAlong(index)) || (from.contiguous(index) && !from.sameAlong(vector)));
}

void keep(Tensor& value, Element element, int pairs, const HostIsa& isa) {
  value.element = element;
  value.pairs = pairs;
  layOut(value, isa.lanes());
}

}  // namespace

std::optional<DotSum> dotSumOf(const Source& k, const Expr& sum, int vector, const HostIsa& isa) {
  const auto& how = std::get<Reduction>(sum.what);
  const Expr& inner = sum.of.front();
  const auto* op = std::get_if<Apply>(&inner.what);
  if (!isa.bf16Dot || how.combine != Combine::kSum || vector < 0 || contains(how.over, vector) || op == nullptr ||
      op->operation != operationNamed("mul"))
    return std::nullopt;
  for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
    const auto* vectors = std::get_if<Access>(&inner.of[first].what);
    const auto* other = std::get_if<Access>(&inner.of[1 - first].what);
    if (vectors == nullptr || other == nullptr) return std::nullopt;
    const Place v = placeOf(k, *vectors), o = placeOf(k, *other);
    const int pairs = tensorOf(k, *vectors).pairs;
    if ((pairs < 0 && v.element != Element::kBf16) || o.element != Element::kBf16 || !v.contiguous(vector) ||
        !o.sameAlong(vector))
      continue;
    for (const int along : how.over) {
      const bool paired = pairs < 0 ? !v.sameAlong(along)
                                    : dimensionOf(*vectors, along) == pairs &&
                                          countsMembers(vectors->at[static_cast<std::size_t>(pairs)], along);
      if (paired && o.contiguous(along)) return DotSum{*vectors, *other, along};
    }
  }
  return std::nullopt;
}

Source withPairs(Source k, const HostIsa& isa) {
  for (Tensor& t : k.tensors) {
    if (isValue(t)) layOut(t, isa.lanes());
  }
  if (!isa.bf16Dot) return k;
  std::vector<std::size_t> kept;
  const Uses written(k, isa);
  for (std::size_t t = 0; t < k.tensors.size(); ++t) {
    if (copyOf(k, k.tensors[t], written.of(t)) == nullptr) continue;
    keep(k.tensors[t], Element::kBf16, -1, isa);
    kept.push_back(t);
  }
  // One that turns out to be read otherwise can make another one's sums no dot products.
  for (bool changed = true; changed;) {
    const Uses uses(k, isa);
    const auto others = std::partition(kept.begin(), kept.end(), [&](std::size_t t) { return !uses.of(t).elsewhere; });
    for (auto t = others; t != kept.end(); ++t) keep(k.tensors[*t], Element::kF32, -1, isa);
    changed = others != kept.end();
    kept.erase(others, kept.end());
  }
  const Uses uses(k, isa);
  for (const std::size_t t : kept) {
    const Uses::Of& of = uses.of(t);
    if (of.other || of.vectors.empty()) continue;
    const int dimension = dimensionOf(of.vectors.front().vectors, of.vectors.front().along);
    const bool within = dimension >= 0 && dimension + 1 < std::ssize(k.tensors[t].dimensions);
    if (!within || !writesPairs(k, *copyOf(k, k.tensors[t], of), dimension)) continue;
    keep(k.tensors[t], Element::kF32, dimension, isa);
    if (Uses(k, isa).of(t).elsewhere) keep(k.tensors[t], Element::kBf16, -1, isa);  // one reads them otherwise
  }
  return k;
}

}  // namespace cubejit::lang
