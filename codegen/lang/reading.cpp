// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "codegen/lang/reading.h"

#include <algorithm>

namespace cubejit::lang {
namespace {

// Operations within each other: what walks over them calls itself.
constexpr int kDeepestExpression = 64, kMostOperations = 256;

void scale(Subscript& s, std::int64_t by) {
  for (Subscript::Term& t : s.terms) t.factor *= by;
  s.constant *= by;
}

// f32 has all whole numbers up to here.
constexpr std::int64_t kMostExact = std::int64_t{1} << 24;

int partsOf(const Expr& e) {
  int count = 1;
  for (const Expr& part : e.of) count += partsOf(part);
  return count;
}

}  // namespace

const Reading::ReductionWord* Reading::reductionNamed(std::string_view word) {
  static constexpr ReductionWord kWords[] = {{"sum", Combine::kSum, false},
                                             {"min", Combine::kMin, false},
                                             {"max", Combine::kMax, false},
                                             {"argmin", Combine::kMin, true},
                                             {"argmax", Combine::kMax, true}};
  const auto* const found =
      std::find_if(std::begin(kWords), std::end(kWords), [&](const ReductionWord& w) { return word == w.word; });
  return found == std::end(kWords) ? nullptr : found;
}

std::optional<Element> elementNamed(std::string_view word) {
  for (const Element e : {Element::kF32, Element::kF16, Element::kBf16, Element::kI8, Element::kI32}) {
    if (word == toString(e)) return e;
  }
  return std::nullopt;
}

std::optional<Element> Reading::elementWord() {
  const std::optional<Element> element = elementNamed(in_.peekWord());
  if (element) in_.expect(toString(*element));
  return element;
}

const Reading::Name* Reading::find(std::string_view text) const {
  for (auto n = names_.rbegin(); n != names_.rend(); ++n) {
    if (n->text == text) return &*n;
  }
  return nullptr;
}

std::string Reading::fresh(std::string_view what) {
  std::string name = in_.name(what);
  if (in_.failed()) return name;
  constexpr std::string_view kWords[] = {"parameter", "require", "input", "output", "index",
                                         "parallel",  "loop",    "let",   "inf",    "nan"};
  const bool word = std::find(std::begin(kWords), std::end(kWords), name) != std::end(kWords);
  if (operationNamed(name) != nullptr || reductionNamed(name) != nullptr)
    in_.fail("'" + name + "' is an operation's word");
  else if (word || elementNamed(name))
    in_.fail("'" + name + "' is a word of the language");
  else if (find(name) != nullptr)
    in_.fail("there is a '" + name + "' already");
  return name;
}

std::string Reading::known(Name::Kind kind) const {
  std::string names;
  for (const Name& n : names_) {
    if (n.kind == kind) names += (names.empty() ? "; there are " : ", ") + n.text;
  }
  return names;
}

int Reading::indexHere() {
  const std::string name = in_.name("an index");
  const Name* found = find(name);
  if (in_.failed()) return -1;
  if (found == nullptr || found->kind != Name::Kind::kIndex) {
    in_.fail("there is no index '" + name + "' here" + known(Name::Kind::kIndex));
    return -1;
  }
  return found->number;
}

std::string Reading::valuesOfParameters() const {
  std::string values;
  for (const Parameter& p : k_.parameters)
    values += (values.empty() ? "; " : ", ") + p.name + " is " + p.textOf(p.value);
  return values;
}

// -- integers

std::int64_t Reading::numberOf(const Name& name) {
  const Parameter& p = parameterAt(name);
  if (p.isType) in_.fail(p.name + " is a type, here stands a number");
  return p.isType ? 1 : p.value;
}

std::int64_t Reading::size(std::string_view what, std::int64_t least) {
  const Subscript s = affine(what);
  if (in_.failed()) return 1;
  if (!s.terms.empty()) in_.fail("expected " + std::string(what) + ", which knows no index");
  if (s.constant < least || s.constant > kMostNumber)
    in_.fail("expected " + std::string(what) + ", " + std::to_string(least) + " to 2^31, got " +
             std::to_string(s.constant) + valuesOfParameters());
  return in_.failed() ? 1 : s.constant;
}

Subscript Reading::affine(std::string_view what, int depth) {
  Subscript sum = product(what, depth);
  while (!in_.failed()) {
    const bool minus = in_.atSymbol("-");
    if (!in_.takeSymbol("+") && !in_.takeSymbol("-")) break;
    Subscript more = product(what, depth);
    if (minus) scale(more, -1);
    for (const Subscript::Term& t : more.terms) {
      const auto same =
          std::find_if(sum.terms.begin(), sum.terms.end(), [&](const auto& s) { return s.index == t.index; });
      if (same == sum.terms.end())
        sum.terms.push_back(t);
      else
        same->factor += t.factor;
    }
    sum.constant += more.constant;
    inRange(sum);
  }
  sum.terms.erase(std::remove_if(sum.terms.begin(), sum.terms.end(), [](const auto& t) { return t.factor == 0; }),
                  sum.terms.end());
  return sum;
}

void Reading::inRange(const Subscript& s) {
  bool in = std::abs(s.constant) <= kMostNumber;
  for (const Subscript::Term& t : s.terms) in = in && std::abs(t.factor) <= kMostNumber;
  if (!in) in_.fail("a number beyond 2^31", ErrorCode::kLimitExceeded);
}

Subscript Reading::product(std::string_view what, int depth) {
  Subscript left = atom(what, depth);
  while (!in_.failed()) {
    const bool divides = in_.atSymbol("/");
    if (!in_.takeSymbol("*") && !in_.takeSymbol("/")) break;
    Subscript right = atom(what, depth);
    if (in_.failed()) break;
    if (divides) {
      const bool numbers = left.terms.empty() && right.terms.empty();
      if (!numbers || right.constant <= 0 || left.constant < 0)
        in_.fail("a quotient is of numbers from 0 up by those from 1 up" +
                 (numbers ? ", here " + std::to_string(left.constant) + " / " + std::to_string(right.constant) +
                                valuesOfParameters()
                          : ""));
      else
        left.constant /= right.constant;
    } else if (!left.terms.empty() && !right.terms.empty()) {
      in_.fail("a product of two indices; subscripts are sums of indices' multiples");
    } else {
      if (left.terms.empty()) std::swap(left, right);
      scale(left, right.constant);
      inRange(left);
    }
  }
  return left;
}

Subscript Reading::atom(std::string_view what, int depth) {
  if (depth > kDeepestExpression) in_.fail("parentheses within each other, too many", ErrorCode::kLimitExceeded);
  if (in_.failed()) return {};
  if (in_.takeSymbol("-")) {
    Subscript s = atom(what, depth + 1);
    scale(s, -1);
    return s;
  }
  if (in_.takeSymbol("(")) {
    Subscript s = affine(what, depth + 1);
    in_.expectSymbol(")");
    return s;
  }
  if (!in_.atName()) return {{}, in_.integer(0, kMostElements, what)};
  const std::string name = in_.name(what);
  const Name* found = find(name);
  if (found != nullptr && found->kind == Name::Kind::kParameter) return {{}, numberOf(*found)};
  if (found != nullptr && found->kind == Name::Kind::kIndex) return {{{found->number, 1}}, 0};
  in_.fail("there is no parameter or index '" + name + "' here" + known(Name::Kind::kParameter));
  return {};
}

// -- expressions

Access Reading::access(int tensor) {
  const Tensor& t = k_.tensors[static_cast<std::size_t>(tensor)];
  Access a{tensor, {}};
  if (in_.takeSymbol("[")) {
    while (!in_.failed() && !in_.takeSymbol("]")) {
      a.at.push_back(affine("a subscript of " + t.name));
      if (!in_.atSymbol("]")) in_.expectSymbol(",");
    }
  }
  if (!in_.failed() && a.at.size() != t.dimensions.size())
    in_.fail(t.name + " has " + std::to_string(t.dimensions.size()) + " dimensions, here are " +
             std::to_string(a.at.size()) + " subscripts");
  return a;
}

// Sums of many are deep trees, too.
void Reading::count() {
  if (++operations_ > kMostOperations)
    in_.fail("more than " + std::to_string(kMostOperations) + " operations in a line", ErrorCode::kLimitExceeded);
}

// Operations of one rank: the left one first.
template <class Next>
Expr Reading::leftToRight(const std::array<Infix, 2>& operations, Next next) {
  Expr left = next();
  while (!in_.failed()) {
    const auto here =
        std::find_if(operations.begin(), operations.end(), [&](const Infix& o) { return in_.takeSymbol(o.first); });
    if (here == operations.end()) break;
    Expr right = next();
    left = call(here->second, {std::move(left), std::move(right)});
    count();
  }
  return left;
}

Expr Reading::expression(int depth) {
  return leftToRight({Infix{"+", "add"}, Infix{"-", "sub"}}, [&] { return term(depth); });
}

Expr Reading::term(int depth) {
  return leftToRight({Infix{"*", "mul"}, Infix{"/", "div"}}, [&] { return primary(depth); });
}

Expr Reading::primary(int depth) {
  if (depth > kDeepestExpression) in_.fail("an expression of too many within each other", ErrorCode::kLimitExceeded);
  count();
  if (in_.failed()) return {};
  if (in_.takeSymbol("(")) {
    Expr inner = expression(depth + 1);
    in_.expectSymbol(")");
    return inner;
  }
  if (in_.takeSymbol("-")) {
    if (in_.atNumber() && !in_.atSymbol("-")) return {Number{-in_.real("a number")}, {}};
    return call("neg", {primary(depth + 1)});
  }
  if (in_.atNumber()) return {Number{in_.real("a number")}, {}};
  const std::string name = in_.name("a number, an element, an operation or (");
  if (in_.failed()) return {};
  if (in_.atSymbol("[") || find(name) != nullptr) {
    const Name* found = find(name);
    if (const auto* const how = reductionNamed(name); how != nullptr && found == nullptr) return reduce(*how, depth);
    if (found != nullptr && found->kind == Name::Kind::kTensor) return {access(found->number), {}};
    if (found != nullptr && found->kind == Name::Kind::kParameter)
      return {Number{static_cast<float>(numberOf(*found))}, {}};
    if (found != nullptr && found->kind == Name::Kind::kIndex) return numberOf(found->number);
    in_.fail(name == pending_ ? name + " is read in the line that makes it"
                              : "there is no tensor '" + name + "' here" + known(Name::Kind::kTensor));
    return {};
  }
  return operation(name, depth);
}

Expr Reading::numberOf(int index) {
  const Index& i = k_.indices[static_cast<std::size_t>(index)];
  if (i.extent > kMostExact)
    in_.fail("index " + i.name + " is a value here, of " + std::to_string(i.extent) +
             " numbers; f32 has all whole numbers up to 2^24 only");
  auto numbers = std::find_if(k_.tensors.begin(), k_.tensors.end(),
                              [](const Tensor& t) { return t.use == Buffer::Use::kConstant; });
  if (numbers == k_.tensors.end()) {
    Tensor made;
    made.name = "index.numbers";  // no name of the text has a dot
    made.use = Buffer::Use::kConstant;
    made.dimensions.push_back({0, 1, -1});
    numbers = k_.tensors.insert(numbers, std::move(made));
  }
  std::int64_t& extent = numbers->dimensions.front().extent;
  extent = std::max(extent, i.extent);
  return {Access{static_cast<int>(numbers - k_.tensors.begin()), {{{{index, 1}}, 0}}}, {}};
}

Expr Reading::firstAt(const ReductionWord& how, const std::vector<int>& over, const Expr& inner) {
  for (int n = partsOf(inner); n > 0 && !in_.failed(); --n) count();  // it stands there twice
  std::optional<Expr> number;
  std::int64_t all = 1;
  for (const int i : over) {
    const Index& index = k_.indices[static_cast<std::size_t>(i)];
    all *= index.extent;
    if (all == 0)
      in_.fail(std::string(how.word) + " over " + index.name + ", which has no numbers" + valuesOfParameters());
    if (all > kMostExact)
      in_.fail(std::string(how.word) + " over " + std::to_string(all) + " numbers, up to index " + index.name +
               "; f32 has all whole numbers up to 2^24 only");
    if (in_.failed()) return {};
    Expr here = numberOf(i);
    const Expr extent{Number{static_cast<float>(index.extent)}, {}};
    number = number ? call("add", {call("mul", {std::move(*number), extent}), std::move(here)}) : std::move(here);
  }
  Expr reached = call("equal", {inner, {Reduction{how.combine, over}, {inner}}});
  const Expr none{Number{static_cast<float>(all)}, {}};
  return {Reduction{Combine::kMin, over}, {call("select", {std::move(reached), std::move(*number), none})}};
}

Expr Reading::reduce(const ReductionWord& how, int depth) {
  Reduction r{how.combine, {}};
  in_.expectSymbol("[");
  while (!in_.failed() && !in_.takeSymbol("]")) {
    const int i = indexHere();
    if (in_.failed()) return {};
    const Index& index = k_.indices[static_cast<std::size_t>(i)];
    if (index.loop == Index::Loop::kParallel)
      in_.fail(std::string(how.word) + " over " + index.name + ", of which there is a parallel loop in line " +
               std::to_string(index.line) + "; over whole indices ('index NAME in EXTENT') or tiles of a 'loop'");
    if (std::find(r.over.begin(), r.over.end(), i) != r.over.end()) in_.fail("index " + index.name + " a second time");
    r.over.push_back(i);
    if (!in_.atSymbol("]")) in_.expectSymbol(",");
  }
  if (!in_.failed() && r.over.empty()) in_.fail(std::string(how.word) + " over no index");
  in_.expectSymbol("(");
  Expr inner = expression(depth + 1);
  in_.expectSymbol(")");
  if (how.first && !in_.failed()) return firstAt(how, r.over, inner);
  return {std::move(r), {std::move(inner)}};
}

Expr Reading::operation(const std::string& name, int depth) {
  const Operation* const op = operationNamed(name);
  if (op == nullptr) {
    in_.fail("there is no tensor and no operation '" + name + "'; operations are " + operationWords() +
             known(Name::Kind::kTensor));
    return {};
  }
  in_.expectSymbol("(");
  Expr e{Apply{op}, {}};
  for (std::size_t i = 0; i < op->arity && !in_.failed(); ++i) {
    if (i > 0) in_.expectSymbol(",");
    e.of.push_back(expression(depth + 1));
  }
  in_.expectSymbol(")");
  return e;
}

}  // namespace cubejit::lang
