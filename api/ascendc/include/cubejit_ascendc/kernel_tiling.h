// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a kernel gets at its tiling: a copy of what its last parameter points to. Pages "GET_TILING_DATA",
// "GET_TILING_DATA_PTR_WITH_STRUCT" and, for REGISTER_TILING_DEFAULT, "REGISTER_TILING_FOR_TILINGKEY" of the Ascend C API;
// GET_TILING_DATA_WITH_STRUCT by analogy. C++17.
#pragma once

#include <cstring>
#include <type_traits>

#include "cubejit_ascendc/core.h"
#include "cubejit_ascendc/qualifiers.h"

/// What REGISTER_TILING_DEFAULT names in the scopes that have it; elsewhere, this.
struct CubejitRegisteredTiling {};

namespace cubejit::ascendc {

/// Copies one out of `memory`. False, and a report, where the memory that the launcher was told of does not hold it.
template <class Tiling>
bool readTiling(const void* memory, Tiling& tiling) {
  static_assert(!std::is_same_v<Tiling, CubejitRegisteredTiling>,
                "GET_TILING_DATA: no struct is registered here. Put REGISTER_TILING_DEFAULT(its struct) before it in "
                "the kernel, or write GET_TILING_DATA_WITH_STRUCT(its struct, name, pointer)");
  static_assert(std::is_trivially_copyable_v<Tiling>, "a tiling struct is copied byte by byte");
  const GlobalRange range{const_cast<void*>(memory), memory, 0};
  if (!mayTouch(range, 0, sizeof(Tiling), "GET_TILING_DATA")) return false;
  std::memcpy(&tiling, memory, sizeof(Tiling));
  return true;
}

}  // namespace cubejit::ascendc

/// Names the struct that GET_TILING_DATA copies, for the rest of the scope: AscendC::tiling::Conv3DBackpropInputTilingData, ...
#define REGISTER_TILING_DEFAULT(tiling_struct) using CubejitRegisteredTiling [[maybe_unused]] = tiling_struct
/// Defines `tiling_data`, a copy of what `tiling_arg` points to. Where there is none that is reported, and the block returns.
#define GET_TILING_DATA(tiling_data, tiling_arg) \
  GET_TILING_DATA_WITH_STRUCT(CubejitRegisteredTiling, tiling_data, tiling_arg)
#define GET_TILING_DATA_WITH_STRUCT(tiling_struct, tiling_data, tiling_arg) \
  tiling_struct tiling_data{};                                              \
  if (!::cubejit::ascendc::readTiling(tiling_arg, tiling_data)) return
/// The same, and `dst_ptr`, a pointer to the copy, which lives as long as the scope.
#define GET_TILING_DATA_PTR_WITH_STRUCT(tiling_struct, dst_ptr, tiling_ptr)     \
  GET_TILING_DATA_WITH_STRUCT(tiling_struct, dst_ptr##CubejitCopy, tiling_ptr); \
  const auto* const dst_ptr = &dst_ptr##CubejitCopy
/// A launch has no tiling key.
#define REGISTER_TILING_FOR_TILINGKEY(expression, tiling_struct) \
  static_assert(false,                                           \
                "REGISTER_TILING_FOR_TILINGKEY: a launch has no tiling key; choose with GET_TILING_DATA_WITH_STRUCT")
