// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how each call of a kernel's builder reads in the kernel language.
#include "cubejit/define.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>

namespace cubejit {

struct KernelText {
  std::string text;
  std::size_t depth = 0;  ///< loops around the next line
  void line(const std::string& what) { text += std::string(2 * depth, ' ') + what + "\n"; }
};

namespace {

template <class Values>
std::string listed(const Values& values) {
  std::string all;
  for (const KernelValue& v : values) all += (all.empty() ? "" : ", ") + v.text();
  return all;
}

template <class Values>
std::string elementOf(const std::string& name, const Values& subscripts) {
  return subscripts.size() == 0 ? name : name + "[" + listed(subscripts) + "]";
}

}  // namespace

// The shortest decimals that are read as the same number.
std::string KernelValue::real(float number) {
  std::array<char, 32> text{};
  for (int digits = 1;; ++digits) {
    const char* const end =
        std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::general, digits).ptr;
    float read = 0;
    std::from_chars(text.data(), end, read);
    if (digits == 9 || read == number || std::isnan(number)) return std::string(text.data(), end - text.data());
  }
}

std::string KernelValue::within(Rank rank) const { return rank_ >= rank ? text_ : "(" + text_ + ")"; }

KernelValue KernelValue::infix(const KernelValue& x, const char* symbol, const KernelValue& y, Rank rank) {
  return {x.within(rank) + symbol + y.within(rank == kSum ? kProduct : kAtom), rank};
}

KernelValue KernelValue::call(const char* word, std::initializer_list<KernelValue> operands) {
  return {std::string(word) + "(" + listed(operands) + ")", kAtom};
}

KernelValue KernelValue::reduce(const char* word, const KernelIndex* over, std::size_t indices, const KernelValue& x) {
  return {std::string(word) + "[" + listed(std::vector<KernelIndex>(over, over + indices)) + "](" + x.text_ + ")",
          kAtom};
}

void KernelElement::store(const KernelValue& value) { kernel_->line(text() + " = " + value.text()); }

KernelElement KernelArray::element(const std::vector<KernelValue>& at) const { return {elementOf(name_, at), kernel_}; }

KernelBuilder::KernelBuilder(const std::string& name, const std::string& comment)
    : kernel_(std::make_shared<KernelText>()) {
  kernel_->line("cubejit kernel 1");
  for (std::size_t begin = 0, end = 0; begin < comment.size(); begin = end + 1) {
    end = std::min(comment.size(), comment.find('\n', begin));
    kernel_->line("; " + comment.substr(begin, end - begin));
  }
  kernel_->line("kernel " + name);
}

std::string KernelBuilder::parameterOf(const std::string& name, const std::string& values) {
  kernel_->line("parameter " + name + values);
  return name;
}

KernelValue KernelBuilder::parameter(const std::string& name) { return {parameterOf(name, ""), KernelValue::kAtom}; }

KernelValue KernelBuilder::parameter(const std::string& name, std::int64_t value) {
  return {parameterOf(name, " = " + std::to_string(value)), KernelValue::kAtom};
}

KernelValue KernelBuilder::parameter(const std::string& name, std::initializer_list<std::int64_t> values) {
  std::string all;
  for (const std::int64_t v : values) all += " " + std::to_string(v);
  return {parameterOf(name, " in" + all), KernelValue::kAtom};
}

KernelType KernelBuilder::parameter(const std::string& name, DType value) {
  return KernelType(parameterOf(name, std::string(" = ") + toString(value)));
}

KernelType KernelBuilder::parameter(const std::string& name, std::initializer_list<DType> values) {
  std::string all;
  for (const DType v : values) all += std::string(" ") + toString(v);
  return KernelType(parameterOf(name, " in" + all));
}

void KernelBuilder::require(const KernelCondition& condition) { kernel_->line("require " + condition.text); }

KernelArray KernelBuilder::tensor(const char* use, const std::string& name, const KernelType& type,
                                  const std::vector<KernelValue>& extents, const std::vector<KernelValue>& strides) {
  kernel_->line(std::string(use) + name + " " + type.text_ + " [" + listed(extents) + "]" +
                (strides.empty() ? "" : " strides [" + listed(strides) + "]"));
  return {name, kernel_};
}

KernelArray KernelBuilder::input(const std::string& name, const KernelType& type,
                                 const std::vector<KernelValue>& extents, const std::vector<KernelValue>& strides) {
  return tensor("input ", name, type, extents, strides);
}

KernelArray KernelBuilder::output(const std::string& name, const KernelType& type,
                                  const std::vector<KernelValue>& extents, const std::vector<KernelValue>& strides) {
  return tensor("output ", name, type, extents, strides);
}

KernelIndex KernelBuilder::index(const std::string& name, const KernelValue& extent) {
  kernel_->line("index " + name + " in " + extent.text());
  return KernelIndex(name);
}

void KernelBuilder::nest(const std::string& head, const std::string& name, const Body& body) {
  kernel_->line(head);
  ++kernel_->depth;
  body(KernelIndex(name));
  --kernel_->depth;
}

void KernelBuilder::parallel(const std::string& name, const KernelValue& extent, const Body& body) {
  nest("parallel " + name + " in " + extent.text(), name, body);
}

void KernelBuilder::parallel(const std::string& name, const KernelValue& extent, const KernelValue& by,
                             const Body& body) {
  nest("parallel " + name + " in " + extent.text() + " by " + by.text(), name, body);
}

void KernelBuilder::loop(const std::string& name, const KernelValue& extent, const Body& body) {
  nest("loop " + name + " in " + extent.text(), name, body);
}

void KernelBuilder::loop(const std::string& name, const KernelValue& extent, const KernelValue& by, const Body& body) {
  nest("loop " + name + " in " + extent.text() + " by " + by.text(), name, body);
}

KernelArray KernelBuilder::let(const std::string& name, const std::vector<KernelIndex>& over) {
  kernel_->line("let " + elementOf(name, over));
  return {name, kernel_};
}

KernelArray KernelBuilder::let(const std::string& name, const std::vector<KernelIndex>& over,
                               const KernelValue& value) {
  kernel_->line("let " + elementOf(name, over) + " = " + value.text());
  return {name, kernel_};
}

const std::string& KernelBuilder::text() const { return kernel_->text; }

}  // namespace cubejit
