// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the rules a problem must keep. Every broken one is reported with its values and, where there is one, the fix.
// Arithmetic is done in 128 bits, where sums and products of two 64-bit values cannot overflow.
#include "tiling/check_problem.h"

#include "cubejit/index_map.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace cubejit {
namespace {

__extension__ using Wide = __int128;
constexpr Wide kMostElements = std::numeric_limits<std::int64_t>::max();

// Steps and paddings beyond this serve nobody and would make positions overflow.
constexpr std::int64_t kMostStep = std::numeric_limits<std::int32_t>::max();

constexpr Wide kMostBytes = Wide{1} << 47;  // user addresses of x86-64

std::string text(Wide value) {
  if (value < 0) return "-" + text(-value);
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
    value /= 10;
  } while (value > 0);
  return digits;
}

class ProblemRules {
 public:
  explicit ProblemRules(const Problem& problem) : p_(problem) {}

  Status check() {
    extents();
    for (int a = 0; a < 3; ++a) shape(a);
    sizes();
    for (const TensorId t : kTensorIds) format(t);
    postOps();
    if (broken_.empty()) return Unit{};
    return invalidInput(broken_);
  }

  bool legalFormat(TensorId t) {
    format(t);
    return broken_.empty();
  }

 private:
  void require(bool holds, const std::string& message) {
    if (!holds) broken_ += (broken_.empty() ? "" : "\n") + message;
  }

  static std::string axisName(int axis) { return axis == 0 ? "d" : axis == 1 ? "h" : "w"; }

  void atLeast(const std::string& name, std::int64_t value, std::int64_t least) {
    require(value >= least, name + " = " + std::to_string(value) + " must be at least " + std::to_string(least));
  }

  void inRange(const std::string& name, std::int64_t value, std::int64_t least) {
    atLeast(name, value, least);
    require(value <= kMostStep, name + " = " + std::to_string(value) + " must be at most 2^31 - 1");
  }

  void extents() {
    require(p_.rank >= 1 && p_.rank <= 3, "rank = " + std::to_string(p_.rank) + " must be 1, 2 or 3");
    atLeast("batch", p_.batch, 0);
    atLeast("groups", p_.groups, 1);
    atLeast("cin", p_.cin, 1);
    atLeast("cout", p_.cout, 1);
    for (int a = 0; a < 3; ++a) {
      const std::string axis = "." + axisName(a);
      atLeast("in" + axis, p_.in[a], 1);
      atLeast("kernel" + axis, p_.kernel[a], 1);
      atLeast("out" + axis, p_.out[a], 1);
      inRange("stride" + axis, p_.stride[a], 1);
      inRange("dilation" + axis, p_.dilation[a], 1);
      inRange("pad_before" + axis, p_.padBefore[a], 0);
      inRange("pad_after" + axis, p_.padAfter[a], 0);
    }
    if (p_.groups >= 1) {
      require(p_.cin % p_.groups == 0,
              "cin = " + std::to_string(p_.cin) + " is not divisible by groups = " + std::to_string(p_.groups));
      require(p_.cout % p_.groups == 0,
              "cout = " + std::to_string(p_.cout) + " is not divisible by groups = " + std::to_string(p_.groups));
    }
    for (int a = 0; p_.rank >= 1 && a < 3 - p_.rank; ++a) {
      const bool neutral = p_.in[a] == 1 && p_.out[a] == 1 && p_.kernel[a] == 1 && p_.stride[a] == 1 &&
                           p_.dilation[a] == 1 && p_.padBefore[a] == 0 && p_.padAfter[a] == 0;
      require(neutral, "rank = " + std::to_string(p_.rank) + " has no axis " + axisName(a) +
                           ", so its extents, stride and dilation must be 1 and its padding 0");
    }
  }

