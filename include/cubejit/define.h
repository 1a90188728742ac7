// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the public face of kernels that are written in C++: the kernel language's words (docs/howto/write_a_kernel.md) as calls that print its
// text. cubejit.define in Python has the same. Leaves to TiledKernel::create what a text means, and everything that is wrong with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cubejit/dtype.h"
#include "cubejit/export.h"

namespace cubejit {

class KernelIndex;
struct KernelText;  // what a builder has printed

/// A comparison of parameters, for KernelBuilder::require.
struct KernelCondition {
  std::string text;
};

/// A number, a parameter, a subscript or a value, as text. Operations on it are the language's, also those on parameters alone.
class KernelValue {
 public:
  template <class N, class = std::enable_if_t<std::is_arithmetic_v<N>>>
  KernelValue(N number) : KernelValue(textOf(number), kAtom) {}  // NOLINT: implicit by design

  friend KernelValue operator+(const KernelValue& x, const KernelValue& y) { return infix(x, " + ", y, kSum); }
  friend KernelValue operator-(const KernelValue& x, const KernelValue& y) { return infix(x, " - ", y, kSum); }
  friend KernelValue operator*(const KernelValue& x, const KernelValue& y) { return infix(x, " * ", y, kProduct); }
  friend KernelValue operator/(const KernelValue& x, const KernelValue& y) { return infix(x, " / ", y, kProduct); }
  friend KernelValue operator-(const KernelValue& x) { return {"-" + x.within(kAtom), kAtom}; }

  /// For KernelBuilder::require.
  friend KernelCondition operator<(const KernelValue& x, const KernelValue& y) { return {x.text_ + " < " + y.text_}; }
  friend KernelCondition operator<=(const KernelValue& x, const KernelValue& y) { return {x.text_ + " <= " + y.text_}; }
  friend KernelCondition operator>(const KernelValue& x, const KernelValue& y) { return {x.text_ + " > " + y.text_}; }
  friend KernelCondition operator>=(const KernelValue& x, const KernelValue& y) { return {x.text_ + " >= " + y.text_}; }
  friend KernelCondition operator==(const KernelValue& x, const KernelValue& y) { return {x.text_ + " == " + y.text_}; }

  /// Over whole indices, those of KernelBuilder::index.
  friend KernelValue sum(const KernelIndex& over, const KernelValue& x) { return reduce("sum", &over, 1, x); }
  friend KernelValue min(const KernelIndex& over, const KernelValue& x) { return reduce("min", &over, 1, x); }
  friend KernelValue max(const KernelIndex& over, const KernelValue& x) { return reduce("max", &over, 1, x); }
  /// Where the extremum is reached first.
  friend KernelValue argmin(const KernelIndex& over, const KernelValue& x) { return reduce("argmin", &over, 1, x); }
  friend KernelValue argmax(const KernelIndex& over, const KernelValue& x) { return reduce("argmax", &over, 1, x); }
  friend KernelValue sum(std::initializer_list<KernelIndex> over, const KernelValue& x) {
    return reduce("sum", over.begin(), over.size(), x);
  }
  friend KernelValue min(std::initializer_list<KernelIndex> over, const KernelValue& x) {
    return reduce("min", over.begin(), over.size(), x);
  }
  friend KernelValue max(std::initializer_list<KernelIndex> over, const KernelValue& x) {
    return reduce("max", over.begin(), over.size(), x);
  }
  friend KernelValue argmin(std::initializer_list<KernelIndex> over, const KernelValue& x) {
    return reduce("argmin", over.begin(), over.size(), x);
  }
  friend KernelValue argmax(std::initializer_list<KernelIndex> over, const KernelValue& x) {
    return reduce("argmax", over.begin(), over.size(), x);
  }

  /// The language's operations; and_, or_ and xor_ because C++ has those words. add, sub, mul, div and neg are the operators.
  friend KernelValue abs(const KernelValue& x) { return call("abs", {x}); }
  friend KernelValue sqrt(const KernelValue& x) { return call("sqrt", {x}); }
  friend KernelValue rsqrt(const KernelValue& x) { return call("rsqrt", {x}); }
  friend KernelValue round(const KernelValue& x) { return call("round", {x}); }
  friend KernelValue floor(const KernelValue& x) { return call("floor", {x}); }
  friend KernelValue exp(const KernelValue& x) { return call("exp", {x}); }
  friend KernelValue log(const KernelValue& x) { return call("log", {x}); }
  friend KernelValue tanh(const KernelValue& x) { return call("tanh", {x}); }
  friend KernelValue erf(const KernelValue& x) { return call("erf", {x}); }
  friend KernelValue sigmoid(const KernelValue& x) { return call("sigmoid", {x}); }
  friend KernelValue relu(const KernelValue& x) { return call("relu", {x}); }
  friend KernelValue gelu(const KernelValue& x) { return call("gelu", {x}); }
  friend KernelValue silu(const KernelValue& x) { return call("silu", {x}); }
  friend KernelValue min(const KernelValue& x, const KernelValue& y) { return call("min", {x, y}); }
  friend KernelValue max(const KernelValue& x, const KernelValue& y) { return call("max", {x, y}); }
  friend KernelValue equal(const KernelValue& x, const KernelValue& y) { return call("equal", {x, y}); }
  friend KernelValue less(const KernelValue& x, const KernelValue& y) { return call("less", {x, y}); }
  friend KernelValue at_most(const KernelValue& x, const KernelValue& y) { return call("at_most", {x, y}); }
  friend KernelValue and_(const KernelValue& x, const KernelValue& y) { return call("and", {x, y}); }
  friend KernelValue or_(const KernelValue& x, const KernelValue& y) { return call("or", {x, y}); }
  friend KernelValue xor_(const KernelValue& x, const KernelValue& y) { return call("xor", {x, y}); }
  friend KernelValue fma(const KernelValue& x, const KernelValue& y, const KernelValue& z) {
    return call("fma", {x, y, z});
  }
  friend KernelValue select(const KernelValue& m, const KernelValue& x, const KernelValue& y) {
    return call("select", {m, x, y});
  }

