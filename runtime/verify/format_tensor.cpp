// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing beyond index_map.h and float16.h: it visits every element.
#include "runtime/verify/format_tensor.h"

#include <algorithm>
#include <cstring>

#include "cubejit/float16.h"
#include "cubejit/index_map.h"

namespace cubejit {
namespace {

// Calls visit(offset in elements) for every element in plain order.
template <class Visit>
void forEachElement(const Problem& p, TensorId t, Visit visit) {
  const IndexMap map = indexMap(p, t);
  const auto& e = map.extent;
  const std::int64_t inner = e[1] / map.groups, outer = std::max<std::int64_t>(1, e[0] / map.groups);
  for (std::int64_t a = 0; a < e[0]; ++a) {
    for (std::int64_t i = 0; i < inner; ++i) {
      const std::int64_t c = map.groups > 1 ? a / outer * inner + i : i;
      for (std::int64_t d = 0; d < e[2]; ++d) {
        for (std::int64_t h = 0; h < e[3]; ++h) {
          for (std::int64_t w = 0; w < e[4]; ++w) visit(map.at({a, c, d, h, w}));
        }
      }
    }
  }
}

void store(DType type, char* at, float value) {
  if (byteSize(type) == 4) {
    std::memcpy(at, &value, 4);
    return;
  }
  const std::uint16_t bits = type == DType::kF16 ? floatToF16(value) : floatToBf16(value);
  std::memcpy(at, &bits, 2);
}

float load(DType type, const char* at) {
  float value = 0;
  if (byteSize(type) == 4) {
    std::memcpy(&value, at, 4);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, 2);
  return type == DType::kF16 ? f16ToFloat(bits) : bf16ToFloat(bits);
}

}  // namespace

float roundedTo(DType type, float value) {
  switch (type) {
    case DType::kF32: return value;
    case DType::kF16: return f16ToFloat(floatToF16(value));
    case DType::kBf16: return bf16ToFloat(floatToBf16(value));
    case DType::kHf32: return toHf32(value, 11);
    case DType::kHf32Low: return toHf32(value, 10);
    case DType::kI8:
    case DType::kI32: break;  // of no convolution
  }
  return value;
}

Problem plainProblem(const Problem& problem) {
  Problem p = problem;
  p.dtype = DType::kF32;
  p.layout = Layout::kNcdhw;
  p.formats = {};
  return p;
}

std::int64_t plainElements(const Problem& p, TensorId t) {
  switch (t) {
    case TensorId::kDy:
    case TensorId::kZ:
    case TensorId::kY: return yElements(p);
    case TensorId::kX:
    case TensorId::kDx: return xElements(p);
    case TensorId::kB:
    case TensorId::kDb: return p.cout;
    default: return wElements(p);
  }
}

void encodeTensor(const Problem& p, TensorId t, const std::vector<float>& plain, char* memory, char unused) {
  const DType type = formatOf(p, t).dtype;
  const std::int64_t size = byteSize(type);
  std::fill_n(memory, formatBytes(p, t), unused);
  std::size_t next = 0;
  forEachElement(p, t, [&](std::int64_t offset) { store(type, memory + offset * size, plain[next++]); });
}

DecodedTensor decodeTensor(const Problem& p, TensorId t, const char* memory) {
  const DType type = formatOf(p, t).dtype;
  const std::int64_t size = byteSize(type);
  DecodedTensor out;
  out.plain.reserve(static_cast<std::size_t>(plainElements(p, t)));
  std::vector<char> stands(static_cast<std::size_t>(formatBytes(p, t) / size), 0);
  forEachElement(p, t, [&](std::int64_t offset) {
    out.plain.push_back(load(type, memory + offset * size));
    stands[static_cast<std::size_t>(offset)] = 1;
  });
  for (std::size_t i = 0; i < stands.size() && out.dirtyPadding < 0; ++i) {
    const char zero[4] = {};
    if (stands[i] == 0 &&
        std::memcmp(memory + static_cast<std::int64_t>(i) * size, zero, static_cast<std::size_t>(size)) != 0)
      out.dirtyPadding = static_cast<std::int64_t>(i);
  }
  return out;
}

}  // namespace cubejit