  // Output extents follow from the others; an axis with an illegal value has been reported and is not judged again.
  void shape(int a) {
    const std::string axis = "." + axisName(a);
    const std::int64_t least1[] = {p_.in[a], p_.kernel[a], p_.stride[a], p_.dilation[a]};
    for (const std::int64_t value : least1) {
      if (value < 1) return;
    }
    for (const std::int64_t value : {p_.stride[a], p_.dilation[a], p_.padBefore[a], p_.padAfter[a]}) {
      if (value < 0 || value > kMostStep) return;
    }
    const Wide reach = Wide{p_.dilation[a]} * (p_.kernel[a] - 1);
    const std::string values = " (in" + axis + " = " + std::to_string(p_.in[a]) + ", kernel" + axis + " = " +
                               std::to_string(p_.kernel[a]) + ", stride" + axis + " = " + std::to_string(p_.stride[a]) +
                               ", dilation" + axis + " = " + std::to_string(p_.dilation[a]) +
                               ", padding = " + std::to_string(p_.padBefore[a]) + " before, " +
                               std::to_string(p_.padAfter[a]) + " after)";
    const std::string given = "out" + axis + " = " + std::to_string(p_.out[a]);
    if (reach > kMostElements / 4 || p_.in[a] > kMostElements / 4) {
      require(false, "the input or the dilated kernel on axis " + axisName(a) + " exceeds 2^61" + values);
      return;
    }
    if (p_.transposed) {
      const Wide least = (Wide{p_.in[a]} - 1) * p_.stride[a] - p_.padBefore[a] - p_.padAfter[a] + reach + 1;
      const Wide most = least + std::max(p_.stride[a], p_.dilation[a]) - 1;
      require(p_.out[a] >= least && p_.out[a] <= most,
              given + " does not follow from the input; a transposed convolution allows " +
                  text(std::max<Wide>(least, 1)) + " to " + text(most) +
                  ", output padding being 0 to max(stride, dilation) - 1" + values);
      return;
    }
    const Wide room = Wide{p_.in[a]} + p_.padBefore[a] + p_.padAfter[a] - reach - 1;
    if (room < 0) {
      require(false, "the dilated kernel, " + text(reach + 1) + ", is larger than the padded input, " +
                         text(room + reach + 1) + ", on axis " + axisName(a) + "; raise the padding to at least " +
                         text(reach + 1 - p_.in[a]) + " in sum" + values);
      return;
    }
    const Wide expected = room / p_.stride[a] + 1;
    require(expected == p_.out[a], given + " does not follow from the input; it must be " + text(expected) + values);
  }

  // Layouts of each kind of tensor; strides of inputs.
  void format(TensorId t) {
    const TensorFormat f = formatOf(p_, t);
    const std::string name = toString(t);
    const bool weights = isWeights(t), result = isResult(t);
    require(static_cast<int>(f.dtype) <= static_cast<int>(DType::kHf32Low) && f.layout <= Layout::kFractalZ3d,
            name + ": dtype or layout is not one there is");
    require(!result || !isHf32(f.dtype), name + " cannot be " + toString(f.dtype) +
                                             ": HF32 is a rounding of operands; results are f32, f16 or bf16");
    if (t == TensorId::kDb) return;
    require(f.layout != (weights ? Layout::kNdc1hwc0 : Layout::kFractalZ3d),
            name + " cannot be " + toString(f.layout) + "; " +
                (weights ? "weights are ncdhw (plain), ndhwc (channels-last) or fractal_z_3d"
                         : "activations are ncdhw (plain), ndhwc (channels-last) or ndc1hwc0"));
    require(f.c0 >= 0 && f.c0 <= 256,
            name + ": c0 = " + std::to_string(f.c0) + " must be from 1 to 256, or 0 for 32 bytes");
    if (!f.strided()) return;
    require(!result, name + " has strides; only inputs may");
    require(f.layout == Layout::kNcdhw || f.layout == Layout::kNdhwc,
            name + " has strides, so its layout cannot be blocked");
    Wide span = 0;
    for (const std::int64_t stride : f.strides) {
      require(stride >= 0 && stride <= kMostBytes,
              name + ": a stride of " + std::to_string(stride) + " elements must be from 0 to 2^47");
    }
    const Dhw& space = weights ? p_.kernel : t == TensorId::kX ? p_.in : p_.out;
    const std::int64_t extents[] = {weights ? std::max(p_.cin, p_.cout) : p_.batch, std::max(p_.cin, p_.cout), space.d,
                                    space.h, space.w};
    for (std::size_t a = 0; a < 5; ++a)
      span += Wide{std::min<std::int64_t>(std::max<std::int64_t>(1, extents[a]), std::int64_t{1} << 47)} * f.strides[a];
    require(span * 4 <= kMostBytes, name + ": its strides reach beyond the 2^47 bytes a process can address");
  }

