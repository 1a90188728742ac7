// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how lines become declarations, loops and statements, and words numbers, tensors and operations.
#include "codegen/lang/parse.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "codegen/text/reader.h"

namespace cubejit::lang {
namespace {

// Loops, and operations, within each other: what walks over them calls itself.
constexpr int kDeepestLoop = 16, kDeepestExpression = 64, kMostOperations = 256;
// Sizes and factors up to here: products of two are in range.
constexpr std::int64_t kMostNumber = std::int64_t{1} << 31;

class Parser {
 public:
  Parser(std::string_view text, const std::map<std::string, std::int64_t>& settings)
      : in_(text, Stage::kTile, TextReader::Semicolon::kComment), settings_(settings) {}

  Result<Source> run() {
    expectVersion(in_, "kernel", 1);
    in_.expect("kernel");
    k_.name = in_.name("the kernel's name");
    in_.nextLine();
    k_.body = block(0, 0);
    if (!in_.failed() && !in_.endOfLine()) in_.failExpecting("a line that begins where its loop's others do");
    if (in_.failed()) return in_.error();
    std::string unknown;
    for (const auto& [name, value] : settings_) {
      if (!used_.count(name))
        unknown += (unknown.empty() ? "" : "\n") + k_.name + " has no parameter " + name + parameterNames();
    }
    if (!unknown.empty()) return invalidInput(unknown, Stage::kTile);
    return std::move(k_);
  }

 private:
  std::string parameterNames() const {
    std::string names;
    for (const Parameter& p : k_.parameters) names += (names.empty() ? "; there are " : ", ") + p.name;
    return names;
  }

  // -- lines

  // Those that begin in the same column, not before `least`.
  std::vector<Item> block(std::size_t least, int depth) {
    std::vector<Item> items;
    const std::size_t column = in_.indent(), scope = names_.size();
    while (!in_.failed() && !in_.endOfLine() && in_.indent() >= least) {
      if (in_.indent() != column) {
        in_.failExpecting("a line that begins in the column of the one above it, or of a loop around it");
        break;
      }
      line(items, depth);
    }
    names_.resize(scope);
    return items;
  }

  void line(std::vector<Item>& items, int depth) {
    line_ = in_.line();
    operations_ = 0;
    if (in_.take("parameter")) return declare([&] { parameter(); }, depth);
    if (in_.take("input")) return declare([&] { tensor(Buffer::Use::kInput); }, depth);
    if (in_.take("output")) return declare([&] { tensor(Buffer::Use::kOutput); }, depth);
    if (in_.take("index")) return declare([&] { index(Index::Loop::kNone); }, depth);
    if (in_.take("parallel")) return loop(items, Index::Loop::kParallel, depth);
    if (in_.take("loop")) return loop(items, Index::Loop::kSerial, depth);
    Item& item = items.emplace_back();
    item.statement.line = line_;
    if (in_.take("let")) {
      if (!let(item.statement, depth)) items.pop_back();
      in_.nextLine();
      return;
    }
    const std::string name = in_.name("parameter, input, output, index, parallel, loop, let or an output's element");
    const Name* found = find(name);
    if (!in_.failed() && (found == nullptr || found->kind != Name::Kind::kTensor))
      in_.fail("expected parameter, input, output, index, parallel, loop, let or an output's element, got '" + name +
               "'");
    if (!in_.failed()) item.statement.target = access(found->number);
    in_.expectSymbol("=");
    item.statement.value = expression();
    in_.nextLine();
  }

  template <class Read>
  void declare(Read read, int depth) {
    if (depth > 0) in_.fail("declarations stand outside all loops");
    read();
    in_.nextLine();
  }

