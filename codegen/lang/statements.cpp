// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "codegen/lang/statements.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "codegen/lang/pairs.h"
#include "codegen/vectorize.h"

namespace cubejit::lang {
namespace {

void collect(const Expr& e, const Expr* except, std::vector<Access>& all) {
  if (&e == except) return;
  if (const auto* access = std::get_if<Access>(&e.what);
      access != nullptr && std::find(all.begin(), all.end(), *access) == all.end())
    all.push_back(*access);
  for (const Expr& part : e.of) collect(part, except, all);
}

ExpressionValue steps(const Expr& e, const std::function<std::optional<ExpressionValue>(const Expr&)>& operand,
                      Expression& f) {
  if (const auto given = operand(e)) return *given;
  if (const auto* number = std::get_if<Number>(&e.what)) return ExpressionValue::constant(number->value);
  std::vector<ExpressionValue> operands;
  for (const Expr& part : e.of) operands.push_back(steps(part, operand, f));
  return std::get<Apply>(e.what).operation->make(f, operands.data());
}

std::size_t operations(const Expr& e) {
  std::size_t count = std::holds_alternative<Apply>(e.what) ? 1 : 0;
  for (const Expr& part : e.of) count += operations(part);
  return count;
}
// The part of an operation that has the most operations in it; null if no part has any.
Expr* largestPart(Expr& e) {
  Expr* largest = nullptr;
  for (Expr& part : e.of) {
    if (operations(part) > (largest == nullptr ? 0 : operations(*largest))) largest = &part;
  }
  return largest;
}

// The index of the largest extent; -1 if there are no indices.
int largest(const std::vector<int>& indices, const std::function<std::int64_t(int)>& size) {
  int best = -1;
  for (const int i : indices) {
    if (best < 0 || size(i) > size(best)) best = i;
  }
  return best;
}

}  // namespace

std::vector<int> indicesOf(const Expr& value) {
  std::vector<int> all;
  const auto* reduction = std::get_if<Reduction>(&value.what);
  if (const auto* access = std::get_if<Access>(&value.what)) all = indicesOf(*access);
  for (const Expr& part : value.of) {
    for (const int i : indicesOf(part)) {
      if (!contains(all, i) && (reduction == nullptr || !contains(reduction->over, i))) all.push_back(i);
    }
  }
  return all;
}

std::vector<Access> elementsOf(const Expr& value, const Expr* except) {
  std::vector<Access> all;
  collect(value, except, all);
  return all;
}

void replace(Expr& e, const Access& old, const Access& made) {
  if (const auto* access = std::get_if<Access>(&e.what); access != nullptr && *access == old) e.what = made;
  for (Expr& part : e.of) replace(part, old, made);
}

Expression expressionOf(const Expr& value, const std::function<std::optional<ExpressionValue>(const Expr&)>& operand) {
  Expression f;
  const ExpressionValue made = steps(value, operand, f);
  if (made == ExpressionValue::element() && !f.any()) return f;
  const bool last = made.kind == ExpressionValue::Kind::kStep && made.word + 1 == f.steps.size();
  if (!last) f.then(ExpressionOp::kOr, made, ExpressionValue::bits(0));
  return f;
}

void Statements::fail(const std::string& what, ErrorCode code) {
  nest_.fail("line " + std::to_string(line_) + ": " + what, code);
}

std::string Statements::nameOf(const Access& target, const char* what) const {
  return nest_.tensor(target.tensor).name + "." + what;
}

Access Statements::stored(Expr value, int last, Element element) {
  std::vector<int> indices = indicesOf(value);
  // The contiguous one is what most elements have so, unless the caller knows better.
  if (!contains(indices, last)) {
    last = -1;
    for (const Access& access : elementsOf(value)) {
      const int contiguous = contiguousIndex(access);
      if (last < 0 && contains(indices, contiguous)) last = contiguous;
    }
  }
  std::stable_partition(indices.begin(), indices.end(), [&](int i) { return i != last; });
  const Access made = nest_.addValue("value", indices, element);
  store(made, std::move(value));
  return made;
}

void Statements::limitElements(Expr& value, int last) {
  for (Expr& part : value.of) limitElements(part, last);
  // An operation has three parts at most: if all together have more elements, one has several.
  while (elementsOf(value).size() > kMostElements) {
    Expr& part = *std::max_element(value.of.begin(), value.of.end(), [](const Expr& x, const Expr& y) {
      return elementsOf(x).size() < elementsOf(y).size();
    });
    const Access made = stored(std::move(part), last);
    part = {made, {}};
  }
}

bool Statements::fits(const Expression& f, Combine how) const {
  Map m{.lanes = lanes_, .rows = 1, .cols = lanes_ + 1};  // a whole vector and a part of one
  m.f = f;
  m.combine = how;
  m.dColumn = 4;
  const auto code = vectorize(m, isa_);
  return code.ok() || code.error().code != ErrorCode::kLimitExceeded;
}

void Statements::lower(const Statement& statement) {
  line_ = statement.line;
  reductions_.clear();
  store(statement.target, statement.value);
}

void Statements::store(const Access& target, Expr value) {
  if (nest_.failure()) return;
  const std::vector<int> indices = indicesOf(target);
  const int last = contiguousIndex(target);
  // An index of a reduction is not the target's.
  storeReductions(value, last, [&](const Reduction& how) {
    return std::any_of(how.over.begin(), how.over.end(), [&](int i) { return contains(indices, i); });
  });
  if (contract(target, value) || nest_.failure()) return;
  if (std::holds_alternative<Reduction>(value.what) && !exactInF32(value)) return;
  if (std::holds_alternative<Reduction>(value.what)) return reduce(target, value);
  storeReductions(value, last, [](const Reduction&) { return true; });
  elementwise(target, std::move(value));
}

void Statements::storeReductions(Expr& value, int last, const std::function<bool(const Reduction&)>& which) {
  if (const auto* how = std::get_if<Reduction>(&value.what); how != nullptr && which(*how)) {
    const auto known =
        std::find_if(reductions_.begin(), reductions_.end(), [&](const auto& r) { return r.first == value; });
    if (known != reductions_.end()) {
      value = {known->second, {}};
      return;
    }
    const Access made = stored(value, last);
    reductions_.emplace_back(std::exchange(value, Expr{made, {}}), made);
    return;
  }
  for (Expr& part : value.of) storeReductions(part, last, which);
}

void Statements::elementwise(const Access& target, Expr value) {
  limitElements(value, contiguousIndex(target));
  if (nest_.failure()) return;
  if (const auto* source = std::get_if<Access>(&value.what)) return copy(target, *source);
  const Place to = nest_.placeOf(target);
  const std::vector<int> indices = indicesOf(target);
  const int vector = contiguousIndex(target);
  const std::vector<Access> elements = elementsOf(value);
  // What does not change along the vector is computed once.
  if (!elements.empty() && vector >= 0 &&
      std::all_of(elements.begin(), elements.end(), [&](const Access& e) { return !contains(indicesOf(e), vector); }) &&
      (indices.size() > 1 || elements.size() > 1))
    return copy(target, stored(std::move(value), -1));
  storeUnlessAlong(value, vector);
  const Operands operands = operandsOf(value, vector);
  // A part in memory of its own where registers do not hold all values on the way.
  if (operands.f.any() && !fits(operands.f, Combine::kNone)) {
    Expr* const part = largestPart(value);
    if (part == nullptr)
      return fail("an operation that takes more vector registers than there are", ErrorCode::kLimitExceeded);
    const Access made = stored(std::move(*part), vector);
    *part = {made, {}};
    return elementwise(target, std::move(value));
  }
  map(to, indices, operands, vector);
}

void Statements::storeUnlessAlong(Expr& value, int vector) {
  if (vector < 0) return;
  for (const Access& element : elementsOf(value)) {
    const Place place = nest_.placeOf(element);
    if (place.contiguous(vector) || (place.sameAlong(vector) && place.element == Element::kF32)) continue;
    replace(value, element, stored({element, {}}, vector));
  }
  // A map reads v, d and b. If no element has values of its own along the vector, v is one whose stride there is 0.
  const std::vector<Access> elements = elementsOf(value);
  const auto along = [&](const Access& e) { return nest_.placeOf(e).contiguous(vector); };
  if (elements.size() < 2 || std::any_of(elements.begin(), elements.end(), along)) return;
  const auto named =
      std::find_if(elements.begin(), elements.end(), [&](const Access& e) { return contains(indicesOf(e), vector); });
  if (named != elements.end()) replace(value, *named, stored({*named, {}}, vector));
}

Statements::Operands Statements::operandsOf(const Expr& value, int vector) const {
  std::vector<Access> elements = elementsOf(value);
  // v has a value of its own in each lane.
  const auto lanes = [&](const Access& e) { return vector < 0 || nest_.placeOf(e).contiguous(vector); };
  const auto first = std::find_if(elements.begin(), elements.end(), lanes);
  const bool hasV = first != elements.end();
  if (hasV) std::rotate(elements.begin(), first, first + 1);
  constexpr std::array kOperands{ExpressionValue::element(), ExpressionValue::d(), ExpressionValue::b()};
  Operands operands;
  const std::array places{&operands.v, &operands.d, &operands.b};
  const std::size_t from = hasV ? 0 : 1;
  for (std::size_t e = 0; e < elements.size(); ++e) *places[from + e] = nest_.placeOf(elements[e]);
  operands.f = expressionOf(value, [&](const Expr& e) -> std::optional<ExpressionValue> {
    const auto* access = std::get_if<Access>(&e.what);
    if (access == nullptr) return std::nullopt;
    const auto known = std::find(elements.begin(), elements.end(), *access) - elements.begin();
    return kOperands[from + static_cast<std::size_t>(known)];
  });
  return operands;
}

void Statements::Operands::takePairs() {
  const auto [x, y, none] = f.steps.front().operands;
  f = {};
  f.then(ExpressionOp::kDot, x, y, ExpressionValue::constant(0));
  for (std::optional<Place>* place : {&v, &d}) {
    if (*place) (*place)->element = Element::kF32;
  }
}

void Statements::Operands::describe(Map& m, int rows, int columns) const {
  m.zeros = !v;
  m.f = f;
  if (v) m.from = v->element, m.srcPitch = v->apartAt(rows);
  const auto apart = [&](const Place& place) {
    return columns < 0 ? elementBytes(place.element) : place.apartAt(columns);
  };
  if (d) m.d = d->element, m.dRow = d->apartAt(rows), m.dColumn = apart(*d);
  if (b) m.b = b->element, m.bRow = b->apartAt(rows), m.bColumn = apart(*b);
}

void Statements::copy(const Access& target, const Access& source) {
  if (nest_.tensor(target.tensor).packed >= 0) return copyIntoWords(target, source);
  const Place to = nest_.placeOf(target), from = nest_.placeOf(source);
  std::vector<int> indices = indicesOf(target);
  const int vector = contiguousIndex(target), turned = contiguousIndex(source);
  const auto size = [&](int i) { return nest_.index(i).seen(); };
  const auto others = [&](int x, int y) {
    std::vector<int> rest;
    std::copy_if(indices.begin(), indices.end(), std::back_inserter(rest), [&](int i) { return i != x && i != y; });
    return rest;
  };
  // Rows of bf16 and i8 are filled up to words.
  const Tensor& t = nest_.tensor(target.tensor);
  const std::int64_t inWord = 4 / elementBytes(t.element);
  const bool pads = isValue(t) && vector >= 0 && target.at.back() == Subscript{{{vector, 1}}, 0} &&
                    t.dimensions.back().extent == size(vector);
  const auto padding = [&](const Sizes& sizes) { return pads ? (inWord - sizes(vector) % inWord) % inWord : 0; };
  const bool turns = turned >= 0 && contains(indices, turned) && !from.sameAlong(vector);
  const std::vector<Sizes> variants = nest_.variants({vector});
  if (vector >= 0 && !from.contiguous(vector) && !turns && std::any_of(variants.begin(), variants.end(), padding)) {
    // What goes element by element fills nothing up.
    std::stable_partition(indices.begin(), indices.end(), [&](int i) { return i != vector; });
    const Access made = nest_.addValue("value", indices);
    copy(made, source);
    return copy(target, made);
  }
  if (vector >= 0 && from.contiguous(vector)) {
    const int rows = largest(others(vector, -1), size);
    return nest_.call(
        {nameOf(target, "copy"), from, {}, to, {}, {vector, rows < 0 ? vector : rows}, others(vector, rows)},
        [&](const Sizes& sizes) {
          Copy m{.lanes = lanes_, .rows = rows < 0 ? 1 : sizes(rows), .cols = sizes(vector)};
          m.srcPitch = from.apartAt(rows), m.dstPitch = rows < 0 ? m.cols * elementBytes(to.element) : to.apartAt(rows);
          m.from = from.element, m.to = to.element;
          m.padCols = padding(sizes);
          m.label = "copy";
          return Made{m, {}, static_cast<double>(m.rows * (m.cols / lanes_ + 1))};
        });
  }
  if (vector >= 0 && turns) {
    return nest_.call({nameOf(target, "transpose"), from, {}, to, {}, {vector, turned}, others(vector, turned)},
                      [&](const Sizes& sizes) {
                        Transpose m{.lanes = lanes_, .rows = sizes(vector), .cols = sizes(turned)};
                        m.srcPitch = from.apartAt(vector), m.dstPitch = to.apartAt(turned);
                        m.from = from.element, m.to = to.element;
                        m.padCols = padding(sizes);
                        m.label = "transpose";
                        return Made{m, {}, static_cast<double>(m.rows * (m.cols / lanes_ + 1))};
                      });
  }
  // One value along the vector; of 16 bits it is converted before. What has strides of 0 along it, too, goes element by element.
  if (vector >= 0 && from.sameAlong(vector)) {
    if (from.element == Element::kF32) return map(to, indices, operandsOf({source, {}}, vector), vector);
    if (!contains(indicesOf(source), vector)) return copy(target, stored({source, {}}, -1));
  }
  map(to, indices, {.v = from}, -1);
}

void Statements::copyIntoWords(const Access& target, const Access& source) {
  Place to = nest_.placeOf(target), from = nest_.placeOf(source);
  const Tensor& t = nest_.tensor(target.tensor);
  const int paired = target.at[static_cast<std::size_t>(t.packed)].terms.front().index;
  const std::int64_t members = t.members();
  const char* const name = members == 2 ? "pairs" : "quads";
  const int vector = contiguousIndex(target);
  std::vector<int> around = indicesOf(target);
  around.erase(std::remove_if(around.begin(), around.end(), [&](int i) { return i == vector || i == paired; }),
               around.end());
  const std::int64_t numbers = nest_.index(paired).extent;
  const auto work = [&](auto m) {
    m.label = name;
    return Made{m, {}, static_cast<double>(m.rows * (m.cols / lanes_ + 1))};
  };
  if (from.contiguous(vector))
    return nest_.call({nameOf(target, name), from, {}, to, {}, {vector, paired}, around}, [&](const Sizes& sizes) {
      Copy m{.lanes = lanes_, .rows = (numbers + members - 1) / members, .cols = sizes(vector)};
      m.srcPitch = members * from.apartAt(paired), m.dstPitch = members * to.apartAt(paired);
      m.from = members == 2 ? Element::kPair : Element::kQuad;
      m.pairPitch = from.apartAt(paired), m.pairsCut = m.rows * members - numbers;
      return work(m);
    });
  // Members lie side by side: words are transposed, of pairs at last one that is half there. Rows of quads are filled up before.
  if (members == 4 && !(from.contiguous(paired) && numbers % 4 == 0))
    from = nest_.placeOf(stored({source, {}}, paired, Element::kI8));
  const auto transpose = [&](Element words, std::int64_t columns) {
    nest_.call({nameOf(target, name), from, {}, to, {}, {vector, paired}, around}, [&](const Sizes& sizes) {
      Transpose m{.lanes = lanes_, .rows = sizes(vector), .cols = columns};
      m.srcPitch = from.apartAt(vector), m.dstPitch = members * to.apartAt(paired);
      m.from = words;
      return work(m);
    });
  };
  if (members == 4) return transpose(Element::kF32, (numbers + 3) / 4);
  if (numbers > 1) transpose(Element::kF32, numbers / 2);
  if (numbers % 2 == 0) return;
  from.offset += (numbers - 1) * from.apartAt(paired), to.offset += (numbers - 1) * to.apartAt(paired);
  transpose(Element::kHalf, 1);
}

void Statements::map(const Place& to, const std::vector<int>& indices, const Operands& operands, int vector) {
  std::vector<int> around;
  std::copy_if(indices.begin(), indices.end(), std::back_inserter(around), [&](int i) { return i != vector; });
  const int rows = largest(around, [&](int i) { return nest_.index(i).seen(); });
  around.erase(std::remove(around.begin(), around.end(), rows), around.end());
  NewCall call{nest_.tensor(to.tensor).name + ".map", operands.v, operands.b, to, operands.d, {}, around};
  for (const int i : {rows, vector}) {
    if (i >= 0) call.within.push_back(i);
  }
  nest_.call(call, [&](const Sizes& sizes) {
    Map m{.lanes = lanes_, .rows = rows < 0 ? 1 : sizes(rows), .cols = vector < 0 ? 1 : sizes(vector)};
    m.dstPitch = rows < 0 ? m.cols * elementBytes(to.element) : to.apartAt(rows);
    m.to = to.element;
    operands.describe(m, rows, vector);
    m.label = "map";
    const auto work = static_cast<double>(1 + m.f.steps.size());
    return Made{m, {}, static_cast<double>(m.rows * ((m.cols + lanes_ - 1) / lanes_)) * work};
  });
}

void Statements::reduce(const Access& target, const Expr& reduction) {
  const auto& how = std::get<Reduction>(reduction.what);
  Expr inner = reduction.of.front();
  storeReductions(inner, -1, [](const Reduction&) { return true; });
  // What is the same all along an index counts as often as the index has numbers.
  const std::vector<int> named = indicesOf(inner);
  for (const int i : how.over) {
    if (!contains(named, i))
      return fail(std::string(toString(how.combine)) + " over " + nest_.index(i).name + ", which nothing in it names");
  }
  limitElements(inner, -1);
  if (nest_.failure()) return;
  const std::vector<Access> elements = elementsOf(inner);
  int along = -1;
  for (const Access& element : elements) {
    for (const int i : how.over) {
      const bool longer = along < 0 || nest_.index(i).extent > nest_.index(along).extent;
      if (longer && nest_.placeOf(element).contiguous(i)) along = i;
    }
  }
  const int vector = contiguousIndex(target);
  // What is the same along all that is reduced is no reason to go along the target.
  const bool lanesOfTarget =
      vector >= 0 && std::any_of(elements.begin(), elements.end(), [&](const Access& e) {
        const std::vector<int> own = indicesOf(e);
        const auto names = [&](int i) { return contains(own, i); };
        return std::any_of(how.over.begin(), how.over.end(), names) && nest_.placeOf(e).contiguous(vector);
      });
  if (along >= 0 && !lanesOfTarget) {
    std::vector<int> rest;
    std::copy_if(how.over.begin(), how.over.end(), std::back_inserter(rest), [&](int i) { return i != along; });
    if (rest.empty()) return acrossLanes(target, inner, how.combine, along);
    // One index after another: what the contiguous one leaves is reduced again.
    const Access part = stored({Reduction{how.combine, {along}}, {std::move(inner)}}, rest.back());
    return reduce(target, {Reduction{how.combine, std::move(rest)}, {{part, {}}}});
  }
  if (!lanesOfTarget || !std::holds_alternative<Access>(inner.what)) {
    // Values in memory of their own are contiguous along what is wanted.
    const bool lanes = contains(indicesOf(inner), vector);
    const Access values = stored(std::move(inner), lanes ? vector : how.over.back());
    return store(target, {how, {{values, {}}}});
  }
  fail(std::string(toString(how.combine)) + " of " + nest_.tensor(std::get<Access>(inner.what).tensor).name +
       ", which no instruction makes");
}

void Statements::acrossLanes(const Access& target, const Expr& given, Combine how, int over) {
  Expr inner = given;
  storeUnlessAlong(inner, over);
  Operands operands = operandsOf(inner, over);
  const bool pairs = how == Combine::kSum && isAlongPairs(nest_.source(), inner, over, isa_);
  const std::int64_t members = pairs ? 2 : 1;
  if (pairs) operands.takePairs();
  const Place to = nest_.placeOf(target);
  const std::vector<int> indices = indicesOf(target);
  const int rows = contiguousIndex(target);
  const bool direct = to.element == Element::kF32 && (rows >= 0 || indices.empty());
  if (!direct) {
    const Access made = stored({Reduction{how, {over}}, {std::move(inner)}}, rows);
    return copy(target, made);
  }
  std::vector<int> around;
  std::copy_if(indices.begin(), indices.end(), std::back_inserter(around), [&](int i) { return i != rows; });
  if (!fits(operands.f, how)) {
    const Access values = stored(std::move(inner), over);
    return reduce(target, {Reduction{how, {over}}, {{values, {}}}});
  }
  // A vector for each row, of which lanes are left.
  std::vector<int> order = around;
  if (rows >= 0) order.push_back(rows);
  const Place partial = nest_.placeOf(nest_.addVectors(nest_.tensor(target.tensor).name, order));
  std::vector<int> within{over};
  if (rows >= 0) within.push_back(rows);
  nest_.call({nameOf(target, toString(how)), operands.v, operands.b, partial, operands.d, within, around},
             [&](const Sizes& sizes) {
               Map m{.lanes = lanes_, .rows = rows < 0 ? 1 : sizes(rows), .cols = sizes(over) / members};
               m.dstPitch = std::int64_t{4} * lanes_;
               operands.describe(m, rows, over);
               m.dColumn *= members;
               m.combine = how;
               m.label = toString(how);
               const auto work = static_cast<double>(1 + m.f.steps.size());
               return Made{m, {}, static_cast<double>(m.rows * ((m.cols + lanes_ - 1) / lanes_)) * work};
             });
  nest_.call(
      {nameOf(target, "lanes"), partial, {}, to, {}, rows < 0 ? std::vector<int>{} : std::vector<int>{rows}, around},
      [&](const Sizes& sizes) {
        LaneReduce m{.lanes = lanes_, .rows = rows < 0 ? 1 : sizes(rows), .srcPitch = std::int64_t{4} * lanes_};
        m.combine = how;
        m.label = "lanes";
        return Made{m, {}, static_cast<double>(2 * m.rows)};
      });
}

}  // namespace cubejit::lang