  // Numbers that an activation does not have are 0, so that equal post-ops are spelled the same.
  void postOps() {
    const PostOps& post = p_.postOps;
    const std::string which = "post_ops = " + toString(post) + ": ";
    const bool clips = post.activation == Activation::kClip, scales = post.activation == Activation::kLeakyRelu;
    require(post.activation <= Activation::kClip, "post_ops: the activation is not one there is");
    require(std::isfinite(post.alpha) && std::isfinite(post.beta), which + "its numbers must be finite");
    require((clips || post.beta == 0) && (clips || scales || post.alpha == 0),
            which + "numbers that nothing takes must be 0");
    require(!clips || post.alpha <= post.beta, which + "the lower limit is above the upper one");
    const TensorFormat f = formatOf(p_, TensorId::kY);
    const bool fills = f.layout == Layout::kNdc1hwc0 && f.c0 >= 0 && p_.cout % f.blockChannels() != 0;
    require(!clips || !fills || (post.alpha <= 0 && post.beta >= 0),
            which + "y as " + toString(f.layout) +
                " has channels that only fill up a block and are 0, which must be within the limits");
  }

  // Blocks of channels make small tensors larger: by up to 16 x 256 elements for one.
  void blockedBytes(TensorId t) {
    const TensorFormat f = formatOf(p_, t);
    if (f.layout != Layout::kNdc1hwc0 && f.layout != Layout::kFractalZ3d) return;
    if (f.c0 < 0 || f.c0 > 256) return;
    const bool weights = isWeights(t), ofX = !isOfOutput(t);
    const Dhw& space = weights ? p_.kernel : ofX ? p_.in : p_.out;
    const Wide c0 = f.blockChannels();
    const auto up = [](Wide value, Wide step) { return (value + step - 1) / step * step; };
    Wide elements = up(ofX ? p_.cin : p_.cout, c0) * std::max<std::int64_t>(1, p_.batch);
    if (weights) {
      const std::int64_t inner = (p_.transposed ? p_.cout : p_.cin) / p_.groups,
                         outer = (p_.transposed ? p_.cin : p_.cout) / p_.groups;
      const RealGroups r = realGroups(inner, outer, p_.groups, f.blockChannels());
      elements = Wide{r.count} * r.blocksC * c0 * r.blocksN * 16;
    }
    for (int a = 0; a < 3 && elements <= kMostBytes; ++a) elements *= space[a];
    require(elements * byteSize(f.dtype) <= kMostBytes, std::string(toString(t)) + " as " + toString(f.layout) +
                                                            " takes more than the 2^47 bytes a process can address");
  }

  void bytes(const char* tensor, const std::int64_t* factors, int count) {
    Wide product = 4;
    std::string spelled;
    bool fits = true;
    for (int i = 0; i < count; ++i) {
      spelled += (i == 0 ? "" : " x ") + std::to_string(factors[i]);
      if (fits) product *= std::max<std::int64_t>(1, factors[i]);  // an empty batch does not excuse the image
      fits = fits && product <= kMostBytes;
    }
    require(fits, std::string(tensor) + " takes 4 x " + spelled + " bytes, more than the 2^47 a process can address");
  }

  void sizes() {
    for (const std::int64_t value : {p_.batch, p_.cin, p_.cout, p_.in.d, p_.in.h, p_.in.w, p_.out.d, p_.out.h, p_.out.w,
                                     p_.kernel.d, p_.kernel.h, p_.kernel.w}) {
      if (value < 0) return;
    }
    if (p_.groups < 1) return;
    const std::int64_t x[] = {p_.batch, p_.cin, p_.in.d, p_.in.h, p_.in.w};
    const std::int64_t y[] = {p_.batch, p_.cout, p_.out.d, p_.out.h, p_.out.w};
    const std::int64_t w[] = {p_.cout, p_.cin / p_.groups, p_.kernel.d, p_.kernel.h, p_.kernel.w};
    bytes("x", x, 5);
    bytes("y", y, 5);
    bytes("w", w, 5);
    if (!broken_.empty()) return;
    for (const TensorId t : kTensorIds) blockedBytes(t);
  }

  const Problem& p_;
  std::string broken_;
};

}  // namespace

Status checkProblem(const Problem& problem) { return ProblemRules(problem).check(); }

Problem seenBy(Problem problem, PassMask passes) {
  for (const TensorId t : kTensorIds) {
    bool touched = passesRead(problem, passes, t);
    for (const Pass pass : kPasses) touched = touched || (passes.has(pass) && resultOf(pass) == t);
    const bool usual = !formatOf(problem, t).strided() && ProblemRules(problem).legalFormat(t);
    if (!touched && !usual)
      problem.formats[static_cast<std::size_t>(t)] = TensorFormat{DType::kF32, Layout::kNcdhw, {}};
  }
  return problem;
}

}  // namespace cubejit