  void parameter() {
    Parameter p;
    p.name = fresh("the parameter's name");
    const bool known = in_.takeSymbol("=");
    if (known) p.value = in_.integer(-kMostNumber, kMostNumber, "the value of " + p.name);
    if (!known && in_.take("in")) {
      while (!in_.failed() && !in_.endOfLine()) {
        p.values.push_back(in_.integer(-kMostNumber, kMostNumber, "a value of " + p.name));
        in_.takeSymbol(",");
      }
    }
    std::string allowed;
    for (const std::int64_t v : p.values) allowed += (allowed.empty() ? "" : ", ") + std::to_string(v);
    const auto set = settings_.find(p.name);
    if (set != settings_.end()) {
      p.value = set->second;
      used_.insert(*set);
      const bool may = p.values.empty() || std::find(p.values.begin(), p.values.end(), p.value) != p.values.end();
      if (!may) in_.fail(p.name + " is " + std::to_string(p.value) + "; it may be " + allowed);
      if (std::abs(p.value) > kMostNumber)
        in_.fail(p.name + " is " + std::to_string(p.value) + "; it may be 2^31 at most");
    } else if (!p.values.empty()) {
      p.value = p.values.front();
    } else if (!known) {
      in_.fail(p.name + " has no value: set it (--set " + p.name + "=N), or write one behind '='");
    }
    add(p.name, Name::Kind::kParameter, k_.parameters.size());
    k_.parameters.push_back(std::move(p));
  }

  void tensor(Buffer::Use use) {
    Tensor t;
    t.name = fresh("the tensor's name");
    t.use = use;
    t.line = line_;
    t.element = element();
    in_.expectSymbol("[");
    while (!in_.failed() && !in_.takeSymbol("]")) {
      t.dimensions.push_back({size("an extent"), 0, -1});
      if (!in_.atSymbol("]")) in_.expectSymbol(",");
    }
    std::int64_t dense = 1;
    for (auto d = t.dimensions.rbegin(); d != t.dimensions.rend(); ++d) {
      d->stride = dense;
      dense *= d->extent;
      if (dense > kMostNumber * 64) {
        in_.fail(t.name + " has more than 2^37 elements");
        break;
      }
    }
    if (in_.take("strides")) {
      in_.expectSymbol("[");
      for (std::size_t d = 0; d < t.dimensions.size(); ++d) {
        if (d > 0) in_.expectSymbol(",");
        const Subscript stride = affine("a stride");
        if (!stride.terms.empty() || stride.constant < 0) in_.fail("a stride is a number from 0 up");
        t.dimensions[d].stride = stride.constant;
      }
      in_.expectSymbol("]");
    }
    add(t.name, Name::Kind::kTensor, k_.tensors.size());
    k_.tensors.push_back(std::move(t));
  }

  Element element() {
    for (const Element e : {Element::kF32, Element::kF16, Element::kBf16}) {
      if (in_.take(toString(e))) return e;
    }
    in_.failExpecting("one of f32, f16, bf16");
    return Element::kF32;
  }

  int index(Index::Loop how) {
    Index i;
    i.name = fresh("the index's name");
    i.loop = how;
    i.line = line_;
    in_.expect("in");
    i.extent = size("how far it goes");
    i.tile = 1;
    if (how != Index::Loop::kNone && in_.take("by")) i.tile = std::min(size("a tile's size"), i.extent);
    add(i.name, Name::Kind::kIndex, k_.indices.size());
    k_.indices.push_back(std::move(i));
    return static_cast<int>(k_.indices.size()) - 1;
  }

  void loop(std::vector<Item>& items, Index::Loop how, int depth) {
    if (depth >= kDeepestLoop) in_.fail("more than " + std::to_string(kDeepestLoop) + " loops within each other");
    const std::size_t column = in_.indent(), scope = names_.size();
    Item item;
    item.index = index(how);
    in_.nextLine();
    if (!in_.failed() && (in_.endOfLine() || in_.indent() <= column))
      in_.failExpecting("the loop's body, further to the right");
    if (!in_.failed()) item.body = block(column + 1, depth + 1);
    names_.resize(scope);
    items.push_back(std::move(item));
  }

