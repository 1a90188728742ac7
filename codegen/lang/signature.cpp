// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order: what one extent tells may make another one's unknown the only one.
#include "codegen/lang/signature.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "codegen/lang/reading.h"

namespace cubejit::lang {
namespace {

// Extents between brackets, as they are written.
std::vector<std::string> partsOf(const std::string& list) {
  std::vector<std::string> parts;
  int depth = 0;
  std::string part;
  for (const char c : list) {
    if (c == ']') break;
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      parts.push_back(std::exchange(part, {}));
    } else if (c != ' ' || !part.empty()) {
      part += c;
    }
  }
  if (!part.empty()) parts.push_back(std::move(part));
  for (std::string& p : parts) p.erase(p.find_last_not_of(" \t") + 1);
  return parts;
}

class SignatureReader {
 public:
  explicit SignatureReader(std::string_view text) : in_(text, Stage::kTile, TextReader::Semicolon::kComment) {}

  Result<Signature> run() {
    expectVersion(in_, "kernel", 1);
    in_.expect("kernel");
    s_.name = in_.name("the kernel's name");
    while (in_.nextLine()) {
      if (in_.take("parameter"))
        parameter();
      else if (in_.take("input"))
        tensor(false);
      else if (in_.take("output"))
        tensor(true);
      in_.restOfLine();
    }
    if (in_.failed()) return in_.error();
    return std::move(s_);
  }

 private:
  void parameter() {
    Signature::Parameter p{in_.name("the parameter's name"), {}};
    if (in_.takeSymbol("=") || in_.take("in"))
      p.value = in_.atName() ? in_.name("a type") : std::to_string(in_.integer(-kMostNumber, kMostNumber, "a value"));
    s_.parameters.push_back(std::move(p));
  }
  void tensor(bool output) {
    Signature::Tensor t{in_.name("the tensor's name"), output, in_.name("a type"), {}};
    in_.expectSymbol("[");
    if (!in_.failed()) t.extents = partsOf(in_.restOfLine());
    s_.tensors.push_back(std::move(t));
  }

  TextReader in_;
  Signature s_;
};

std::optional<std::int64_t> numberIn(const std::string& text) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || std::abs(value) > kMostNumber) return {};
  return value;
}

// What is known of a parameter, and from where: "dimension 1 of A is 50".
struct Known {
  std::int64_t value = 0;
  std::string from;
};

// An extent in which unknown parameters are what indices are in subscripts.
class ExtentReading : private Reading {
 public:
  ExtentReading(const Signature& signature, const std::string& extent, const std::map<std::string, Known>& known)
      : Reading(extent) {
    for (std::size_t p = 0; p < signature.parameters.size(); ++p) {
      const std::string& name = signature.parameters[p].name;
      const auto value = known.find(name);
      k_.parameters.push_back({name, value == known.end() ? 0 : value->second.value, false, {}});
      add(name, value == known.end() ? Name::Kind::kIndex : Name::Kind::kParameter, p);
    }
  }
  // Nothing if that is not what it is.
  std::optional<Subscript> multiples() {
    Subscript s = affine("an extent");
    return in_.failed() || !in_.endOfLine() ? std::nullopt : std::optional<Subscript>(std::move(s));
  }
};

class Inference {
 public:
  Inference(const Signature& signature, const Settings& given, const std::vector<Shape>& arrays)
      : s_(signature), settings_(given) {
    for (const auto& [name, value] : given) {
      if (const auto number = numberIn(value)) known_[name] = {*number, name + " was given as " + value};
    }
    for (const Shape& array : arrays) take(array);
  }

  Result<Settings> run() {
    while (broken_.empty() && (findMultiples() || takeFromText())) {
    }
    if (broken_.empty()) check();
    if (!broken_.empty()) return invalidInput(broken_, Stage::kRun);
    return std::move(settings_);
  }

 private:
  struct Equation {
    std::string place, extent;  // "dimension 1 of A"; as the text has it
    std::int64_t number;
  };

  void fail(const std::string& what) { broken_ += (broken_.empty() ? "" : "\n") + what; }

