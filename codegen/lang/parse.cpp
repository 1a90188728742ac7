// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how lines become declarations, loops and statements.
#include "codegen/lang/parse.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "codegen/lang/reading.h"

namespace cubejit::lang {
namespace {

constexpr int kDeepestLoop = 16;

class Parser : private Reading {
 public:
  Parser(std::string_view text, const Settings& settings) : Reading(text), settings_(settings) {}

  Result<Source> run() {
    expectVersion(in_, "kernel", 1);
    in_.expect("kernel");
    k_.name = in_.name("the kernel's name");
    in_.nextLine();
    k_.body = block(0, 0);
    if (!in_.failed() && !in_.endOfLine()) in_.failExpecting("a line that begins where its loop's others do");
    if (in_.failed()) return in_.error();
    std::string broken = broken_;
    for (const auto& [name, value] : settings_) {
      const auto named = [&name = name](const Parameter& p) { return p.name == name; };
      if (std::none_of(k_.parameters.begin(), k_.parameters.end(), named))
        broken += (broken.empty() ? "" : "\n") + k_.name + " has no parameter " + name + parameterNames();
    }
    if (!broken.empty()) return invalidInput(broken, Stage::kTile);
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
    if (in_.take("require")) return declare([&] { require(); }, depth);
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
    constexpr const char* kLines =
        "parameter, require, input, output, index, parallel, loop, let or an output's element";
    const std::string name = in_.name(kLines);
    const Name* found = find(name);
    if (!in_.failed() && (found == nullptr || found->kind != Name::Kind::kTensor))
      in_.fail("expected " + std::string(kLines) + ", got '" + name + "'");
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
    bool known = false;
    const auto read = [&] {
      const std::optional<Element> type = elementWord();
      if (known && type.has_value() != p.isType) in_.fail("types and numbers in one list");
      p.isType = type.has_value();
      known = true;
      return type ? static_cast<std::int64_t>(*type) : in_.integer(-kMostNumber, kMostNumber, "the value of " + p.name);
    };
    if (in_.takeSymbol("=")) {
      p.value = read();
    } else if (in_.take("in")) {
      while (!in_.failed() && (!known || !in_.endOfLine())) {
        p.values.push_back(read());
        in_.takeSymbol(",");
      }
      p.value = p.values.front();
    }
    if (const auto set = settings_.find(p.name); set != settings_.end()) {
      setParameter(p, set->second, known);
    } else if (!known) {
      in_.fail(p.name + " has no value: set it (--set " + p.name + "=N), or write one behind '='");
    }
    add(p.name, Name::Kind::kParameter, k_.parameters.size());
    k_.parameters.push_back(std::move(p));
  }

  // Without a value in the text it may be a number or a type.
  void setParameter(Parameter& p, const std::string& text, bool known) {
    const std::optional<Element> type = elementNamed(text);
    std::int64_t value = type ? static_cast<std::int64_t>(*type) : 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    const bool number = read.ec == std::errc() && read.ptr == end && value <= kMostNumber && value >= -kMostNumber;
    if (!known) p.isType = type.has_value();
    const Parameter set{p.name, value, p.isType, p.values};
    std::string allowed;
    for (const std::int64_t v : p.values) allowed += (allowed.empty() ? "" : ", ") + p.textOf(v);
    const bool listed = p.values.empty() || contains(p.values, value);
    if (p.isType ? !type : !number)
      in_.fail(p.name + " is " + text + "; it may be " +
               (!allowed.empty() ? allowed
                : p.isType       ? "f32, f16, bf16, i8 or i32"
                                 : "an integer, 2^31 at most"));
    else if (!listed)
      in_.fail(p.name + " is " + text + "; it may be " + allowed);
    p = set;
  }