  // False if it has no value yet.
  bool let(Statement& statement, int depth) {
    Tensor t;
    t.name = fresh("the value's name");
    t.line = line_;
    t.use = depth == 0 ? Buffer::Use::kShared : Buffer::Use::kPrivate;
    Access& target = statement.target;
    if (in_.takeSymbol("[")) {
      while (!in_.failed() && !in_.takeSymbol("]")) {
        const int i = indexHere();
        if (in_.failed()) return true;
        const Index& index = k_.indices[static_cast<std::size_t>(i)];
        for (const Subscript& other : target.at) {
          if (other.terms.front().index == i) in_.fail("index " + index.name + " a second time");
        }
        t.dimensions.push_back({index.seen(), 0, index.loop == Index::Loop::kNone ? -1 : i});
        target.at.push_back({{{i, 1}}, 0});
        if (!in_.atSymbol("]")) in_.expectSymbol(",");
      }
    }
    const std::size_t number = k_.tensors.size();
    target.tensor = static_cast<int>(number);
    pending_ = t.name;
    k_.tensors.push_back(std::move(t));
    const bool value = !in_.endOfLine();
    if (value) {
      in_.expectSymbol("=");
      statement.value = expression();
    }
    // It is known behind its own line.
    add(std::exchange(pending_, {}), Name::Kind::kTensor, number);
    return value;
  }

  // -- names

  struct Name {
    enum class Kind : std::uint8_t { kParameter, kTensor, kIndex };
    std::string text;
    Kind kind;
    int number;
  };
  const Name* find(std::string_view text) const {
    for (auto n = names_.rbegin(); n != names_.rend(); ++n) {
      if (n->text == text) return &*n;
    }
    return nullptr;
  }
  void add(std::string text, Name::Kind kind, std::size_t number) {
    names_.push_back({std::move(text), kind, static_cast<int>(number)});
  }
  std::string fresh(std::string_view what) {
    std::string name = in_.name(what);
    if (in_.failed()) return name;
    if (operationNamed(name) != nullptr || name == "sum")
      in_.fail("'" + name + "' is an operation's word");
    else if (find(name) != nullptr)
      in_.fail("there is a '" + name + "' already");
    return name;
  }
  std::string known(Name::Kind kind) const {
    std::string names;
    for (const Name& n : names_) {
      if (n.kind == kind) names += (names.empty() ? "; there are " : ", ") + n.text;
    }
    return names;
  }
  int indexHere() {
    const std::string name = in_.name("an index");
    const Name* found = find(name);
    if (in_.failed()) return -1;
    if (found == nullptr || found->kind != Name::Kind::kIndex) {
      in_.fail("there is no index '" + name + "' here" + known(Name::Kind::kIndex));
      return -1;
    }
    return found->number;
  }

  // -- integers

  std::int64_t size(std::string_view what) {
    const Subscript s = affine(what);
    if (in_.failed()) return 1;
    if (!s.terms.empty()) in_.fail("expected " + std::string(what) + ", which knows no index");
    if (s.constant < 1 || s.constant > kMostNumber)
      in_.fail("expected " + std::string(what) + ", 1 to 2^31, got " + std::to_string(s.constant));
    return in_.failed() ? 1 : s.constant;
  }

