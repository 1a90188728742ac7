// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a kernel's tensors are read backwards: of the dimensions, the one with the largest stride first takes its part of the offset.
#include "runtime/dump/elements.h"

#include <algorithm>
#include <map>

#include "codegen/lang/layouts.h"
#include "codegen/lang/places.h"
#include "tiling/coordinates.h"

namespace cubejit {
namespace {

class OfProblem : public TensorElements {
 public:
  explicit OfProblem(const Problem& problem) : problem_(problem) {}

  std::optional<ElementAxes> axesOf(const Buffer& buffer) const override {
    const auto tensor = tensorNamed(buffer.boundName());
    if (!tensor) return std::nullopt;
    const TensorAxes axes = cubejit::axesOf(problem_, *tensor);
    return ElementAxes{{axes.names.begin(), axes.names.end()}, {axes.extent.begin(), axes.extent.end()}};
  }
  std::optional<ElementPlace> elementAt(const Buffer& buffer, std::int64_t offset) const override {
    const auto tensor = tensorNamed(buffer.boundName());
    const auto at = tensor ? cubejit::elementAt(problem_, *tensor, offset) : std::nullopt;
    if (!at) return std::nullopt;
    return ElementPlace(at->begin(), at->end());
  }
  Moves followed() const override { return Moves::kAll; }

 private:
  const Problem problem_;
};

class OfKernel : public TensorElements {
 public:
  OfKernel(const lang::Source& text, const HostIsa& isa) {
    const lang::Source kernel = lang::laidOut(text, isa);
    std::vector<Known> all;
    for (const lang::Tensor& t : kernel.tensors) {
      all.push_back({t, {{}, {}, true}});
      for (const lang::Tensor::Dimension& d : t.dimensions) all.back().axes.extent.push_back(d.extent);
      all.back().axes.names.resize(t.dimensions.size());
    }
    for (const lang::Item& item : kernel.body) name(kernel, item, all);
    for (Known& known : all) {
      for (std::size_t d = 0; d < known.axes.names.size(); ++d) {
        std::string& axis = known.axes.names[d];
        if (axis.empty() || axis == kSeveral) axis = "d" + std::to_string(d);
      }
      const auto same = [&](const Known& other) { return other.tensor.name == known.tensor.name; };
      const bool alone =
          std::count_if(all.begin(), all.end(), same) == 1;  // loops side by side may `let` the same name
      if (alone && known.tensor.packed < 0 && !lang::liesInBlocks(known.tensor))
        tensors_.emplace(known.tensor.name, known);
    }
  }

  std::optional<ElementAxes> axesOf(const Buffer& buffer) const override {
    const auto known = tensors_.find(buffer.name);
    if (known == tensors_.end()) return std::nullopt;
    return known->second.axes;
  }
  std::optional<ElementPlace> elementAt(const Buffer& buffer, std::int64_t offset) const override {
    const auto known = tensors_.find(buffer.name);
    if (known == tensors_.end()) return std::nullopt;
    const lang::Tensor& t = known->second.tensor;
    const std::int64_t bytes = elementBytes(t.element);
    if (offset < 0 || offset % bytes != 0 || offset >= t.bytes()) return std::nullopt;
    std::vector<std::size_t> order;
    for (std::size_t d = 0; d < t.dimensions.size(); ++d) {
      if (t.dimensions[d].stride > 0 && t.dimensions[d].extent > 1) order.push_back(d);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t x, std::size_t y) { return t.dimensions[x].stride > t.dimensions[y].stride; });
    ElementPlace at(t.dimensions.size(), 0);
    std::int64_t rest = offset / bytes;
    for (const std::size_t d : order) {
      at[d] = std::min(rest / t.dimensions[d].stride, t.dimensions[d].extent - 1);
      rest -= at[d] * t.dimensions[d].stride;
    }
    if (rest != 0) return std::nullopt;
    return at;
  }
  Moves followed() const override { return Moves::kCopies; }

 private:
  struct Known {
    lang::Tensor tensor;
    ElementAxes axes;
  };
  static constexpr const char* kSeveral = "?";  // no index is called that

  static void name(const lang::Source& kernel, const lang::Access& access, std::vector<Known>& all) {
    std::vector<std::string>& names = all[static_cast<std::size_t>(access.tensor)].axes.names;
    for (std::size_t d = 0; d < access.at.size(); ++d) {
      const lang::Subscript& s = access.at[d];
      const bool alone = s.terms.size() == 1 && s.terms.front().factor == 1 && s.constant == 0;
      const std::string index = alone ? kernel.indices[static_cast<std::size_t>(s.terms.front().index)].name : kSeveral;
      names[d] = names[d].empty() || names[d] == index ? index : kSeveral;
    }
  }
  static void name(const lang::Source& kernel, const lang::Expr& value, std::vector<Known>& all) {
    if (const auto* access = std::get_if<lang::Access>(&value.what)) name(kernel, *access, all);
    for (const lang::Expr& part : value.of) name(kernel, part, all);
  }
  static void name(const lang::Source& kernel, const lang::Item& item, std::vector<Known>& all) {
    if (item.index < 0) {
      name(kernel, item.statement.target, all);
      name(kernel, item.statement.value, all);
    }
    for (const lang::Item& inner : item.body) name(kernel, inner, all);
  }

  std::map<std::string, Known, std::less<>> tensors_;
};

}  // namespace

std::shared_ptr<const TensorElements> elementsOf(const Problem& problem) {
  return std::make_shared<OfProblem>(problem);
}
std::shared_ptr<const TensorElements> elementsOf(const lang::Source& kernel, const HostIsa& isa) {
  return std::make_shared<OfKernel>(kernel, isa);
}

}  // namespace cubejit
