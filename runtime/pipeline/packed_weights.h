// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a run recognises packed weights. Leaves what is packed to codegen/tile/prepack.h.
#pragma once

#include <cstdint>
#include <string>

#include "cubejit/cubejit.hpp"

namespace cubejit {

struct CompiledPass;

/// Equal for executables that may share packed weights; never 0 unless no pass reads weights.
std::uint64_t packedTagOf(const Executable::State& state);

/// The rule that memory given as Tensors::packedW breaks; empty = none.
std::string brokenPackedRules(const Executable& executable, const void* packed);

/// The buffers of one of the parts that read weights, null if it reads none.
const void* packedBuffers(const Executable::State& state, const CompiledPass& part, const void* packed);

}  // namespace cubejit
