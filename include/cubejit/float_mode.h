// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the floating-point environment of a call: denormals are flushed as the calling thread has it (FTZ and DAZ of MXCSR on x86-64, FZ
// and FZ16 of FPCR on AArch64), rounding is to nearest even and no exception traps, whatever the caller's says. It holds in all threads
// that work for the call; each has its own environment back afterwards, flags included.
#pragma once

#include <cstdint>

namespace cubejit {

/// The floating-point environment of a call, as the calling thread has it; copied to the threads that work for it.
class FloatMode {
 public:
  static FloatMode ofThisThread() { return FloatMode(read()); }

 private:
  friend class FloatScope;
#if defined(__x86_64__)
  // FTZ and DAZ; all exceptions masked, to nearest; what exceptions left.
  static constexpr std::uint32_t kFlushes = 0x8040, kOthers = 0x1f80, kFlags = 0x3f;
  using Word = std::uint32_t;
  // Opaque to the compiler, which would move arithmetic across what it knows nothing of.
  static Word read() {
    Word word = 0;
    asm volatile("stmxcsr %0" : "=m"(word) : : "memory");
    return word;
  }
  static void write(Word word) { asm volatile("ldmxcsr %0" : : "m"(word) : "memory"); }
#else  // AArch64
  // FZ and FZ16; flags are in FPSR.
  static constexpr std::uint64_t kFlushes = (1U << 24) | (1U << 19), kOthers = 0, kFlags = 0;
  using Word = std::uint64_t;
  static Word read() {
    Word word = 0;
    asm volatile("mrs %0, fpcr" : "=r"(word) : : "memory");
    return word;
  }
  static void write(Word word) { asm volatile("msr fpcr, %0" : : "r"(word) : "memory"); }
#endif
  explicit FloatMode(Word word) : word_((word & kFlushes) | kOthers) {}
  Word word_;
};

/// The calling thread has the call's environment until the end of the scope. Costs two reads of the register, and writes where it differs.
class FloatScope {
 public:
  /// The environment of a call that this thread makes.
  FloatScope() : FloatScope(FloatMode::read()) {}
  /// The environment of a call that another thread makes.
  explicit FloatScope(FloatMode mode) : FloatScope(FloatMode::read(), mode) {}
  ~FloatScope() {
    if (FloatMode::read() != before_) FloatMode::write(before_);
  }
  FloatScope(const FloatScope&) = delete;
  FloatScope& operator=(const FloatScope&) = delete;

 private:
  explicit FloatScope(FloatMode::Word before) : FloatScope(before, FloatMode(before)) {}
  FloatScope(FloatMode::Word before, FloatMode mode) : before_(before) {
    const FloatMode::Word wanted = mode.word_ | (before & FloatMode::kFlags);
    if (wanted != before) FloatMode::write(wanted);
  }
  const FloatMode::Word before_;
};

}  // namespace cubejit
