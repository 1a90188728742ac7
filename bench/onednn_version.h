// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how oneDNN 2 and 3 are asked for the same primitive: 2 has a descriptor of the operation before the primitive's, 3 has not.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <tuple>

namespace cubejit::bench {

/// `operation` says what to compute, `hints` what follows it (the forward primitive a gradient belongs to).
template <class Primitive, class... Operation, class... Hints>
typename Primitive::primitive_desc primitiveOf(const dnnl::engine& engine, const std::tuple<Operation...>& operation,
                                               const Hints&... hints) {
  return std::apply(
      [&](const auto&... of) {
#if DNNL_VERSION_MAJOR >= 3
        return typename Primitive::primitive_desc(engine, of..., hints...);
#else
        return typename Primitive::primitive_desc(typename Primitive::desc(of...), engine, hints...);
#endif
      },
      operation);
}

inline dnnl::memory::dims dimsOf(const dnnl::memory::desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return desc.get_dims();
#else
  return desc.dims();
#endif
}

}  // namespace cubejit::bench