  // What does not hold is told with all others, when the text is known to be one.
  void require() {
    const auto side = [&] {
      const Subscript s = affine("a number");
      if (!s.terms.empty()) in_.fail("parameters and numbers alone stand behind require");
      return s.constant;
    };
    const std::int64_t left = side();
    struct Comparison {
      const char* symbol;
      bool (*holds)(std::int64_t, std::int64_t);
    };
    constexpr Comparison kComparisons[] = {{"<=", [](auto x, auto y) { return x <= y; }},
                                           {">=", [](auto x, auto y) { return x >= y; }},
                                           {"==", [](auto x, auto y) { return x == y; }},
                                           {"<", [](auto x, auto y) { return x < y; }},
                                           {">", [](auto x, auto y) { return x > y; }}};
    const auto* const how = std::find_if(std::begin(kComparisons), std::end(kComparisons),
                                         [&](const Comparison& c) { return in_.takeSymbol(c.symbol); });
    if (how == std::end(kComparisons)) return in_.failExpecting("<=, <, ==, >= or >");
    const std::int64_t right = side();
    if (!in_.failed() && !how->holds(left, right))
      broken("requires " + std::to_string(left) + " " + how->symbol + " " + std::to_string(right));
  }
  void broken(const std::string& rule) {
    broken_ += (broken_.empty() ? "line " : "\nline ") + std::to_string(line_) + ": " + rule + valuesOfParameters();
  }
  void tensor(Buffer::Use use) {
    Tensor t;
    t.name = fresh("the tensor's name");
    t.use = use;
    t.line = line_;
    t.element = element();
    in_.expectSymbol("[");
    while (!in_.failed() && !in_.takeSymbol("]")) {
      t.dimensions.push_back({size("an extent", 0), 0, -1});
      if (!in_.atSymbol("]")) in_.expectSymbol(",");
    }
    std::int64_t dense = 1;
    for (auto d = t.dimensions.rbegin(); d != t.dimensions.rend(); ++d) {
      d->stride = dense;
      dense *= d->extent;
      if (dense > kMostElements) {
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
        const std::int64_t most = kMostElements / std::max<std::int64_t>(1, t.dimensions[d].extent);
        if (stride.constant > most)
          in_.fail("dimension " + std::to_string(d) + " of " + t.name + " reaches over more than 2^37 elements");
        t.dimensions[d].stride = stride.constant;
      }
      in_.expectSymbol("]");
    }
    add(t.name, Name::Kind::kTensor, k_.tensors.size());
    k_.tensors.push_back(std::move(t));
  }

  Element element() {
    if (const std::optional<Element> word = elementWord()) return *word;
    const Name* const found = find(in_.peekWord());
    if (found == nullptr || found->kind != Name::Kind::kParameter || !parameterAt(*found).isType) {
      in_.failExpecting("f32, f16, bf16, i8, i32 or a parameter that is one of them");
      return Element::kF32;
    }
    in_.name("a type");
    return static_cast<Element>(parameterAt(*found).value);
  }

  int index(Index::Loop how) {
    Index i;
    i.name = fresh("the index's name");
    i.loop = how;
    i.line = line_;
    in_.expect("in");
    const Name* const within = find(in_.peekWord());
    if (within != nullptr && within->kind == Name::Kind::kIndex) {
      i.tileOf = loopAround(how);
      i.extent = i.tileOf < 0 ? 1 : k_.indices[static_cast<std::size_t>(i.tileOf)].extent;
    } else {
      i.extent = size("how far it goes", 0);
    }
    i.tile = 1;
    if (how != Index::Loop::kNone && in_.take("by"))
      i.tile = std::min(size("a tile's size", 1), std::max<std::int64_t>(1, i.extent));
    if (i.tileOf >= 0) fitInto(i, k_.indices[static_cast<std::size_t>(i.tileOf)]);
    add(i.name, Name::Kind::kIndex, k_.indices.size());
    k_.indices.push_back(std::move(i));
    return static_cast<int>(k_.indices.size()) - 1;
  }

  // The loop over whose tile another one goes.
  int loopAround(Index::Loop how) {
    const int around = indexHere();
    if (in_.failed()) return -1;
    const Index& index = k_.indices[static_cast<std::size_t>(around)];
    if (how != Index::Loop::kSerial)
      in_.fail("tiles of the tile of " + index.name + " are not for other tasks: 'loop NAME in " + index.name +
               " by TILE'");
    else if (index.loop == Index::Loop::kNone)
      in_.fail(index.name + " is whole everywhere: 'loop NAME in EXTENT by TILE' goes over all its numbers");
    return around;
  }
  // What does not is told as what does not hold is.
  void fitInto(Index& i, const Index& around) {
    i.tile = std::min(i.tile, around.tile);
    if (around.tile % i.tile != 0 && around.tile < around.extent)
      broken("tiles of " + std::to_string(i.tile) + " numbers of " + i.name + " do not make up one of " +
             std::to_string(around.tile) + " of " + around.name + "; make that a multiple, or write: by " +
             std::to_string(i.tile) + " * HOW_MANY");
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

  const Settings& settings_;
  std::string broken_;  // what parameters were to be
  int line_ = 0;
};

}  // namespace

Result<Source> parse(std::string_view text, const Settings& settings) { return Parser(text, settings).run(); }

}  // namespace cubejit::lang
