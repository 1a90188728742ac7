// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how strides of 3 to 5 axes are read: dense orders by comparison, where axes of one element do not count.
#include "python/core/memory_format.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "python/core/convolution.h"
#include "python/core/failure.h"

namespace cubejit::python {
namespace {

using Order = std::vector<std::size_t>;

Order plainOrder(std::size_t axes) {
  Order order(axes);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

Order channelsLastOrder(std::size_t axes) {
  Order order{0};
  for (std::size_t a = 2; a < axes; ++a) order.push_back(a);
  order.push_back(1);
  return order;
}

std::vector<std::int64_t> stridesIn(const Order& outermostFirst, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  std::uint64_t stride = 1;  // wraps for shapes of broadcast views that no memory could hold; the library refuses those
  for (std::size_t i = outermostFirst.size(); i-- > 0;) {
    strides[outermostFirst[i]] = static_cast<std::int64_t>(stride);
    stride *= static_cast<std::uint64_t>(std::max<std::int64_t>(1, shape[outermostFirst[i]]));
  }
  return strides;
}

bool denseIn(const Order& order, const TensorView& view) {
  const std::vector<std::int64_t> dense = stridesIn(order, view.shape);
  if (view.elements() == 0) return true;
  for (std::size_t a = 0; a < view.shape.size(); ++a) {
    if (view.shape[a] != 1 && view.strides[a] != dense[a]) return false;
  }
  return true;
}

void copyInto(std::byte* to, const std::byte* from, const TensorView& view, std::size_t axis, std::size_t elementBytes,
              std::int64_t inner) {
  if (axis == view.shape.size()) {
    std::memcpy(to, from, elementBytes);
    return;
  }
  inner /= std::max<std::int64_t>(1, view.shape[axis]);
  for (std::int64_t i = 0; i < view.shape[axis]; ++i) {
    copyInto(to + static_cast<std::size_t>(i * inner) * elementBytes,
             from + i * view.strides[axis] * static_cast<std::int64_t>(elementBytes), view, axis + 1, elementBytes,
             inner);
  }
}

}  // namespace

Density densityOf(const TensorView& view) {
  if (denseIn(plainOrder(view.shape.size()), view)) return Density::kPlain;
  return denseIn(channelsLastOrder(view.shape.size()), view) ? Density::kChannelsLast : Density::kNone;
}

bool liesIn(const TensorView& view, Layout layout) {
  const std::size_t axes = view.shape.size();
  return denseIn(layout == Layout::kNdhwc ? channelsLastOrder(axes) : plainOrder(axes), view);
}

std::shared_ptr<std::byte> denseCopy(const TensorView& view) {
  if (denseIn(plainOrder(view.shape.size()), view)) return {view.owner, view.data};
  const auto elementBytes = static_cast<std::size_t>(byteSize(view.dtype));
  auto copy = allocate(static_cast<std::size_t>(view.elements()) * elementBytes);
  copyInto(copy.get(), view.data, view, 0, elementBytes, view.elements());
  return copy;
}

Operand operandOf(const TensorView& view, DType dtype) {
  Operand operand{view.data, {dtype, Layout::kNcdhw, {}}, nullptr};
  const Density density = densityOf(view);
  if (density == Density::kPlain) return operand;
  if (density == Density::kChannelsLast) {
    operand.format.layout = Layout::kNdhwc;
    return operand;
  }
  std::array<std::int64_t, 5> strides{};  // axes the problem has and the array lacks have one element
  const std::size_t axes = view.shape.size();
  for (std::size_t a = 0; a < axes; ++a) strides[a < 2 ? a : 5 - axes + a] = view.shape[a] == 1 ? 0 : view.strides[a];
  if (*std::min_element(strides.begin(), strides.end()) >= 0) {
    operand.format.strides = strides;
    operand.format.broadcast = strides == decltype(strides){};
  } else if (view.data == nullptr) {
    throw Failure(
        Error{ErrorCode::kUnsupported, Stage::kProblem,
              view.name + " has strides (" + listText(view.strides) + "): negative ones are taken by copies only"});
  } else {
    operand.copy = denseCopy(view);
    operand.data = operand.copy.get();
  }
  return operand;
}

Array resultLike(const TensorView& like, Layout layout) {
  const Order order = layout == Layout::kNdhwc ? channelsLastOrder(like.shape.size()) : plainOrder(like.shape.size());
  Array array{nullptr, like.dtype, like.shape, stridesIn(order, like.shape)};
  array.memory = allocate(static_cast<std::size_t>(like.elements() * byteSize(like.dtype)));
  return array;
}

}  // namespace cubejit::python
