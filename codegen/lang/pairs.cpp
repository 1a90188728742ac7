// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "codegen/lang/pairs.h"

#include <algorithm>
#include <array>
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

// Whether numbers of the index from 0 on are members of words in turn, whatever the other indices are.
bool countsMembers(const Subscript& s, int index, std::int64_t members) {
  bool first = s.constant % members == 0;
  for (const Subscript::Term& term : s.terms) first = first && (term.index == index || term.factor % members == 0);
  return first && contains(s.terms, Subscript::Term{index, 1});
}

// Two factors, elements both; none if it is another expression.
std::optional<std::array<const Access*, 2>> factorsOf(const Expr& product) {
  const auto* op = std::get_if<Apply>(&product.what);
  if (op == nullptr || op->operation != operationNamed("mul")) return std::nullopt;
  const std::array factors{std::get_if<Access>(&product.of[0].what), std::get_if<Access>(&product.of[1].what)};
  return factors[0] == nullptr || factors[1] == nullptr ? std::nullopt : std::optional(factors);
}
// The same of a sum of their products.
std::optional<std::array<const Access*, 2>> factorsOfSum(const Expr& sum) {
  return std::get<Reduction>(sum.what).combine == Combine::kSum ? factorsOf(sum.of.front()) : std::nullopt;
}

// What reads and writes each tensor.
class Uses {
 public:
  struct Of {
    std::vector<DotSum> vectors;  ///< dot products along whose vectors it is
    bool other = false;           ///< it is the other factor of one, or one of two rows
    bool elsewhere = false;       ///< it is read by something else
    int summed =
        -1;  ///< in a sum that is no dot product it is the same along the vector, and the sum goes along this dimension
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
    const auto alongPairs = [&](int along) { return isAlongPairs(k_, e.of.front(), along, isa_); };
    if (const auto rows = reduces ? factorsOfSum(e) : std::nullopt;
        rows && std::ranges::any_of(std::get<Reduction>(e.what).over, alongPairs)) {
      for (const Access* row : *rows) of(*row).other = true;
      return;
    }
    if (reduces) factors(e, vector);
    for (const Expr& part : e.of)
      value(part, reduces ? -1 : vector);  // lanes of what stands in a reduction: not known here
  }

  void factors(const Expr& sum, int vector) {
    const auto both = factorsOfSum(sum);
    if (!both || vector < 0) return;
    for (const Access* factor : *both) {
      const Place place = placeOf(k_, *factor);
      if (!place.sameAlong(vector)) continue;
      for (const int i : std::get<Reduction>(sum.what).over) {
        const int dimension = dimensionOf(*factor, i);
        if (!place.contiguous(i) && dimension >= 0) of(*factor).summed = dimension;
      }
    }
  }

  const Source& k_;
  const HostIsa& isa_;
  std::vector<Of> of_;
};

// The one statement that writes a value, if it copies elements of bf16 or i8.
const Statement* copyOf(const Source& k, const Tensor& value, const Uses::Of& uses) {
  if (!isValue(value) || uses.wrote.size() != 1) return nullptr;
  const auto* source = std::get_if<Access>(&uses.wrote.front().value.what);
  const bool copies = source != nullptr && tensorOf(k, *source).use == Buffer::Use::kInput &&
                      (tensorOf(k, *source).element == Element::kBf16 || tensorOf(k, *source).element == Element::kI8);
  return copies ? &uses.wrote.front() : nullptr;
}

// Whether a copy can write words in this dimension: whole ones, from rows that lie beside each other or from words.
bool writesWords(const Source& k, const Statement& copy, int dimension) {
  const auto d = static_cast<std::size_t>(dimension);
  const Subscript& s = copy.target.at[d];
  if (s.terms.size() != 1) return false;
  const int index = s.terms.front().index, vector = contiguousIndex(k, copy.target);
  const Index& i = k.indices[static_cast<std::size_t>(index)];
  const bool whole = i.loop == Index::Loop::kNone && i.extent == tensorOf(k, copy.target).dimensions[d].extent &&
                     countsMembers(s, index, 4 / elementBytes(tensorOf(k, copy.target).element)) &&
                     dimensionOf(copy.target, index) == dimension;
  const Place from = placeOf(k, std::get<Access>(copy.value.what));
  return whole && vector >= 0 && vector != index &&
         ((from.contiguous(vector) && !from.sameAlong(index)) || (from.contiguous(index) && !from.sameAlong(vector)));
}

