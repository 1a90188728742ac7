// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what oneDNN's operands hold when it is measured.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "bench/onednn_version.h"

namespace cubejit::bench {

inline dnnl::memory::data_type typeOf(const std::string& name) {
  using Type = dnnl::memory::data_type;
  return name == "bf16" ? Type::bf16 : name == "f16" ? Type::f16 : Type::f32;
}

/// Memory of this layout with values that are multiples of 1/8 in [-1, 1]: real, free of denormals; padded lanes zero.
inline dnnl::memory filled(const dnnl::memory::desc& desc, const dnnl::engine& engine, dnnl::stream& stream) {
  const dnnl::memory::dims dims = dimsOf(desc);
  dnnl::memory::dims strides(dims.size());
  std::int64_t elements = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = elements;
    elements *= dims[i];
  }
  dnnl::memory plain({dims, dnnl::memory::data_type::f32, strides}, engine);
  auto* data = static_cast<float*>(plain.get_data_handle());
  std::minstd_rand random(7);
  for (std::int64_t i = 0; i < elements; ++i) data[i] = static_cast<float>(static_cast<int>(random() % 17) - 8) / 8.0F;
  dnnl::memory result(desc, engine);
  dnnl::reorder(plain, result).execute(stream, plain, result);
  stream.wait();
  return result;
}

}  // namespace cubejit::bench
