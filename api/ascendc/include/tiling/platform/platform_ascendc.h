// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what platform_ascendc tells about an emulated chip; all numbers come from cubejit's table of machines. C++17.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "cubejit/machine.h"
#include "cubejit_ascendc/chip.h"
#include "cubejit_ascendc/last_error.h"

namespace fe {

/// Names the chip that a PlatformAscendC is about. (On a device the vendor's runtime fills a class of this name.)
class PlatFormInfos {
 public:
  PlatFormInfos() = default;
  explicit PlatFormInfos(cubejit::Machine machine) : machine(std::move(machine)) {}
  cubejit::Machine machine;
};

}  // namespace fe

namespace platform_ascendc {

enum class CoreMemType { L0_A = 0, L0_B = 1, L0_C = 2, L1 = 3, L2 = 4, UB = 5, HBM = 6, FB = 7, BT = 8, RESERVED };

enum class SocVersion {
  ASCEND910 = 0,
  ASCEND910B,
  ASCEND310P,
  ASCEND310B,
  ASCEND950,
  ASCEND910_95 = ASCEND950,
  ASCEND910_55,
  AS31XM1,
  ASCEND031,
  ASCEND035,
  ASCEND310,
  ASCEND610,
  ASCEND610Lite,
  ASCEND910_93,
  BS9SX1A,
  BS9SX2A,
  HI3796CV300CS,
  HI3796CV300ES,
  MC61AM21A,
  MC62,
  SD3403,
  KIRINX90,
  KIRIN9030,
  MC32DM11A,
  ASCEND350,
  RESERVED_VERSION = 99999
};

/// The SocVersion that groups a machine of the table; RESERVED_VERSION for machines of the caller's own.
inline SocVersion socVersionOf(const cubejit::Machine& m) {
  const auto named = [&](const char* front) { return m.name.rfind(front, 0) == 0; };
  switch (m.npu.architecture) {
    case 1001: return SocVersion::ASCEND910;
    case 2002: return SocVersion::ASCEND310P;
    case 3002: return SocVersion::ASCEND310B;
    case 2201: return named("ascend910_93") ? SocVersion::ASCEND910_93 : SocVersion::ASCEND910B;
    case 3510: return named("ascend350") ? SocVersion::ASCEND350 : SocVersion::ASCEND950;
    default: return named("ascend310") ? SocVersion::ASCEND310 : SocVersion::RESERVED_VERSION;
  }
}

class PlatformAscendC {
 public:
  PlatformAscendC() = delete;
  /// `platform` must outlive this.
  explicit PlatformAscendC(fe::PlatFormInfos* platform) : platform_(platform) {}

  /// Cores with a cube, and vector cores: separate ones, or as many as there are cores.
  uint32_t GetCoreNum() const { return static_cast<uint32_t>(machine().cores); }
  uint32_t GetCoreNumAic() const { return GetCoreNum(); }
  uint32_t GetCoreNumAiv() const {
    return machine().npu.fixpipe && machine().npu.vectorCores > 0 ? static_cast<uint32_t>(machine().npu.vectorCores)
                                                                  : GetCoreNum();
  }
  /// Vector cores beside the AI cores of Atlas inference products; 0 elsewhere.
  uint32_t GetCoreNumVector() const {
    return machine().npu.fixpipe ? 0 : static_cast<uint32_t>(machine().npu.vectorCores);
  }
  /// Blocks to launch for `slices` slices when a group of cores is one cube core and its vector cores.
  uint32_t CalcTschNumBlocks(uint32_t slices, uint32_t aic, uint32_t aiv) const {
    if (aic == 0 || aiv == 0 || aic > aiv) return slices;
    const uint32_t ratio = aiv / aic;
    return (slices + ratio - 1) / ratio;
  }
  uint32_t CalcTschBlockDim(uint32_t slices, uint32_t aic, uint32_t aiv) const {
    return CalcTschNumBlocks(slices, aic, aiv);
  }
  /// The emulated chip's library needs no memory of its own.
  uint32_t GetLibApiWorkSpaceSize() const { return 0; }

  void GetCoreMemSize(const CoreMemType& memory, uint64_t& bytes) const {
    const cubejit::Buffers& b = machine().buffers;
    int64_t size = 0;
    switch (memory) {
      case CoreMemType::L0_A: size = b.l0aBytes; break;
      case CoreMemType::L0_B: size = b.l0bBytes; break;
      case CoreMemType::L0_C: size = b.l0cBytes; break;
      case CoreMemType::L1: size = b.l1Bytes; break;
      case CoreMemType::L2: size = b.l2Bytes; break;
      case CoreMemType::UB: size = b.ubBytes; break;
      case CoreMemType::HBM: size = machine().npu.memoryBytes; break;
      case CoreMemType::FB: size = b.fbBytes; break;
      case CoreMemType::BT: size = b.btBytes; break;
      case CoreMemType::RESERVED: break;
    }
    bytes = static_cast<uint64_t>(size);
  }

  /// Bytes a core cycle out of L2 or memory; 0 for other memories.
  void GetCoreMemBw(const CoreMemType& memory, uint64_t& bytesPerCycle) const {
    const cubejit::PathRates& r = machine().npu.paths;
    bytesPerCycle = static_cast<uint64_t>(memory == CoreMemType::L2    ? r.l2Read
                                          : memory == CoreMemType::HBM ? r.ddrRead
                                                                       : 0);
  }

  SocVersion GetSocVersion() const { return socVersionOf(machine()); }
  uint32_t GetCurNpuArch() const { return static_cast<uint32_t>(machine().npu.architecture); }

  const cubejit::Machine& machine() const { return platform_->machine; }

 private:
  fe::PlatFormInfos* platform_;
};

/// Page "PlatformAscendCManager" of the Ascend C API.
class PlatformAscendCManager {
 public:
  /// The process' platform, never null: that of the first call that found a chip, whatever later calls name. Without a name it is the
  /// chip that CUBEJIT_SOC says, else an ascend910b2; on a device it would be the device's. A name that there is not, in the call or
  /// in CUBEJIT_SOC, gives a platform of no chip: cubejit_last_error() lists the nearest, sizes are 0, and tilings for it fail.
  static PlatformAscendC* GetInstance() { return GetInstance(nullptr); }
  static PlatformAscendC* GetInstance(const char* customSocVersion) {
    static std::mutex mutex;
    static fe::PlatFormInfos noChip;
    static PlatformAscendC unknown(&noChip);
    static std::unique_ptr<fe::PlatFormInfos> platform;
    static std::unique_ptr<PlatformAscendC> instance;
    const std::lock_guard<std::mutex> lock(mutex);
    if (instance != nullptr) return instance.get();
    auto machine = cubejit::ascendc::chipOf(customSocVersion == nullptr ? "" : customSocVersion);
    if (!machine.ok()) {
      noChip.machine.cores = 0;
      cubejit::ascendc::setLastError(machine.error().message);
      return &unknown;
    }
    platform = std::make_unique<fe::PlatFormInfos>(*machine);
    instance = std::make_unique<PlatformAscendC>(platform.get());
    return instance.get();
  }
};

}  // namespace platform_ascendc
