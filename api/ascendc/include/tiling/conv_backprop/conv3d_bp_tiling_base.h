// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what both tiling classes share: which platform they plan for, and how a request is kept until GetTiling. C++17.
#pragma once

#include <cstdint>

#include "cubejit/machines.h"
#include "cubejit_ascendc/tiling_request.h"
#include "tiling/platform/platform_ascendc.h"

namespace ConvBackpropApi {

/// A platform in numbers. Sizes that are 0 are those of the chip that `socVersion` stands for.
struct PlatformInfo {
  platform_ascendc::SocVersion socVersion = platform_ascendc::SocVersion::RESERVED_VERSION;
  uint64_t l1Size = 0;
  uint64_t l0CSize = 0;
  uint64_t ubSize = 0;
  uint64_t l0ASize = 0;
  uint64_t l0BSize = 0;
  uint64_t btSize = 0;
  uint64_t fbSize = 0;
};

/// A tiling under construction. Not thread-safe; objects are independent of each other.
class Conv3DBpTilingBase {
 public:
  using TPosition = ConvCommonApi::TPosition;
  using ConvFormat = ConvCommonApi::ConvFormat;
  using ConvDtype = ConvCommonApi::ConvDtype;

  void SetWeightType(TPosition pos, ConvFormat format, ConvDtype dtype) { request_.weight = {pos, format, dtype}; }
  void SetInputType(TPosition pos, ConvFormat format, ConvDtype dtype) { request_.input = {pos, format, dtype}; }
  void SetGradOutputType(TPosition pos, ConvFormat format, ConvDtype dtype) {
    request_.gradOutput = {pos, format, dtype};
  }
  void SetPadding(int64_t padFront, int64_t padBack, int64_t padUp, int64_t padDown, int64_t padLeft,
                  int64_t padRight) {
    request_.pads = {padFront, padBack, padUp, padDown, padLeft, padRight};
  }
  void SetStride(int64_t strideD, int64_t strideH, int64_t strideW) { request_.stride = {strideD, strideH, strideW}; }
  void SetDilation(int64_t dilationD, int64_t dilationH, int64_t dilationW) {
    request_.dilation = {dilationD, dilationH, dilationW};
  }
  /// Beyond the documented interface: the vendor keeps these two to itself. Channels of shapes are those of all groups.
  void SetGroup(int64_t groups) { request_.groups = groups; }
  void SetHF32(bool hf32) { request_.hf32 = hf32; }
  /// Beyond the documented interface: whether tilings keep to the conventions of the vendor's own (CubeKernels::kVendor in npu.h says
  /// which), for kernels of a real chip.
  void SetForChip(bool forChip) { request_.forChip = forChip; }

 protected:
  /// An ascend910b2 with the documented sizes; another chip if CUBEJIT_SOC names one. If that is none, GetTiling says so.
  Conv3DBpTilingBase() {
    fe::PlatFormInfos chip;
    if (auto machine = cubejit::ascendc::chipOf(""); machine.ok()) chip.machine = *machine;
    if (chip.machine.name == "ascend910b2")
      take({platform_ascendc::SocVersion::ASCEND910B, 524288, 131072, 262144, 65536, 65536, 1024, 2048});
    else
      take(platform_ascendc::PlatformAscendC(&chip));
  }
  explicit Conv3DBpTilingBase(const platform_ascendc::PlatformAscendC& platform) { take(platform); }
  explicit Conv3DBpTilingBase(const PlatformInfo& info) { take(info); }
  ~Conv3DBpTilingBase() = default;
  Conv3DBpTilingBase(const Conv3DBpTilingBase&) = default;
  Conv3DBpTilingBase& operator=(const Conv3DBpTilingBase&) = default;

  PlatformInfo platformInfo;
  cubejit::ascendc::TilingRequest request_;

 private:
  void take(const platform_ascendc::PlatformAscendC& platform) {
    using platform_ascendc::CoreMemType;
    PlatformInfo sizes;
    sizes.socVersion = platform.GetSocVersion();
    platform.GetCoreMemSize(CoreMemType::L1, sizes.l1Size);
    platform.GetCoreMemSize(CoreMemType::L0_C, sizes.l0CSize);
    platform.GetCoreMemSize(CoreMemType::UB, sizes.ubSize);
    platform.GetCoreMemSize(CoreMemType::L0_A, sizes.l0ASize);
    platform.GetCoreMemSize(CoreMemType::L0_B, sizes.l0BSize);
    take(sizes);
    request_.machine = platform.machine();
  }
  // A SocVersion's chip is its family's; sizes given replace its own.
  void take(PlatformInfo info) {
    info.btSize = 1024;
    info.fbSize = 2048;
    platformInfo = info;
    const char* chip = "910b";
    switch (info.socVersion) {
      case platform_ascendc::SocVersion::ASCEND910: chip = "910"; break;
      case platform_ascendc::SocVersion::ASCEND310P: chip = "310p"; break;
      case platform_ascendc::SocVersion::ASCEND310B: chip = "310b"; break;
      case platform_ascendc::SocVersion::ASCEND310: chip = "310"; break;
      case platform_ascendc::SocVersion::ASCEND910_93: chip = "910_93"; break;
      case platform_ascendc::SocVersion::ASCEND950: chip = "950"; break;
      case platform_ascendc::SocVersion::ASCEND350: chip = "350"; break;
      default: break;
    }
    auto machine = cubejit::machineByName(chip);
    if (machine.ok()) request_.machine = *machine;
    cubejit::Buffers& b = request_.machine.buffers;
    const auto replace = [](int64_t& size, uint64_t given) {
      if (given > 0) size = given > INT64_MAX ? INT64_MAX : static_cast<int64_t>(given);
    };
    replace(b.l1Bytes, info.l1Size);
    replace(b.l0cBytes, info.l0CSize);
    replace(b.ubBytes, info.ubSize);
    replace(b.l0aBytes, info.l0ASize);
    replace(b.l0bBytes, info.l0BSize);
  }
};

}  // namespace ConvBackpropApi
