// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the memory form of an input gradient's tiling, in both documented namespaces: plain fields for kernels, get_ and set_
// for host code. Leaves filling it to Conv3DBpInputTiling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace AscendC {
namespace tiling {

#pragma pack(push, 8)
struct TConv3DBackpropInputTiling {
#define CUBEJIT_TILING_FIELD(type, name) type name = 0;
#include "tiling/conv_backprop/conv3d_bp_input_tiling_fields.def"
#undef CUBEJIT_TILING_FIELD
};

struct Conv3DBackpropInputTilingData {
  TConv3DBackpropInputTiling conv3DDxTiling;
};
#pragma pack(pop)
using TConv3DBpInputTiling = TConv3DBackpropInputTiling;

static_assert(sizeof(TConv3DBackpropInputTiling) == 280, "63 fields of 4 bytes, 4 of padding, 3 of 8");
static_assert(offsetof(TConv3DBackpropInputTiling, baseM) == 47 * 4, "the documented order");
static_assert(offsetof(TConv3DBackpropInputTiling, singleCoreBatch) == 256, "the documented order");

}  // namespace tiling
}  // namespace AscendC

namespace optiling {

class TConv3DBackpropInputTiling {
 public:
#define CUBEJIT_TILING_FIELD(type, name)          \
  type get_##name() const { return plain_.name; } \
  void set_##name(type value) { plain_.name = value; }
#include "tiling/conv_backprop/conv3d_bp_input_tiling_fields.def"
#undef CUBEJIT_TILING_FIELD
  const AscendC::tiling::TConv3DBackpropInputTiling& plain() const { return plain_; }
  AscendC::tiling::TConv3DBackpropInputTiling& plain() { return plain_; }

 private:
  AscendC::tiling::TConv3DBackpropInputTiling plain_;
};
using TConv3DBpInputTiling = TConv3DBackpropInputTiling;

class Conv3DBackpropInputTilingData {
 public:
  TConv3DBackpropInputTiling conv3DDxTiling;
  std::size_t GetDataSize() const { return sizeof(AscendC::tiling::Conv3DBackpropInputTilingData); }
  /// Writes the plain form if `capacity` bytes hold it, else nothing.
  void SaveToBuffer(void* data, std::size_t capacity) const {
    if (data == nullptr || capacity < GetDataSize()) return;
    const AscendC::tiling::TConv3DBackpropInputTiling& plain = conv3DDxTiling.plain();
    std::memset(data, 0, GetDataSize());  // padding, too
#define CUBEJIT_TILING_FIELD(type, name)                                                                           \
  std::memcpy(static_cast<char*>(data) + offsetof(AscendC::tiling::TConv3DBackpropInputTiling, name), &plain.name, \
              sizeof(plain.name));
#include "tiling/conv_backprop/conv3d_bp_input_tiling_fields.def"
#undef CUBEJIT_TILING_FIELD
  }
};

}  // namespace optiling