void keep(Tensor& value, Element element, int packed, const HostIsa& isa) {
  value.element = element;
  value.packed = packed;
  layOut(value, isa.lanes());
}

// A row of it can be read by words, of which its numbers fill the last one, or there is something behind it.
bool hasWholeWords(const Source& k, const Access& other, int along, int lanes) {
  const Tensor& t = tensorOf(k, other);
  const bool filledUp = isValue(t) && t.dimensions.back().extent % lanes != 0;
  return k.indices[static_cast<std::size_t>(along)].extent % 4 == 0 ||
         (filledUp && other.at.back() == Subscript{{{along, 1}}, 0});
}

std::optional<DotSum> pairSumOf(const Source& k, const Reduction& how, const Access& vectors, const Access& other,
                                int vector) {
  const Place v = placeOf(k, vectors), o = placeOf(k, other);
  const Tensor &t = tensorOf(k, vectors), &ofOther = tensorOf(k, other);
  if (!v.contiguous(vector)) return std::nullopt;
  for (const int along : how.over) {
    const Index& i = k.indices[static_cast<std::size_t>(along)];
    const bool beginsWords = i.loop == Index::Loop::kNone || i.tile % 2 == 0;
    const auto inWords = [&](const Access& a) {
      const int packed = tensorOf(k, a).packed;
      return beginsWords && dimensionOf(a, along) == packed &&
             countsMembers(a.at[static_cast<std::size_t>(packed)], along, 2);
    };
    const bool paired = t.packed < 0 ? !v.sameAlong(along) : inWords(vectors);
    if (paired && (ofOther.packed < 0 ? o.contiguous(along) : inWords(other))) return DotSum{vectors, other, along};
  }
  return std::nullopt;
}

// What does not lie so can be copied; the index along which least is to be copied is taken.
std::optional<DotSum> quadSumOf(const Source& k, const Reduction& how, const Access& vectors, const Access& other,
                                int vector, const HostIsa& isa) {
  const Place v = placeOf(k, vectors), o = placeOf(k, other);
  const Tensor& t = tensorOf(k, vectors);
  if (v.sameAlong(vector)) return std::nullopt;
  std::optional<DotSum> found;
  for (const int along : how.over) {
    if (k.indices[static_cast<std::size_t>(along)].loop != Index::Loop::kNone) continue;  // copies are of whole ones
    const bool packed = t.packed >= 0, counts = packed && dimensionOf(vectors, along) == t.packed &&
                                                countsMembers(vectors.at[static_cast<std::size_t>(t.packed)], along, 4);
    if (v.sameAlong(along) || o.sameAlong(along) || (packed && !(counts && v.contiguous(vector)))) continue;
    const DotSum made{vectors,          other,  along,
                      Products::kQuads, packed, o.contiguous(along) && hasWholeWords(k, other, along, isa.lanes())};
    if (!found || (made.otherLies && !found->otherLies)) found = made;
  }
  return found;
}

}  // namespace

std::optional<DotSum> dotSumOf(const Source& k, const Expr& sum, int vector, const HostIsa& isa) {
  const auto factors = factorsOfSum(sum);
  const auto& how = std::get<Reduction>(sum.what);
  if (!factors || vector < 0 || contains(how.over, vector)) return std::nullopt;
  for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
    const Access &vectors = *(*factors)[first], &other = *(*factors)[1 - first];
    const Element element = tensorOf(k, vectors).element;
    if (element != tensorOf(k, other).element || !placeOf(k, other).sameAlong(vector)) continue;
    std::optional<DotSum> found;
    if (element == Element::kBf16 && isa.bf16Dot) found = pairSumOf(k, how, vectors, other, vector);
    if (element == Element::kI8 && isa.byteDot() && tensorOf(k, other).packed < 0)
      found = quadSumOf(k, how, vectors, other, vector, isa);
    if (found) return found;
  }
  return std::nullopt;
}