  void take(const Shape& array) {
    const Signature::Tensor* const tensor = s_.tensorNamed(array.tensor);
    if (tensor == nullptr) {
      std::string names;
      for (const Signature::Tensor& t : s_.tensors) names += (names.empty() ? "; there are " : ", ") + t.name;
      return fail(s_.name + " has no tensor " + array.tensor + names);
    }
    if (array.extents.size() != tensor->extents.size())
      return fail(array.tensor + " has " + std::to_string(array.extents.size()) + " dimensions; the kernel's has " +
                  std::to_string(tensor->extents.size()));
    takeType(*tensor, toString(array.element));
    for (std::size_t d = 0; d < array.extents.size(); ++d)
      equations_.push_back(
          {"dimension " + std::to_string(d) + " of " + array.tensor, tensor->extents[d], array.extents[d]});
  }

  void takeType(const Signature::Tensor& tensor, const std::string& type) {
    if (elementNamed(tensor.type)) {
      if (tensor.type != type) fail(tensor.name + " is " + type + "; the kernel's is " + tensor.type);
      return;
    }
    const auto [known, fresh] = typeFrom_.emplace(tensor.type, "by " + tensor.name);
    const auto given = settings_.find(tensor.type);
    if (given == settings_.end())
      settings_[tensor.type] = type;
    else if (given->second != type)
      fail(tensor.name + " is " + type + "; " + tensor.type + " is " + given->second +
           (fresh ? ", which was given" : " " + known->second));
  }

  // Whether something was found.
  bool findMultiples() {
    bool found = false;
    for (const Equation& e : equations_) {
      const auto s = ExtentReading(s_, e.extent, known_).multiples();
      if (!s || s->terms.size() != 1) continue;
      const Subscript::Term& term = s->terms.front();
      const std::string& name = s_.parameters[static_cast<std::size_t>(term.index)].name;
      const std::int64_t left = e.number - s->constant;
      if (left % term.factor != 0) {
        fail(e.place + " is " + std::to_string(e.number) + "; no " + name + " makes " + e.extent + " that" +
             origins(e.extent));
        return false;
      }
      known_[name] = {left / term.factor, name + " is " + std::to_string(left / term.factor) + " by " + e.place};
      settings_[name] = std::to_string(left / term.factor);
      found = true;
    }
    return found;
  }

  // What the text says of one parameter, where an extent could not be read without it.
  bool takeFromText() {
    for (const Equation& e : equations_) {
      if (ExtentReading(s_, e.extent, known_).multiples()) continue;
      for (const Signature::Parameter& p : s_.parameters) {
        const auto number = numberIn(p.value);
        if (!number || known_.count(p.name) != 0 || !names(e.extent, p.name)) continue;
        known_[p.name] = {*number, p.name + " is " + p.value + " in the text"};
        return true;
      }
    }
    return false;
  }
  static bool names(const std::string& extent, const std::string& parameter) {
    for (std::string rest = extent; !rest.empty();) {
      const std::size_t word = TextReader(rest, Stage::kTile, TextReader::Semicolon::kComment).peekWord().size();
      if (rest.compare(0, word, parameter) == 0) return true;
      rest.erase(0, std::max<std::size_t>(1, word));
    }
    return false;
  }

  void check() {
    for (const Equation& e : equations_) {
      const auto s = ExtentReading(s_, e.extent, known_).multiples();
      if (!s || !s->terms.empty() || s->constant == e.number) continue;
      const auto alone = known_.find(e.extent);
      fail(e.place + " is " + std::to_string(e.number) + "; " +
           (alone != known_.end() ? alone->second.from
            : numberIn(e.extent)  ? "the kernel's is " + e.extent
                                  : e.extent + " is " + std::to_string(s->constant) + origins(e.extent)));
    }
  }

  // ", K is 50 by dimension 1 of A", of each known parameter of the extent.
  std::string origins(const std::string& extent) const {
    std::string text;
    for (const auto& [name, known] : known_) {
      if (names(extent, name)) text += ", " + known.from;
    }
    return text;
  }

  const Signature& s_;
  Settings settings_;
  std::vector<Equation> equations_;
  std::map<std::string, Known> known_;           // numbers
  std::map<std::string, std::string> typeFrom_;  // "by A"
  std::string broken_;
};

}  // namespace

const Signature::Tensor* Signature::tensorNamed(std::string_view tensor) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const Tensor& t) { return t.name == tensor; });
  return found == tensors.end() ? nullptr : &*found;
}

Result<Signature> signatureOf(std::string_view text) { return SignatureReader(text).run(); }

Result<Settings> settingsFor(const Signature& signature, const Settings& given, const std::vector<Shape>& arrays) {
  return Inference(signature, given, arrays).run();
}

}  // namespace cubejit::lang
