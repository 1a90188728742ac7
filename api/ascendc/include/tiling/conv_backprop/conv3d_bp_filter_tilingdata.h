// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the memory form of a filter gradient's tiling, in both documented namespaces: plain fields for kernels, get_ and set_
// for host code. Leaves filling it to Conv3dBpFilterTiling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace AscendC {
namespace tiling {

#pragma pack(push, 8)
struct Conv3DBpFilterParams {
  uint32_t totalL1Size = 0;
};

struct TConv3DBpFilterTiling {
#define CUBEJIT_TILING_FIELD(type, name) type name = 0;
#include "tiling/conv_backprop/conv3d_bp_filter_tiling_fields.def"
#undef CUBEJIT_TILING_FIELD
};

struct TConv3DBpFilterBasicBlockTiling {
  uint32_t singleCoreM = 0;
  uint32_t singleCoreN = 0;
  uint32_t singleCoreK = 0;
};

struct Conv3DBackpropFilterTilingData {
  Conv3DBpFilterParams params;
  TConv3DBpFilterTiling dwTiling;
  TConv3DBpFilterBasicBlockTiling basicBlockTiling;
};
#pragma pack(pop)
using TConv3DBackpropFilterTiling = TConv3DBpFilterTiling;

static_assert(sizeof(TConv3DBpFilterTiling) == 216, "50 fields of 4 bytes, 2 of 8");
static_assert(offsetof(TConv3DBpFilterTiling, baseM) == 33 * 4, "the documented order");
static_assert(offsetof(TConv3DBpFilterTiling, singleCoreCin) == 208, "the documented order");
static_assert(sizeof(TConv3DBpFilterBasicBlockTiling) == 12, "three fields of 4 bytes");

}  // namespace tiling
}  // namespace AscendC

namespace optiling {

class Conv3DBpFilterParams {
 public:
  uint32_t get_totalL1Size() const { return plain_.totalL1Size; }
  void set_totalL1Size(uint32_t value) { plain_.totalL1Size = value; }
  const AscendC::tiling::Conv3DBpFilterParams& plain() const { return plain_; }
  AscendC::tiling::Conv3DBpFilterParams& plain() { return plain_; }

 private:
  AscendC::tiling::Conv3DBpFilterParams plain_;
};

class TConv3DBpFilterTiling {
 public:
#define CUBEJIT_TILING_FIELD(type, name)          \
  type get_##name() const { return plain_.name; } \
  void set_##name(type value) { plain_.name = value; }
#include "tiling/conv_backprop/conv3d_bp_filter_tiling_fields.def"
#undef CUBEJIT_TILING_FIELD
  const AscendC::tiling::TConv3DBpFilterTiling& plain() const { return plain_; }
  AscendC::tiling::TConv3DBpFilterTiling& plain() { return plain_; }

 private:
  AscendC::tiling::TConv3DBpFilterTiling plain_;
};
using TConv3DBackpropFilterTiling = TConv3DBpFilterTiling;

class TConv3DBpFilterBasicBlockTiling {
 public:
  uint32_t get_singleCoreM() const { return plain_.singleCoreM; }
  void set_singleCoreM(uint32_t value) { plain_.singleCoreM = value; }
  uint32_t get_singleCoreN() const { return plain_.singleCoreN; }
  void set_singleCoreN(uint32_t value) { plain_.singleCoreN = value; }
  uint32_t get_singleCoreK() const { return plain_.singleCoreK; }
  void set_singleCoreK(uint32_t value) { plain_.singleCoreK = value; }
  const AscendC::tiling::TConv3DBpFilterBasicBlockTiling& plain() const { return plain_; }
  AscendC::tiling::TConv3DBpFilterBasicBlockTiling& plain() { return plain_; }

 private:
  AscendC::tiling::TConv3DBpFilterBasicBlockTiling plain_;
};

class Conv3DBackpropFilterTilingData {
 public:
  Conv3DBpFilterParams params;
  TConv3DBpFilterTiling dwTiling;
  TConv3DBpFilterBasicBlockTiling basicBlockTiling;
  std::size_t GetDataSize() const { return sizeof(AscendC::tiling::Conv3DBackpropFilterTilingData); }
  /// Writes the plain form if `capacity` bytes hold it, else nothing.
  void SaveToBuffer(void* data, std::size_t capacity) const {
    if (data == nullptr || capacity < GetDataSize()) return;
    const AscendC::tiling::Conv3DBackpropFilterTilingData all{params.plain(), dwTiling.plain(),
                                                              basicBlockTiling.plain()};
    std::memcpy(data, &all, GetDataSize());
  }
};

}  // namespace optiling
