// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the calling convention of generated kernels, so that they can be called by hand: one pointer to KernelArgs, no return value
// (x86-64: System V, the pointer in rdi; aarch64: AAPCS64, in x0). Leaves what a kernel computes to its own vector program.
//
// A kernel keeps nothing between calls and allocates nothing; it writes only where its arguments lead, and may be called from any
// number of threads at once, as long as what they write does not overlap. It reads KernelArgs and the list, and changes neither.
// The code lives as long as the Executable it is from.
//
// x86-64: rbx, rbp, r12-r15 and MXCSR are preserved; all vector and mask registers may be clobbered; it ends with vzeroupper.
// Rounding and denormals are as the caller set them: rounded otherwise than to nearest, results are not those of a run (float_mode.h).
// Nothing checks whether the CPU has the ISA that the kernel was generated for, Executable::isa().
//
// There are two sorts of kernels:
//   contracts  multiply and add: C (+)= sums over A and B along a list of segments;
//   moves      copy, transpose, convert, add up or fill: from A to C. They read neither b, list, bRepeat nor accumulate.
// Either may end with post-ops of forward: they read biases through d, and z so many bytes from c as `residual` says.
// How far a kernel reaches from a, b and c, its strides, is fixed when it is generated: they are those of the tensors and buffers
// of its program. KernelView::call shows a call as a run makes it: buffers, offsets and list that may be passed as they are.
//
// The list of a contract, in words of 8 bytes: one count for each of its sections, then the segments of section 0, those of
// section 1, ... A segment is three words:
//   aOffset, bOffset  bytes, added to a and b where the segment begins
//   outer             how often the section's steps are repeated, each time so many bytes further on as the kernel was generated
//                     with; at least 1
// A segment stands for a kernel tap, a run of channels or a run of pixels. The sum begins with the first segment and takes them in
// order, which fixes its last bits. A count may be 0; without any segment the sum is 0.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cubejit {

/// What a kernel is called with: twelve words of 8 bytes. Start from KernelArgs{} and set what the kernel uses.
///
/// Alignment: a, b, c and d to an element of what lies there (f32: 4 bytes, 16-bit types: 2). A vector is faster.
/// c and cRepeat must be multiples of KernelView::resultAlignment. The list: 8 bytes.
/// None may be null if the kernel uses it, with one exception: a pointer that a list without segments leaves alone.
/// c must not overlap a, b or d; a and b may overlap.
struct KernelArgs {
  const void* a = nullptr;             ///< contracts: scalars that are broadcast, or vectors; moves: the source
  const void* b = nullptr;             ///< contracts: vectors
  void* c = nullptr;                   ///< the result
  const std::int64_t* list = nullptr;  ///< contracts: counts per section, then segments, see above
  std::int64_t repeat = 1;             ///< how often the whole is done; at least 1
  std::int64_t aRepeat = 0;            ///< bytes added to a after each repetition; may be negative, as the next two
  std::int64_t bRepeat = 0;            ///< bytes added to b
  std::int64_t cRepeat = 0;            ///< bytes added to c
  std::int64_t accumulate = 0;  ///< contracts: 1 = start from what is in C (f32 results only), 0 = start from zero
  /// What an expression reads as d (biases, as f32, for instance); for contracts that make some, where copies of B's vectors go, one behind
  /// another; others: not used.
  void* d = nullptr;
  std::int64_t residual =
      0;  ///< bytes from where an element goes to where an expression reads e (a residual, for instance)
  std::int64_t dRepeat = 0;  ///< bytes added to d after each repetition, for contracts whose epilogue reads it
};

/// Names of the words, in order. A kernel finds word i at 8 * i bytes.
enum class ArgSlot : std::uint8_t {
  kA,
  kB,
  kC,
  kList,
  kRepeat,
  kARepeat,
  kBRepeat,
  kCRepeat,
  kAccumulate,
  kD,
  kResidual,
  kDRepeat
};
inline constexpr int kArgSlots = 12;
static_assert(sizeof(KernelArgs) == kArgSlots * 8);

/// KernelView::entry is one of these.
using KernelFunction = void (*)(const KernelArgs*);

}  // namespace cubejit