  Subscript affine(std::string_view what, int depth = 0) {
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
  static void scale(Subscript& s, std::int64_t by) {
    for (Subscript::Term& t : s.terms) t.factor *= by;
    s.constant *= by;
  }
  void inRange(const Subscript& s) {
    bool in = std::abs(s.constant) <= kMostNumber;
    for (const Subscript::Term& t : s.terms) in = in && std::abs(t.factor) <= kMostNumber;
    if (!in) in_.fail("a number beyond 2^31", ErrorCode::kLimitExceeded);
  }
  Subscript product(std::string_view what, int depth) {
    Subscript left = atom(what, depth);
    while (!in_.failed()) {
      const bool divides = in_.atSymbol("/");
      if (!in_.takeSymbol("*") && !in_.takeSymbol("/")) break;
      Subscript right = atom(what, depth);
      if (in_.failed()) break;
      if (divides) {
        if (!left.terms.empty() || !right.terms.empty() || right.constant <= 0 || left.constant < 0)
          in_.fail("a quotient is of numbers from 0 up by those from 1 up");
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
  Subscript atom(std::string_view what, int depth) {
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
    if (!in_.atName()) return {{}, in_.integer(0, kMostNumber, what)};
    const std::string name = in_.name(what);
    const Name* found = find(name);
    if (found != nullptr && found->kind == Name::Kind::kParameter)
      return {{}, k_.parameters[static_cast<std::size_t>(found->number)].value};
    if (found != nullptr && found->kind == Name::Kind::kIndex) return {{{found->number, 1}}, 0};
    in_.fail("there is no parameter or index '" + name + "' here" + known(Name::Kind::kParameter));
    return {};
  }

  // -- expressions

  Access access(int tensor) {
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

  static Expr call(const char* word, std::vector<Expr> of) { return {Apply{operationNamed(word)}, std::move(of)}; }

  // Sums of many are deep trees, too.
  void count() {
    if (++operations_ > kMostOperations)
      in_.fail("more than " + std::to_string(kMostOperations) + " operations in a line", ErrorCode::kLimitExceeded);
  }

  using Infix = std::pair<const char*, const char*>;  ///< symbol, the operation's word
  // Operations of one rank: the left one first.
  template <class Next>
  Expr leftToRight(const std::array<Infix, 2>& operations, Next next) {
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
  Expr expression(int depth = 0) {
    return leftToRight({Infix{"+", "add"}, Infix{"-", "sub"}}, [&] { return term(depth); });
  }
  Expr term(int depth) {
    return leftToRight({Infix{"*", "mul"}, Infix{"/", "div"}}, [&] { return primary(depth); });
  }
  Expr primary(int depth) {
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
      if (const auto how = combineNamed(name); how && find(name) == nullptr) return reduce(*how, depth);
      const Name* found = find(name);
      if (found != nullptr && found->kind == Name::Kind::kTensor) return {access(found->number), {}};
      if (found != nullptr && found->kind == Name::Kind::kParameter)
        return {Number{static_cast<float>(k_.parameters[static_cast<std::size_t>(found->number)].value)}, {}};
      in_.fail(name == pending_ ? name + " is read in the line that makes it"
                                : "there is no tensor '" + name + "' here" + known(Name::Kind::kTensor));
      return {};
    }
    return operation(name, depth);
  }
  static std::optional<Combine> combineNamed(std::string_view word) {
    for (const Combine how : {Combine::kSum, Combine::kMin, Combine::kMax}) {
      if (word == toString(how)) return how;
    }
    return std::nullopt;
  }
  Expr reduce(Combine how, int depth) {
    Reduction r{how, {}};
    in_.expectSymbol("[");
    while (!in_.failed() && !in_.takeSymbol("]")) {
      const int i = indexHere();
      if (in_.failed()) return {};
      const Index& index = k_.indices[static_cast<std::size_t>(i)];
      if (index.loop != Index::Loop::kNone)
        in_.fail(std::string(toString(how)) + " over " + index.name + ", of which there is a loop in line " +
                 std::to_string(index.line) + "; over whole indices ('index NAME in EXTENT')");
      if (std::find(r.over.begin(), r.over.end(), i) != r.over.end())
        in_.fail("index " + index.name + " a second time");
      r.over.push_back(i);
      if (!in_.atSymbol("]")) in_.expectSymbol(",");
    }
    if (!in_.failed() && r.over.empty()) in_.fail(std::string(toString(how)) + " over no index");
    in_.expectSymbol("(");
    Expr inner = expression(depth + 1);
    in_.expectSymbol(")");
    return {std::move(r), {std::move(inner)}};
  }
  Expr operation(const std::string& name, int depth) {
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

  TextReader in_;
  const std::map<std::string, std::int64_t>& settings_;
  std::map<std::string, std::int64_t> used_;
  Source k_;
  std::vector<Name> names_;
  std::string pending_;
  int line_ = 0, operations_ = 0;
};

}  // namespace

Result<Source> parse(std::string_view text, const std::map<std::string, std::int64_t>& settings) {
  return Parser(text, settings).run();
}

}  // namespace cubejit::lang
