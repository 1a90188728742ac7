// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how shapes and arguments become extents; arithmetic is done in 128 bits and saturates, the library judges the result.
#include "python/core/convolution.h"

#include <algorithm>
#include <limits>

#include "python/core/failure.h"

namespace cubejit::python {
namespace {

__extension__ using Wide = __int128;

std::int64_t saturated(Wide value) {
  constexpr Wide kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::clamp(value, -kMost, kMost));
}

class Reader {
 public:
  Reader(const Shape& x, const Shape& w, const std::optional<Shape>& dy, const ConvolutionArguments& arguments)
      : x_(x), w_(w), dy_(dy), arguments_(arguments) {}

  Problem read() {
    if (ranks()) {
      extents();
      arguments();
      if (broken_.empty()) results();
    }
    if (!broken_.empty()) throw Failure(invalidInput(broken_));
    return p_;
  }

 private:
  void require(bool holds, const std::string& rule) {
    if (!holds) broken_ += (broken_.empty() ? "" : "\n") + rule;
  }

  bool ranks() {
    const auto rank = [&](const char* name, const Shape& shape, const char* axes) {
      require(shape.size() >= 3 && shape.size() <= 5,
              std::string(name) + " has shape (" + listText(shape) + "); it must have 3, 4 or 5 axes: " + axes);
    };
    rank("x", x_, "(N, C, spatial...)");
    rank("w", w_, "(outer channels, inner channels, spatial...)");
    if (dy_) rank("dy", *dy_, "(N, C, spatial...)");
    if (broken_.empty()) {
      require(x_.size() == w_.size() && (!dy_ || dy_->size() == x_.size()),
              "x has " + std::to_string(x_.size()) + " axes, w " + std::to_string(w_.size()) +
                  (dy_ ? ", dy " + std::to_string(dy_->size()) : "") + "; they must be as many");
    }
    return broken_.empty();
  }

  void extents() {
    p_.rank = static_cast<int>(x_.size()) - 2;
    first_ = static_cast<std::size_t>(3 - p_.rank);
    p_.transposed = arguments_.transposed;
    p_.groups = arguments_.groups;
    p_.batch = x_[0];
    p_.cin = x_[1];
    const std::int64_t inner = saturated(Wide{w_[1]} * p_.groups);
    p_.cout = p_.transposed ? inner : w_[0];
    for (std::size_t a = first_; a < 3; ++a) {
      p_.in[static_cast<int>(a)] = x_[a - first_ + 2];
      p_.kernel[static_cast<int>(a)] = w_[a - first_ + 2];
    }
    const std::int64_t needed = p_.transposed ? w_[0] : inner;
    if (p_.groups < 1) {
      require(false, "groups = " + std::to_string(p_.groups) + " must be at least 1");
      return;
    }
    require(p_.cin == needed, "x has " + std::to_string(p_.cin) + " channels, but w of shape (" + listText(w_) +
                                  ") with groups = " + std::to_string(p_.groups) + " takes " + std::to_string(needed));
  }

  Dhw perAxis(const char* name, const IntOrList& given, std::int64_t neutral) {
    Dhw out{neutral, neutral, neutral};
    const auto* list = std::get_if<std::vector<std::int64_t>>(&given);
    const std::size_t rank = 3 - first_;
    if (list != nullptr && list->size() != 1 && list->size() != rank) {
      require(false, std::string(name) + " has " + std::to_string(list->size()) + " values; it must have 1 or " +
                         std::to_string(rank));
      return out;
    }
    for (std::size_t a = first_; a < 3; ++a)
      out[static_cast<int>(a)] = list == nullptr     ? std::get<std::int64_t>(given)
                                 : list->size() == 1 ? (*list)[0]
                                                     : (*list)[a - first_];
    return out;
  }

  void arguments() {
    p_.stride = perAxis("stride", arguments_.stride, 1);
    p_.dilation = perAxis("dilation", arguments_.dilation, 1);
    outputPadding_ = perAxis("output_padding", arguments_.outputPadding, 0);
    const auto* list = std::get_if<std::vector<std::int64_t>>(&arguments_.padding);
    const std::size_t rank = 3 - first_;
    if (list == nullptr || list->size() != 2 * rank) {
      p_.padBefore = p_.padAfter = perAxis("padding", arguments_.padding, 0);
      return;
    }
    for (std::size_t a = 0; a < rank; ++a) {
      p_.padBefore[static_cast<int>(first_ + a)] = (*list)[2 * a];
      p_.padAfter[static_cast<int>(first_ + a)] = (*list)[2 * a + 1];
    }
  }

  Wide outOf(int a) const {
    const Wide reach = Wide{p_.dilation[a]} * (Wide{p_.kernel[a]} - 1);
    const Wide pads = Wide{p_.padBefore[a]} + p_.padAfter[a];
    if (p_.transposed) return (Wide{p_.in[a]} - 1) * p_.stride[a] - pads + reach + outputPadding_[a] + 1;
    const Wide room = p_.in[a] + pads - reach - 1;
    return room < 0 || p_.stride[a] < 1 ? 0 : room / p_.stride[a] + 1;
  }

  // Where dy is given it is taken at its word unless output_padding decides; the library compares it with the rest.
  void results() {
    for (std::size_t a = first_; a < 3; ++a) {
      const int axis = static_cast<int>(a);
      p_.out[axis] = dy_ ? (*dy_)[a - first_ + 2] : saturated(outOf(axis));
      if (dy_ && p_.transposed)
        require(p_.out[axis] == saturated(outOf(axis)),
                "dy has shape (" + listText(*dy_) + "); with output_padding = " + std::to_string(outputPadding_[axis]) +
                    " its axis " + std::to_string(a - first_ + 2) + " must be " +
                    std::to_string(saturated(outOf(axis))));
    }
    if (!dy_) return;
    require((*dy_)[0] == p_.batch, "dy has batch " + std::to_string((*dy_)[0]) + ", x has " + std::to_string(p_.batch));
    require((*dy_)[1] == p_.cout, "dy has " + std::to_string((*dy_)[1]) + " channels, w of shape (" + listText(w_) +
                                      ") with groups = " + std::to_string(p_.groups) + " makes " +
                                      std::to_string(p_.cout));
  }

  const Shape &x_, &w_;
  const std::optional<Shape>& dy_;
  const ConvolutionArguments& arguments_;
  std::size_t first_ = 0;
  Dhw outputPadding_{0, 0, 0};
  Problem p_;
  std::string broken_;
};

}  // namespace

std::string listText(const Shape& values) {
  std::string text;
  for (const std::int64_t value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return text;
}

Problem problemOf(const Shape& x, const Shape& w, const std::optional<Shape>& dy,
                  const ConvolutionArguments& arguments) {
  return Reader(x, w, dy, arguments).read();
}

}  // namespace cubejit::python