  const std::string& text() const { return text_; }

 protected:
  friend class KernelBuilder;
  enum Rank : std::uint8_t { kSum, kProduct, kAtom };  ///< how strongly the outermost operation binds
  KernelValue(std::string text, Rank rank) : text_(std::move(text)), rank_(rank) {}

 private:
  template <class N>
  static std::string textOf(N number) {
    if constexpr (std::is_integral_v<N>)
      return std::to_string(number);
    else
      return real(static_cast<float>(number));
  }
  CUBEJIT_API static std::string real(float number);
  CUBEJIT_API static KernelValue infix(const KernelValue& x, const char* symbol, const KernelValue& y, Rank rank);
  CUBEJIT_API static KernelValue call(const char* word, std::initializer_list<KernelValue> operands);
  CUBEJIT_API static KernelValue reduce(const char* word, const KernelIndex* over, std::size_t indices,
                                        const KernelValue& x);
  CUBEJIT_API std::string within(Rank rank) const;  ///< in parentheses where it binds less

  std::string text_;
  Rank rank_;
};

/// What reductions go over, and memory is for; in an expression its number.
class KernelIndex : public KernelValue {
 private:
  friend class KernelBuilder;
  explicit KernelIndex(std::string name) : KernelValue(std::move(name), kAtom) {}
};

/// A value, and, on the left of =, a statement that stores one.
class KernelElement : public KernelValue {
 public:
  KernelElement(const KernelElement&) = default;
  KernelElement& operator=(const KernelValue& value) {
    store(value);
    return *this;
  }
  KernelElement& operator=(const KernelElement& value) { return *this = static_cast<const KernelValue&>(value); }

 private:
  friend class KernelArray;
  CUBEJIT_API void store(const KernelValue& value);
  KernelElement(std::string text, std::shared_ptr<KernelText> kernel)
      : KernelValue(std::move(text), kAtom), kernel_(std::move(kernel)) {}
  std::shared_ptr<KernelText> kernel_;
};

/// An input, an output or a let.
class KernelArray {
 public:
  template <class... Subscripts>
  KernelElement operator()(const Subscripts&... at) const {
    return element({KernelValue(at)...});
  }

 private:
  friend class KernelBuilder;
  KernelArray(std::string name, std::shared_ptr<KernelText> kernel)
      : name_(std::move(name)), kernel_(std::move(kernel)) {}
  CUBEJIT_API KernelElement element(const std::vector<KernelValue>& at) const;
  std::string name_;
  std::shared_ptr<KernelText> kernel_;
};

/// f32, f16, bf16, i8, i32, or a parameter.
class KernelType {
 public:
  KernelType(DType type) : text_(toString(type)) {}  // NOLINT: implicit by design

 private:
  friend class KernelBuilder;
  explicit KernelType(std::string parameter) : text_(std::move(parameter)) {}
  std::string text_;
};

/// Prints a kernel, a line a call.
class KernelBuilder {
 public:
  CUBEJIT_API explicit KernelBuilder(const std::string& name, const std::string& comment = {});

  CUBEJIT_API KernelValue parameter(const std::string& name);
  CUBEJIT_API KernelValue parameter(const std::string& name, std::int64_t value);
  CUBEJIT_API KernelValue parameter(const std::string& name, std::initializer_list<std::int64_t> values);
  CUBEJIT_API KernelType parameter(const std::string& name, DType value);
  CUBEJIT_API KernelType parameter(const std::string& name, std::initializer_list<DType> values);
  CUBEJIT_API void require(const KernelCondition& condition);

  /// Strides in elements; none: dense, the last dimension fastest.
  CUBEJIT_API KernelArray input(const std::string& name, const KernelType& type,
                                const std::vector<KernelValue>& extents, const std::vector<KernelValue>& strides = {});
  CUBEJIT_API KernelArray output(const std::string& name, const KernelType& type,
                                 const std::vector<KernelValue>& extents, const std::vector<KernelValue>& strides = {});
  CUBEJIT_API KernelIndex index(const std::string& name, const KernelValue& extent);

  /// The body is called once, and prints what stands in the loop. The extent of a loop may be the index of one around it, over whose tile it goes.
  using Body = std::function<void(KernelIndex)>;
  CUBEJIT_API void parallel(const std::string& name, const KernelValue& extent, const Body& body);
  CUBEJIT_API void parallel(const std::string& name, const KernelValue& extent, const KernelValue& by,
                            const Body& body);
  CUBEJIT_API void loop(const std::string& name, const KernelValue& extent, const Body& body);
  CUBEJIT_API void loop(const std::string& name, const KernelValue& extent, const KernelValue& by, const Body& body);

  /// Without a value later statements fill it.
  CUBEJIT_API KernelArray let(const std::string& name, const std::vector<KernelIndex>& over);
  CUBEJIT_API KernelArray let(const std::string& name, const std::vector<KernelIndex>& over, const KernelValue& value);

  /// For TiledKernel::create.
  CUBEJIT_API const std::string& text() const;

 private:
  std::string parameterOf(const std::string& name, const std::string& values);
  KernelArray tensor(const char* use, const std::string& name, const KernelType& type,
                     const std::vector<KernelValue>& extents, const std::vector<KernelValue>& strides);
  void nest(const std::string& head, const std::string& name, const Body& body);
  std::shared_ptr<KernelText> kernel_;
};

}  // namespace cubejit
