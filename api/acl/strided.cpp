// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the loops of strided copies: the axis with the smallest stride is innermost.
#include "api/acl/strided.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "cubejit/float16.h"

namespace cubejit::acl {
namespace {

using Five = std::array<std::int64_t, 5>;

Five plainStrides(const Five& extents) {
  Five strides{};
  std::int64_t step = 1;
  for (int a = 4; a >= 0; --a) {
    strides[static_cast<std::size_t>(a)] = step;
    step *= extents[static_cast<std::size_t>(a)];
  }
  return strides;
}

// Axes from the largest stride to the smallest.
std::array<std::size_t, 5> bySize(const View& view) {
  std::array<std::size_t, 5> order{0, 1, 2, 3, 4};
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return view.strides[a] > view.strides[b]; });
  return order;
}

// Calls row(sourceOffset, targetOffset, axis) for every row along the innermost axis.
template <class Row>
void forRows(const View& view, const Five& source, Row&& row) {
  if (view.elements() == 0) return;
  const std::array<std::size_t, 5> order = bySize(view);
  Five at{};
  std::int64_t from = 0, to = 0;
  for (;;) {
    row(from, to, order[4]);
    int level = 3;
    for (; level >= 0; --level) {
      const std::size_t axis = order[static_cast<std::size_t>(level)];
      from += source[axis], to += view.strides[axis];
      if (++at[axis] < view.extents[axis]) break;
      from -= source[axis] * view.extents[axis], to -= view.strides[axis] * view.extents[axis];
      at[axis] = 0;
    }
    if (level < 0) return;
  }
}

// Calls element(denseIndex, viewIndex) for each.
template <class Element>
void forElements(const View& view, Element&& element) {
  const Five dense = plainStrides(view.extents);
  forRows(view, dense, [&](std::int64_t from, std::int64_t to, std::size_t axis) {
    for (std::int64_t i = 0; i < view.extents[axis]; ++i) element(from + i * dense[axis], to + i * view.strides[axis]);
  });
}

template <class Element>
void scatterAs(const View& view, const char* dense, char* target) {
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(Element));
  forElements(view, [&](std::int64_t from, std::int64_t to) {
    std::memcpy(target + to * kBytes, dense + from * kBytes, sizeof(Element));
  });
}

float load(const View& view, const char* element) {
  if (view.eightBit != EightBit::kNone)
    return f16ToFloat(eightBitToF16(view.eightBit, static_cast<std::uint8_t>(*element)));
  float value = 0;
  std::uint16_t half = 0;
  std::memcpy(byteSize(view.dtype) == 2 ? static_cast<void*>(&half) : &value, element,
              static_cast<std::size_t>(byteSize(view.dtype)));
  return view.dtype == DType::kF16 ? f16ToFloat(half) : view.dtype == DType::kBf16 ? bf16ToFloat(half) : value;
}

// Rounds to the view's type.
void store(const View& view, float value, char* element) {
  const std::uint16_t half = view.dtype == DType::kF16 ? floatToF16(value) : floatToBf16(value);
  if (view.eightBit != EightBit::kNone)
    *element = static_cast<char>(floatToEightBit(view.eightBit, value));
  else if (byteSize(view.dtype) == 2)
    std::memcpy(element, &half, sizeof(half));
  else
    std::memcpy(element, &value, sizeof(value));
}

}  // namespace

std::int64_t View::span() const {
  if (elements() == 0) return 0;
  std::int64_t last = 0;
  for (std::size_t a = 0; a < 5; ++a) last += (extents[a] - 1) * strides[a];
  return last + 1;
}

bool View::denseAs(const std::array<int, 5>& order) const {
  std::int64_t step = 1;
  for (std::size_t i = 5; i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[i]);
    if (extents[axis] != 1 && strides[axis] != step) return false;
    step *= extents[axis];
  }
  return true;
}

bool View::injective() const {
  std::int64_t reach = 0;
  const std::array<std::size_t, 5> order = bySize(*this);
  for (std::size_t i = 5; i-- > 0;) {
    const std::size_t axis = order[i];
    if (extents[axis] <= 1) continue;
    if (strides[axis] <= reach) return false;
    reach += (extents[axis] - 1) * strides[axis];
  }
  return true;
}

TensorFormat formatOf(const View& view) {
  TensorFormat format{view.dtype, Layout::kNcdhw, {}, 0};
  if (view.denseAs({0, 1, 2, 3, 4})) return format;
  if (view.denseAs({0, 2, 3, 4, 1})) {
    format.layout = Layout::kNdhwc;
  } else {
    format.strides = view.strides;
    format.broadcast = view.strides == Five{};
  }
  return format;
}

void widen(const View& view, const char* source, char* dense) {
  std::array<std::uint16_t, 256> halves{};
  for (std::size_t code = 0; code < halves.size(); ++code)
    halves[code] = eightBitToF16(view.eightBit, static_cast<std::uint8_t>(code));
  forElements(view, [&](std::int64_t to, std::int64_t from) {
    std::memcpy(dense + to * 2, &halves[static_cast<unsigned char>(source[from])], 2);
  });
}

void scatter(const View& view, const char* dense, char* target) {
  if (byteSize(view.dtype) == 2)
    scatterAs<std::uint16_t>(view, dense, target);
  else
    scatterAs<float>(view, dense, target);
}

void scatterRounded(const View& view, const char* dense, const View& biasView, const char* bias, char* target) {
  const std::int64_t volume = view.extents[2] * view.extents[3] * view.extents[4], channels = view.extents[1];
  std::vector<float> added(static_cast<std::size_t>(channels), 0.0F);
  for (std::int64_t c = 0; c < channels && bias != nullptr; ++c)
    added[static_cast<std::size_t>(c)] = load(biasView, bias + c * biasView.strides[1] * biasView.elementBytes());
  forElements(view, [&](std::int64_t from, std::int64_t to) {
    float value = 0;
    std::memcpy(&value, dense + from * 4, 4);
    if (bias != nullptr) value += added[static_cast<std::size_t>(from / volume % channels)];
    store(view, value, target + to * view.elementBytes());
  });
}

void fill(const View& view, float value, char* target) {
  forElements(view, [&](std::int64_t, std::int64_t to) { store(view, value, target + to * view.elementBytes()); });
}

}  // namespace cubejit::acl