bool isAlongPairs(const Source& k, const Expr& product, int along, const HostIsa& isa) {
  const auto factors = factorsOf(product);
  if (!factors || !isa.bf16Dot) return false;
  for (int i = along; i >= 0; i = k.indices[static_cast<std::size_t>(i)].tileOf) {
    const Index& index = k.indices[static_cast<std::size_t>(i)];
    if (index.extent % 2 != 0 || (index.loop != Index::Loop::kNone && index.tile % 2 != 0)) return false;
  }
  return std::ranges::all_of(*factors, [&](const Access* factor) {
    return tensorOf(k, *factor).element == Element::kBf16 && placeOf(k, *factor).contiguous(along);
  });
}

bool isIntegerSum(const Source& k, const Expr& sum) {
  const auto factors = factorsOfSum(sum);
  return factors && tensorOf(k, *(*factors)[0]).element == Element::kI8 &&
         tensorOf(k, *(*factors)[1]).element == Element::kI8;
}

Source withPacked(Source k, const HostIsa& isa) {
  for (Tensor& t : k.tensors) {
    if (isValue(t)) layOut(t, isa.lanes());
  }
  std::vector<std::size_t> kept;
  const Uses written(k, isa);
  for (std::size_t t = 0; t < k.tensors.size(); ++t) {
    const Statement* const copy = copyOf(k, k.tensors[t], written.of(t));
    const Element element = copy == nullptr ? Element::kF32 : tensorOf(k, std::get<Access>(copy->value.what)).element;
    if (copy == nullptr || (element == Element::kBf16 && !isa.bf16Dot)) continue;
    keep(k.tensors[t], element, -1, isa);
    kept.push_back(t);
  }
  // What is the same along the vectors, and lies along another index than the sum's, is packed in pairs so that the sum can be one of them.
  const Uses copied(k, isa);
  const auto packs = [&](std::size_t t, int dimension) {
    const bool within = dimension >= 0 && dimension + 1 < std::ssize(k.tensors[t].dimensions);
    return within && writesWords(k, *copyOf(k, k.tensors[t], copied.of(t)), dimension);
  };
  for (const std::size_t t : kept) {
    const int dimension = copied.of(t).summed;
    if (k.tensors[t].element == Element::kBf16 && packs(t, dimension))
      keep(k.tensors[t], Element::kBf16, dimension, isa);
  }
  // One that turns out to be read otherwise can make another one's sums no dot products.
  for (bool changed = true; changed;) {
    const Uses uses(k, isa);
    const auto others = std::partition(kept.begin(), kept.end(), [&](std::size_t t) {
      return !uses.of(t).elsewhere || k.tensors[t].element == Element::kI8;  // integers are what their f32 are
    });
    for (auto t = others; t != kept.end(); ++t) keep(k.tensors[*t], Element::kF32, -1, isa);
    changed = others != kept.end();
    kept.erase(others, kept.end());
  }
  const Uses uses(k, isa);
  for (const std::size_t t : kept) {
    const Uses::Of& of = uses.of(t);
    if (of.other || of.elsewhere || of.vectors.empty()) continue;
    const int dimension = dimensionOf(of.vectors.front().vectors, of.vectors.front().along);
    if (!packs(t, dimension)) continue;
    const Element element = k.tensors[t].element;
    keep(k.tensors[t], element, dimension, isa);
    const Uses now(k, isa);
    const bool other = now.of(t).elsewhere || now.of(t).other;
    if (other) keep(k.tensors[t], element, -1, isa);  // one reads them otherwise
  }
  return k;
}

}  // namespace cubejit::lang
