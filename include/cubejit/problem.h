// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what can be asked for: one pass of one convolution. Says nothing about how it is computed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cubejit/dtype.h"
#include "cubejit/layout.h"
#include "cubejit/post_ops.h"

namespace cubejit {

/// Which pass of a convolution, by its result. Backward data gives dx, backward weights dw, the bias' gradient is db; forward gives y.
enum class Pass : std::uint8_t { kDx, kDw, kDb, kY };
constexpr const char* toString(Pass g) {
  return g == Pass::kDx ? "dx" : g == Pass::kDw ? "dw" : g == Pass::kDb ? "db" : "y";
}
/// In the order in which they are planned, told and run.
inline constexpr std::array<Pass, 4> kPasses{Pass::kY, Pass::kDx, Pass::kDw, Pass::kDb};

/// Which sums a pass may be computed by. Every plan is deterministic; this is about what it computes. Each mode allows what those before it do.
enum class MathMode : std::uint8_t {
  kStrict,   ///< the products of the definition, each once, added in f32
  kRelaxed,  ///< other products with the same sum in exact arithmetic are allowed too: Winograd's minimal filtering
  kBf16  ///< f32 operands of y, dx and dw may be rounded to bf16, once; sums stay f32: at most 2^-7 of each product is lost
};
constexpr MathMode kAllMathModes[] = {MathMode::kStrict, MathMode::kRelaxed, MathMode::kBf16};
constexpr const char* toString(MathMode m) {
  return m == MathMode::kStrict ? "strict" : m == MathMode::kRelaxed ? "relaxed" : "bf16";
}

/// Depth, height, width: extents, strides, dilations or paddings. 1D and 2D problems set d (and h) to 1 (paddings to 0).
struct Dhw {
  std::int64_t d = 1, h = 1, w = 1;
  std::int64_t operator[](int axis) const { return axis == 0 ? d : axis == 1 ? h : w; }
  std::int64_t& operator[](int axis) { return axis == 0 ? d : axis == 1 ? h : w; }
  std::int64_t volume() const { return d * h * w; }
  friend bool operator==(const Dhw& a, const Dhw& b) { return a.d == b.d && a.h == b.h && a.w == b.w; }
  friend bool operator!=(const Dhw& a, const Dhw& b) { return !(a == b); }
};

/// The tensors of a convolution and its gradients; b and z are those of post-ops.
enum class TensorId : std::uint8_t { kDy, kX, kW, kDx, kDw, kDb, kY, kB, kZ };
inline constexpr std::size_t kTensors = 9;
/// Those that have a format of their own; b and z have that of y.
inline constexpr std::array<TensorId, 7> kTensorIds{TensorId::kDy, TensorId::kX,  TensorId::kW, TensorId::kDx,
                                                    TensorId::kDw, TensorId::kDb, TensorId::kY};
constexpr const char* toString(TensorId t) {
  constexpr const char* kNames[] = {"dy", "x", "w", "dx", "dw", "db", "y", "b", "z"};
  return kNames[static_cast<std::size_t>(t)];
}
constexpr std::optional<TensorId> tensorNamed(std::string_view name) {
  for (std::size_t t = 0; t < kTensors; ++t) {
    if (name == toString(static_cast<TensorId>(t))) return static_cast<TensorId>(t);
  }
  return std::nullopt;
}
constexpr bool isResult(TensorId t) { return t >= TensorId::kDx && t <= TensorId::kY; }
constexpr bool isWeights(TensorId t) { return t == TensorId::kW || t == TensorId::kDw; }
/// One value an output channel.
constexpr bool isBias(TensorId t) { return t == TensorId::kDb || t == TensorId::kB; }
/// x, y, their gradients, and z.
constexpr bool isActivation(TensorId t) { return !isWeights(t) && !isBias(t); }
/// Those with the extents of y.
constexpr bool isOfOutput(TensorId t) { return t == TensorId::kDy || t == TensorId::kY || t == TensorId::kZ; }
constexpr TensorId resultOf(Pass g) {
  return g == Pass::kDx   ? TensorId::kDx
         : g == Pass::kDw ? TensorId::kDw
         : g == Pass::kDb ? TensorId::kDb
                          : TensorId::kY;
}
/// Whether a pass reads the tensor: dx dy and w; dw dy and x; db dy; y x and w. What post-ops read besides is postOpsRead().
constexpr bool reads(Pass g, TensorId t) {
  return t == TensorId::kDy  ? g != Pass::kY
         : t == TensorId::kX ? g == Pass::kDw || g == Pass::kY
         : t == TensorId::kW ? g == Pass::kDx || g == Pass::kY
                             : false;
}

/// How a tensor lies in memory.
struct TensorFormat {
  DType dtype = DType::kF32;
  Layout layout = Layout::kNdhwc;
  /// Distances between neighbours along (n, c, d, h, w), or (o, i, d, h, w) of weights, in elements; all 0 = dense in `layout`, unless
  /// `broadcast` says that they are meant.
  /// Inputs only (dy, x, w), and only with a plain or channels-last layout, which then means nothing. A distance may be 0
  /// (a broadcast view), never negative.
  std::array<std::int64_t, 5> strides{};
  std::int64_t c0 = 0;     ///< channels of a block of the blocked layouts; 0 = what fills 32 bytes (8 f32, 16 half)
  bool broadcast = false;  ///< strides that are all 0 are meant: one element is all of the tensor
  std::int64_t blockChannels() const { return c0 > 0 ? c0 : 32 / byteSize(dtype); }
  bool strided() const { return broadcast || strides != std::array<std::int64_t, 5>{}; }
  friend bool operator==(const TensorFormat& a, const TensorFormat& b) {
    return a.dtype == b.dtype && a.layout == b.layout && a.strides == b.strides && a.c0 == b.c0 &&
           a.strided() == b.strided();
  }
  friend bool operator!=(const TensorFormat& a, const TensorFormat& b) { return !(a == b); }
};

/// One pass of one convolution. Extents are those of the forward pass, in elements.
///
/// Ordinary:    y[n][o][p] = b[o] + sum x[n][i][p*stride + k*dilation - padBefore] * w[o][i][k],  w is [cout][cin/groups][k]
///              out = floor((in + padBefore + padAfter - dilation*(kernel-1) - 1) / stride) + 1
/// Transposed:  y[n][o][q*stride + k*dilation - padBefore] += x[n][i][q] * w[i][o][k],             w is [cin][cout/groups][k]
///              out = (in-1)*stride - padBefore - padAfter + dilation*(kernel-1) + outputPadding + 1, 0 <= outputPadding < max(stride, dilation)
///              (outputPadding is not stored: it is what `out` implies.)
struct Problem {
  std::string name;  ///< free text, not part of equality
  int rank = 3;      ///< spatial axes the caller sees: 1, 2 or 3
  std::int64_t batch = 1, groups = 1, cin = 1, cout = 1;
  Dhw in, kernel, out;
  Dhw stride, dilation;  ///< dilation 1 = none
  Dhw padBefore{0, 0, 0}, padAfter{0, 0, 0};
  bool transposed = false;
  DType dtype = DType::kF32;       ///< of every tensor that `formats` does not mention
  Layout layout = Layout::kNdhwc;  ///< of x, y, dx, dy unless `formats` mentions them; w and dw are plain
  std::array<std::optional<TensorFormat>, kTensorIds.size()> formats;  ///< by TensorId; see formatOf()
  MathMode math = MathMode::kStrict;
  /// What y ends with. Gradients are those of the whole: where there is an activation, backward passes read y, too, and take dy times the
  /// activation's slope there for dy (which is also the gradient of z; they do not give it).
  PostOps postOps;
};

/// Whether forward reads the tensor for its post-ops.
inline bool postOpsRead(const Problem& p, TensorId t) {
  return (t == TensorId::kB && p.postOps.bias) || (t == TensorId::kZ && p.postOps.add);
}

/// How a tensor of the problem lies in memory. HF32 is how operands are rounded, so results of an hf32 problem are f32.
inline TensorFormat formatOf(const Problem& p, TensorId t) {
  if (t == TensorId::kZ) return formatOf(p, TensorId::kY);
  if (t == TensorId::kB) return TensorFormat{formatOf(p, TensorId::kY).dtype, Layout::kNcdhw, {}};
  if (const auto& given = p.formats[static_cast<std::size_t>(t)]) return *given;
  return TensorFormat{
      isResult(t) && isHf32(p.dtype) ? DType::kF32 : p.dtype, isActivation(t) ? p.layout : Layout::kNcdhw, {}};
}

/// A set of passes asked for in one call.
struct PassMask {
  bool dx = false, dw = false, db = false, y = false;
  bool has(Pass g) const { return g == Pass::kDx ? dx : g == Pass::kDw ? dw : g == Pass::kDb ? db : y; }
  void add(Pass g) { (g == Pass::kDx ? dx : g == Pass::kDw ? dw : g == Pass::kDb ? db : y) = true; }
  bool any() const { return dx || dw || db || y; }
  /// Whether one of them reads the tensor.
  bool reads(TensorId t) const {
    for (const Pass g : kPasses) {
      if (has(g) && cubejit::reads(g, t)) return true;
    }
    return false;
  }
  friend bool operator==(const PassMask& a, const PassMask& b) {
    return a.dx == b.dx && a.dw == b.dw && a.db == b.db && a.y == b.y;
  }
};
/// Whether backward passes are among these, and read y for the slope of its activation.
inline bool readSlope(const Problem& p, PassMask mask) {
  return p.postOps.activation != Activation::kNone && mask.reads(TensorId::kDy);
}
/// Whether a call of these passes reads the tensor; y may be what it gives as well.
inline bool passesRead(const Problem& p, PassMask mask, TensorId t) {
  if (t == TensorId::kY) return readSlope(p, mask);
  return mask.reads(t) || (mask.y && postOpsRead(p, t));
}
/// The pass that is spelled so, or nothing.
constexpr std::optional<Pass> passNamed(std::string_view name) {
  for (const Pass g : kPasses) {
    if (name == toString(g)) return g;
  }
  return std::nullopt;
}
constexpr PassMask maskOf(Pass g) { return {g == Pass::kDx, g == Pass::kDw, g == Pass::kDb, g == Pass::kY}; }

/// Calls v(fieldName, field&) for every field that distinguishes one problem from another (all but `name`).
/// Hash, equality, JSON, printing and the random generator are written against it.
template <class P, class Visitor>
void describeProblem(P& p, Visitor&& v) {
  v("rank", p.rank);
  v("batch", p.batch);
  v("groups", p.groups);
  v("cin", p.cin);
  v("cout", p.cout);
  v("in", p.in);
  v("kernel", p.kernel);
  v("out", p.out);
  v("stride", p.stride);
  v("dilation", p.dilation);
  v("pad_before", p.padBefore);
  v("pad_after", p.padAfter);
  v("transposed", p.transposed);
  v("dtype", p.dtype);
  v("layout", p.layout);
  v("formats", p.formats);
  v("math", p.math);
  v("post_ops", p.postOps);
}

inline bool operator==(const Problem& a, const Problem& b) {
  return a.rank == b.rank && a.batch == b.batch && a.groups == b.groups && a.cin == b.cin && a.cout == b.cout &&
         a.in == b.in && a.kernel == b.kernel && a.out == b.out && a.stride == b.stride && a.dilation == b.dilation &&
         a.padBefore == b.padBefore && a.padAfter == b.padAfter && a.transposed == b.transposed && a.dtype == b.dtype &&
         a.layout == b.layout && a.formats == b.formats && a.math == b.math && a.postOps == b.postOps;
}
inline bool operator!=(const Problem& a, const Problem& b) { return !(a == b); }

/// Element counts of the tensors. Precondition: the problem passed checkProblem (so nothing overflows).
inline std::int64_t xElements(const Problem& p) { return p.batch * p.cin * p.in.volume(); }
inline std::int64_t yElements(const Problem& p) { return p.batch * p.cout * p.out.volume(); }
inline std::int64_t wElements(const Problem& p) {
  return p.groups == 0 ? 0 : p.cin * p.cout / p.groups * p.kernel.volume();
}
inline std::int64_t bElements(const Problem& p) { return p.cout; }

}  // namespace cubejit
