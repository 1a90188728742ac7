// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a sum of products, or a sum, minimum or maximum of elements, becomes a Contract: what lies along its vectors, which index has a
// row of sums for each number, and what is made of the sums before they are stored.
#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "codegen/lang/pairs.h"
#include "codegen/lang/statements.h"
#include "codegen/vectorize.h"

namespace cubejit::lang {
namespace {

// The only reduction in an expression; null if there is none, or if there are several.
Expr* onlyReduction(Expr& e) {
  if (std::holds_alternative<Reduction>(e.what)) return &e;
  Expr* found = nullptr;
  for (Expr& part : e.of) {
    const std::function<bool(const Expr&)> reduces = [&](const Expr& x) {
      return std::holds_alternative<Reduction>(x.what) || std::any_of(x.of.begin(), x.of.end(), reduces);
    };
    if (!reduces(part)) continue;
    Expr* const here = onlyReduction(part);
    if (found != nullptr || here == nullptr) return nullptr;
    found = here;
  }
  return found;
}

// Whether a value is the target's element as it is, combined with the sum, minimum or maximum. Of numbers that compare as equal, or not at all, the
// second operand is the result, which is the reduction's.
bool addsTo(const Access& target, const Expr& value, const Expr* sum) {
  const auto* op = std::get_if<Apply>(&value.what);
  const Combine combine = std::get<Reduction>(sum->what).combine;
  const char* const word = combine == Combine::kSum ? "add" : toString(combine);
  if (op == nullptr || op->operation != operationNamed(word)) return false;
  const bool first = sum == value.of.data() && combine == Combine::kSum;
  const auto* access = std::get_if<Access>(&value.of[first ? 1 : 0].what);
  return (first || sum == &value.of[1]) && access != nullptr && *access == target;
}

bool fits32(std::int64_t bytes) { return std::abs(bytes) <= std::numeric_limits<std::int32_t>::max(); }

}  // namespace

std::string Statements::refusalOf(const Product& p, const Place& to, const Expression& f) {
  const std::optional<Place> d = f.readsD() ? std::optional<Place>(to) : std::nullopt;
  for (const Sizes& sizes : nest_.variants({p.vector, p.rows})) {
    const auto code = vectorize(product(p, to, d, f, sizes).kernel, isa_);
    if (!code.ok()) return code.error().message;
  }
  return "";
}

std::optional<Statements::Product> Statements::dotProductOf(const Expr& sum, int vector) {
  const std::optional<DotSum> dot = dotSumOf(nest_.source(), sum, vector, isa_);
  if (!dot) return std::nullopt;
  Product p;
  p.vector = vector;
  p.vectors = nest_.placeOf(dot->vectors), p.other = nest_.placeOf(dot->other);
  p.over = std::get<Reduction>(sum.what).over;
  std::stable_partition(p.over.begin(), p.over.end(), [&](int i) { return i != dot->along; });
  p.products = dot->products;
  if (nest_.tensor(dot->vectors.tensor).packed < 0) p.pairPitch = p.vectors.apartAt(dot->along);
  return p;
}

std::optional<Statements::Product> Statements::productOf(Expr& sum, int vector, const std::vector<int>& indices) {
  Expr& inner = sum.of.front();
  const auto& how = std::get<Reduction>(sum.what);
  std::vector<Expr> factors{inner};
  if (const auto* op = std::get_if<Apply>(&inner.what);
      how.combine == Combine::kSum && op != nullptr && op->operation == operationNamed("mul"))
    factors = inner.of;
  // Two numbers or two sums are no factors; what is no element yet is computed before.
  const auto along = [&](const Expr& factor) {
    const auto* access = std::get_if<Access>(&factor.what);
    return access != nullptr && nest_.placeOf(*access).contiguous(vector);
  };
  const auto lies = std::find_if(factors.begin(), factors.end(), along);
  if (lies == factors.end()) return std::nullopt;
  std::iter_swap(factors.begin(), lies);
  Product p;
  p.vector = vector;
  p.over = how.over;
  p.combine = how.combine;
  p.vectors = nest_.placeOf(std::get<Access>(factors.front().what));
  if (factors.size() > 1) {
    const bool element = std::holds_alternative<Access>(factors[1].what);
    const bool reads = !elementsOf(factors[1]).empty();
    Access other = element ? std::get<Access>(factors[1].what) : reads ? stored(factors[1], vector) : Access{};
    if (!element && !reads) return std::nullopt;
    Place place = nest_.placeOf(other);
    if (!place.contiguous(vector) && (place.element != Element::kF32 || !place.sameAlong(vector))) {
      other = stored({other, {}}, vector);
      place = nest_.placeOf(other);
    }
    p.otherToo = place.contiguous(vector);
    p.other = place;
    inner = call("mul", {factors[0], {other, {}}});
  }
  // Rows share vectors where they can.
  const auto shareable = [&](const Place& place) {
    return std::any_of(indices.begin(), indices.end(),
                       [&](int i) { return i != vector && nest_.index(i).seen() > 1 && place.sameAlong(i); });
  };
  if (p.otherToo && !shareable(p.vectors) && shareable(*p.other)) std::swap(p.vectors, *p.other);
  return p;
}

void Statements::chooseRows(Product& p, const std::vector<int>& indices) const {
  const auto size = [&](int i) { return nest_.index(i).seen(); };
  for (const int i : indices) {
    if (i == p.vector) continue;
    const bool shares = p.vectors.sameAlong(i), shared = p.rows >= 0 && p.vectors.sameAlong(p.rows);
    const bool better = p.rows < 0 || (shares && !shared) || (shares == shared && size(i) > size(p.rows));
    if (better && size(i) > 1) p.rows = i;
  }
}

std::string Statements::refusalOfTile(const Product& p, const Place& to) {
  const auto size = [&](int i) { return i < 0 ? 1 : nest_.index(i).seen(); };
  const std::int64_t rows = size(p.rows);
  std::string refused = "more sums than the " + std::to_string(isa_.vectorRegs) + " vector registers hold", tiles;
  if (rows * vectorsOf(p) <= isa_.vectorRegs) refused = refusalOf(p, to, {});
  if (refused.empty()) return refused;
  for (const int i : {p.vector, p.rows}) {
    if (i >= 0 && nest_.index(i).loop != Index::Loop::kNone)
      tiles += (tiles.empty() ? "" : " or ") + nest_.index(i).name;
  }
  return std::string("a ") + toString(p.combine) + " for each of " + std::to_string(rows) + " x " +
         std::to_string(size(p.vector)) + " elements in vectors of " + std::to_string(lanes_) + " lanes: " + refused +
         ". Tiles of " + tiles + " must be smaller";
}

std::int64_t Statements::vectorsOf(const Product& p) const {
  return (nest_.index(p.vector).seen() + lanes_ - 1) / lanes_;
}

std::optional<Statements::Tile> Statements::fittingTile(const Product& p) const {
  constexpr std::int64_t kMasks = 4;
  const std::int64_t room = isa_.vectorRegs - kMasks, vectors = vectorsOf(p);
  // A step's vectors are in registers where something multiplies them, and so is what quads subtract; else two at a time.
  const std::int64_t beside = !p.other ? 0 : p.products == Products::kQuads ? 2 : 1, two = p.other ? 0 : 2;
  const auto open = [&](int i) { return i >= 0 && nest_.index(i).loop == Index::Loop::kNone; };
  // As few as hold all, and all about as large.
  const auto cut = [](std::int64_t all, std::int64_t most) {
    most = std::clamp<std::int64_t>(most, 1, all - 1);
    const std::int64_t parts = (all + most - 1) / most;
    return (all + parts - 1) / parts;
  };
  if (open(p.rows)) return Tile{p.rows, cut(nest_.index(p.rows).extent, (room - two) / vectors - beside)};
  const std::int64_t most = (room - two) / ((p.rows < 0 ? 1 : nest_.index(p.rows).seen()) + beside);
  if (!open(p.vector) || most < 1 || vectors < 2) return std::nullopt;
  return Tile{p.vector, cut(vectors, most) * lanes_};
}

bool Statements::contract(const Access& target, Expr value) {
  Expr* const sum = onlyReduction(value);
  const int vector = contiguousIndex(target);
  if (sum == nullptr || vector < 0) return false;
  const std::vector<int> named = indicesOf(sum->of.front()), indices = indicesOf(target);
  for (const int i : std::get<Reduction>(sum->what).over) {
    if (!contains(named, i)) return false;
  }
  if (const std::optional<Expr> made = withQuads(value, *sum, vector)) return contract(target, *made);
  const Place to = nest_.placeOf(target);
  std::string refused;
  std::optional<Product> made = dotProductOf(*sum, vector);
  if (made) chooseRows(*made, indices);
  if (made && suitsTiles(*made)) {
    if (&value != sum || !liesForTiles(*made, to)) return finishLater(target, value);
    fillUpOther(*made, *sum, true);
    tileProducts(*made, target);
    return true;
  }
  if (made) refused = refusalOfTile(*made, to);
  // Pairs that are not there yet need registers.
  const bool forms = made && made->pairPitch != 0 && nest_.tensor(made->other->tensor).packed < 0;
  if (!made || (forms && !refused.empty() && !fittingTile(*made))) {
    if (!exactInF32(*sum)) return true;
    made = productOf(*sum, vector, indices);
    if (made) chooseRows(*made, indices), refused = refusalOfTile(*made, to);
  }
  if (!made) return false;
  Product& p = *made;
  if (!refused.empty() && !p.other && !fittingTile(p)) {
    p.rows = -1;  // they share nothing, and may as well be gone over from outside
    refused = refusalOfTile(p, to);
  }
  if (const std::optional<Tile> tile = fittingTile(p); tile && !refused.empty()) {
    nest_.enterTiles(tile->index, tile->numbers);
    contract(target, std::move(value));
    nest_.leaveTiles();
    return true;
  }
  if (!refused.empty()) {
    fail(refused, ErrorCode::kLimitExceeded);
    return true;
  }
  const auto size = [&](int i) { return nest_.index(i).seen(); };
  std::vector<int> around = indices;
  around.erase(std::remove(around.begin(), around.end(), vector), around.end());
  around.erase(std::remove(around.begin(), around.end(), p.rows), around.end());
  // What finishes a sum reads one element beside it, a vector of f32 for each of the sums'.
  const bool accumulates = addsTo(target, value, sum) && to.element == Element::kF32;
  const std::vector<Access> others = accumulates ? std::vector<Access>{} : elementsOf(value, sum);
  const auto whole = [&](const Access& access) {
    const Place place = nest_.placeOf(access);
    // A value's rows are filled up to whole vectors: these may be read where each begins at a multiple of their lanes.
    const Tensor& t = nest_.tensor(access.tensor);
    const Index& along = nest_.index(vector);
    bool filledUp =
        isValue(t) && !t.dimensions.empty() &&
        (t.dimensions.back().tileOf == vector || along.loop == Index::Loop::kNone || along.tile % lanes_ == 0);
    for (std::size_t term = 0; filledUp && term < access.at.back().terms.size(); ++term)
      filledUp = access.at.back().terms[term].index == vector || access.at.back().terms[term].factor % lanes_ == 0;
    filledUp = filledUp && access.at.back().constant % lanes_ == 0;
    const bool tail = size(vector) % lanes_ != 0 ||
                      (nest_.index(vector).loop != Index::Loop::kNone && nest_.index(vector).extent % lanes_ != 0);
    return place.element == Element::kF32 && place.contiguous(vector) && (filledUp || !tail);
  };
  const Expression f =
      accumulates ? Expression{} : expressionOf(value, [&](const Expr& e) -> std::optional<ExpressionValue> {
        if (&e == sum) return ExpressionValue::element();
        if (std::holds_alternative<Access>(e.what)) return ExpressionValue::d();
        return std::nullopt;
      });
  if (others.size() > 1 || (others.size() == 1 && !contains(indicesOf(others.front()), vector)) ||
      (f.any() && !refusalOf(p, to, f).empty()))
    return finishLater(target, value);
  if (p.products != Products::kF32) fillUpOther(p, *sum, false);
  NewCall call{nameOf(target, toString(p.combine)), p.other, p.vectors, to, {}, {vector}, around};
  if (p.rows >= 0) call.within.push_back(p.rows);
  call.within.insert(call.within.end(), p.over.begin(), p.over.end());
  if (!others.empty()) {
    const Access d = whole(others.front()) ? others.front() : stored({others.front(), {}}, vector);
    call.d = nest_.placeOf(d);
  }
  nest_.call(call, [&](const Sizes& sizes) {
    Made called = product(p, to, call.d, f, sizes);
    called.accumulate = accumulates;
    std::get<Contract>(called.kernel).addsToC = accumulates && p.combine != Combine::kSum;
    return called;
  });
  return true;
}

bool Statements::finishLater(const Access& target, Expr value) {
  storeReductions(value, contiguousIndex(target), [](const Reduction&) { return true; });
  elementwise(target, std::move(value));
  return true;
}

std::optional<Expr> Statements::withQuads(const Expr& value, const Expr& sum, int vector) {
  const std::optional<DotSum> dot = dotSumOf(nest_.source(), sum, vector, isa_);
  if (!dot || (dot->vectorsLie && dot->otherLies)) return std::nullopt;
  Expr made = value;
  if (!dot->otherLies) replace(made, dot->other, stored({dot->other, {}}, dot->along, Element::kI8));
  if (dot->vectorsLie) return made;
  std::vector<int> indices = indicesOf(dot->vectors);
  std::stable_partition(indices.begin(), indices.end(), [&](int i) { return i != vector; });
  const auto packed = std::find(indices.begin(), indices.end(), dot->along) - indices.begin();
  const Access words = nest_.addValue("quads", indices, Element::kI8, static_cast<int>(packed));
  copy(words, dot->vectors);
  replace(made, dot->vectors, words);
  return made;
}

bool Statements::exactInF32(const Expr& sum) {
  if (!isIntegerSum(nest_.source(), sum)) return true;
  constexpr std::int64_t kMostTerms = 1 << 10;  // of 2^14: f32 has all whole numbers up to 2^24
  double terms = 1;
  for (const int i : std::get<Reduction>(sum.what).over) terms *= static_cast<double>(nest_.index(i).extent);
  if (terms <= kMostTerms) return true;
  fail(isa_.byteDot() ? "a sum of more than 1024 products of i8, of which no factor is the same along the target's "
                        "contiguous index, or both are; f32 "
                        "does not hold it"
                      : std::string("a sum of more than 1024 products of i8: ") + toString(isa_.level) +
                            " has no dot product of bytes, and f32 does not hold it; avx512_bf16 and what has more do");
  return false;
}

void Statements::fillUpOther(Product& p, const Expr& sum, bool zeros) {
  const DotSum dot = *dotSumOf(nest_.source(), sum, p.vector, isa_);
  const Tensor& t = nest_.tensor(dot.other.tensor);
  const bool filledUp = isValue(t) && !liesInBlocks(t) && t.dimensions.back().extent % lanes_ != 0;
  const Index& along = nest_.index(dot.along);
  const std::int64_t members = membersOf(p.products);
  if (t.packed >= 0) return;
  if ((along.extent % members == 0 && along.seen() % members == 0) || (filledUp && !zeros)) return;
  p.other = nest_.placeOf(stored({dot.other, {}}, dot.along, t.element));
}

std::vector<Segment> Statements::segmentsOf(const Product& p, const Sizes& sizes, const Segment& first) {
  std::vector<Segment> segments;
  const std::function<void(std::size_t, const Segment&)> each = [&](std::size_t n, const Segment& s) {
    if (n + 1 == p.over.size()) {
      segments.push_back(s);
      return;
    }
    const int i = p.over[n];
    for (std::int64_t x = 0; x < sizes(i) && segments.size() < kMostSegments; ++x)
      each(n + 1, {s.aOffset + x * p.otherApart(i), s.bOffset + x * p.vectors.apartAt(i), s.outer});
  };
  each(0, first);
  if (segments.size() >= kMostSegments)
    fail("a sum over more than " + std::to_string(kMostSegments) + " combinations beside " +
             nest_.index(p.over.back()).name,
         ErrorCode::kLimitExceeded);
  return segments;
}

Made Statements::product(const Product& p, const Place& to, const std::optional<Place>& d, const Expression& f,
                         const Sizes& sizes) {
  Contract c;
  c.lanes = lanes_;
  c.label = toString(p.combine);
  c.products = p.products;
  c.combine = p.combine;
  c.vectorsB = p.pairPitch != 0 ? Element::kPair : p.vectors.element;
  c.pairPitchB = p.pairPitch;
  c.result = to.element;
  c.epilogue = f;
  const std::int64_t rows = p.rows < 0 ? 1 : sizes(p.rows), columns = sizes(p.vector),
                     vectors = (columns + lanes_ - 1) / lanes_;
  const bool shares = p.rows < 0 || p.vectors.sameAlong(p.rows);
  const auto lanesOf = [&](std::int64_t v) { return lanesUpTo(columns - v * lanes_, lanes_); };
  bool near = true;
  const auto offset = [&](std::int64_t bytes) {
    near = near && fits32(bytes);
    return static_cast<std::int32_t>(bytes);
  };
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t v = 0; v < vectors; ++v) {
      Accumulator acc{offset(r * to.apartAt(p.rows) + v * lanes_ * elementBytes(to.element)), lanesOf(v)};
      if (d) acc.dOffset = offset(r * d->apartAt(p.rows) + v * lanes_ * 4);
      c.accumulators.push_back(acc);
    }
  }
  // A few sums wait for each other less in several sets.
  c.sets = 1;
  const int last = p.over.back();
  const std::int64_t numbers = membersOf(p.products);  // of a step
  // The last word of quads is whole: what it lacks is zero among the vectors.
  const std::int64_t terms = (sizes(last) + numbers - 1) / numbers,
                     half = p.products == Products::kPairs ? sizes(last) % 2 : 0, whole = terms - half,
                     unroll = std::min<std::int64_t>(whole, 4);
  const std::int64_t aStep = numbers * p.otherApart(last), bStep = numbers * p.vectors.apartAt(last);
  const std::int64_t bias = p.products == Products::kQuads ? vectors * (shares ? 1 : rows) + 1 : 0;
  while (c.sets < 4 && (2 * c.sets + (shares ? 1 : 2)) * rows * vectors + 1 + bias <= isa_.vectorRegs - 2 &&
         2 * c.sets <= unroll && rows * vectors < 8)
    c.sets *= 2;
  SegmentList list;
  const auto section = [&](std::int64_t from, std::int64_t steps, std::int64_t times) {
    Section s;
    s.aOuterStep = steps * aStep;
    s.bOuterStep = steps * bStep;
    for (std::int64_t k = 0; k < steps; ++k) {
      Step step;
      step.firstMembers = from + k >= whole;
      for (std::int64_t r = 0; r < (shares ? 1 : rows); ++r) {
        for (std::int64_t v = 0; v < vectors; ++v)
          step.b.push_back(
              {offset(k * bStep + r * p.vectors.apartAt(p.rows) + v * lanes_ * elementBytes(p.vectors.element)),
               lanesOf(v)});
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        const auto use = [&](std::int64_t v) {
          return Use{static_cast<std::int16_t>(r * vectors + v),
                     static_cast<std::int16_t>((shares ? 0 : r * vectors) + v)};
        };
        const std::int64_t row = k * aStep + r * p.otherApart(p.rows);
        if (!p.otherToo) {
          AOperand a;
          a.kind = p.other ? AKind::kBroadcast : AKind::kOne;
          a.offset = offset(row);
          for (std::int64_t v = 0; v < vectors; ++v) a.uses.push_back(use(v));
          step.a.push_back(std::move(a));
          continue;
        }
        for (std::int64_t v = 0; v < vectors; ++v) {
          AOperand a;
          a.kind = AKind::kVector;
          a.offset = offset(row + v * lanes_ * elementBytes(p.other->element));
          a.lanes = lanesOf(v);
          a.uses = {use(v)};
          step.a.push_back(std::move(a));
        }
      }
      s.steps.push_back(std::move(step));
    }
    c.sections.push_back(std::move(s));
    list.push_back(segmentsOf(p, sizes, {from * aStep, from * bStep, times}));
  };
  const std::int64_t times = unroll == 0 ? 0 : whole / unroll, rest = terms - times * unroll;
  if (times != 0) section(0, unroll, times);
  if (rest != 0) section(terms - rest, rest, 1);
  if (p.otherToo) c.vectorsA = p.other->element;
  if (!near) fail("rows or terms of a sum that lie further apart than 2^31 bytes", ErrorCode::kLimitExceeded);
  // A vector that is added once takes as long as it takes to come, mostly from beyond L1.
  double fmas = static_cast<double>(rows * vectors) / static_cast<double>(numbers) * (p.other ? 1 : 4);
  for (const int i : p.over) fmas *= static_cast<double>(sizes(i));
  return {std::move(c), std::move(list), fmas};
}

}  // namespace cubejit::lang
