// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that kernels with tiles leave a thread's tile configuration as they found it: kernels release theirs, and another library's may
// have been there before. What its tiles held is lost, as with any call (they are volatile by the System V ABI).
#pragma once

namespace cubejit {

/// While it lives, kernels of this thread may configure tiles. `uses`: they do. Precondition: then tile instructions run here.
class KeptTiles {
 public:
  explicit KeptTiles(bool uses) : uses_(uses) {
#if defined(__x86_64__)
    if (uses_) __asm__ volatile(".byte 0xc4, 0xe2, 0x79, 0x49, 0x07" : : "D"(config_) : "memory");  // sttilecfg [rdi]
#endif
  }
  ~KeptTiles() {
#if defined(__x86_64__)
    if (uses_ && config_[0] != 0)
      __asm__ volatile(".byte 0xc4, 0xe2, 0x78, 0x49, 0x07" : : "D"(config_) : "memory");  // ldtilecfg [rdi]
#endif
  }
  KeptTiles(const KeptTiles&) = delete;
  KeptTiles& operator=(const KeptTiles&) = delete;

 private:
  const bool uses_;
  alignas(64) unsigned char config_[64] = {};
};

}  // namespace cubejit
