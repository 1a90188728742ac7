// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which requests the tiling classes refuse; the ranges are those of their documentation.
#include "api/ascendc/request_rules.h"

#include <algorithm>

namespace cubejit::ascendc {
namespace {

using ConvCommonApi::ConvDtype;
using ConvCommonApi::ConvFormat;

constexpr std::int64_t kMostExtent = 2147483647;  // products of two stay within 64 bits
constexpr std::int64_t kMostPlane = 4294967295;
constexpr std::int64_t kMostGroups = 65535;
constexpr const char* kAxes[] = {"D", "H", "W"};
constexpr const char* kPads[] = {"padFront", "padBack", "padUp", "padDown", "padLeft", "padRight"};

class RequestRules {
 public:
  void require(bool holds, const std::string& rule) {
    if (!holds) broken.push_back(rule);
  }
  // Returns whether it holds, for rules that build on it.
  bool range(const std::string& field, std::int64_t value, std::int64_t least, std::int64_t most) {
    const bool holds = value >= least && value <= most;
    require(holds, field + " = " + std::to_string(value) + " must be " + std::to_string(least) + " to " +
                       std::to_string(most));
    return holds;
  }
  std::vector<std::string> broken;
};

std::string axis(const char* name, std::size_t a) { return std::string(name) + kAxes[a]; }

const char* nameOf(ConvFormat format) {
  constexpr const char* kNames[] = {"ND",    "NCHW",  "NHWC",    "HWCN",     "DHWNC",       "DHWCN",
                                    "NDHWC", "NCDHW", "NC1HWC0", "NDC1HWC0", "FRACTAL_Z_3D"};
  const auto i = static_cast<std::size_t>(format);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

void format(RequestRules& rules, const char* tensor, ConvFormat given, ConvFormat needed) {
  rules.require(given == needed, std::string(tensor) + " format = " + nameOf(given) + " must be " + nameOf(needed));
}

void divides(RequestRules& rules, std::int64_t groups, const char* field, std::int64_t channels) {
  rules.require(channels % groups == 0, "groups = " + std::to_string(groups) + " must divide " + field + " = " +
                                            std::to_string(channels) + ", the channels of all groups");
}

// What both classes ask of attributes and extents.
bool shared(const TilingRequest& r, RequestRules& rules) {
  const std::size_t before = rules.broken.size();
  for (std::size_t i = 0; i < 6; ++i) rules.range(kPads[i], r.pads[i], 0, kMostExtent);
  for (std::size_t a = 0; a < 3; ++a) {
    rules.range(axis("stride", a), r.stride[a], 1, kMostExtent);
    rules.range(axis("dilation", a), r.dilation[a], 1, kMostExtent);
    rules.range(axis("kernel ", a), r.kernel[a], 1, kMostExtent);
    rules.range(axis("gradOutput ", a), r.out[a], 1, kMostExtent);
  }
  rules.range("N", r.n, 1, kMostExtent);
  rules.range("cin", r.cin, 1, kMostExtent);
  rules.range("cout", r.cout, 1, kMostExtent);
  if (rules.range("groups", r.groups, 1, kMostGroups)) {
    divides(rules, r.groups, "cin", r.cin);
    divides(rules, r.groups, "cout", r.cout);
  }
  return rules.broken.size() == before;
}

void types(const TilingRequest& r, RequestRules& rules, const char* otherName, ConvDtype other) {
  const ConvDtype dy = r.gradOutput.dtype;
  DType type{};
  rules.require(dtypeOf(dy, r.hf32, type),
                std::string("gradOutput dtype = ") + ascendc::nameOf(dy) + " must be FLOAT16, BF16 or FLOAT32");
  rules.require(dy == other, std::string("gradOutput dtype = ") + ascendc::nameOf(dy) + " must be that of " +
                                 otherName + ", " + ascendc::nameOf(other));
  rules.require(!r.hf32 || dy == ConvDtype::FLOAT32, "hf32 needs FLOAT32 operands");
}

// The extents of a transposed convolution's result.
void infer(TilingRequest& r, RequestRules& rules) {
  for (std::size_t a = 0; a < 3; ++a) {
    rules.range(axis("outputPadding", a), r.outputPadding[a], 0, std::max(r.stride[a], r.dilation[a]) - 1);
    const std::int64_t front = r.pads[2 * a], back = r.pads[2 * a + 1];
    r.in[a] = (r.out[a] - 1) * r.stride[a] - front - back + r.dilation[a] * (r.kernel[a] - 1) + r.outputPadding[a] + 1;
    rules.require(r.in[a] > 0,
                  axis("input ", a) + " is inferred to be " + std::to_string(r.in[a]) + "; lower the padding");
  }
}

void shapes(const TilingRequest& r, RequestRules& rules) {
  for (std::size_t a = 0; a < 3; ++a) {
    const std::int64_t front = r.pads[2 * a], back = r.pads[2 * a + 1], reach = (r.kernel[a] - 1) * r.dilation[a];
    const std::int64_t expected = (r.in[a] + front + back - (reach + 1 + r.outputPadding[a])) / r.stride[a] + 1;
    rules.require(r.out[a] == expected, axis("gradOutput ", a) + " = " + std::to_string(r.out[a]) + " must be " +
                                            std::to_string(expected) + ", which follows from the input");
    const std::int64_t head = r.in[a] - r.out[a] * r.stride[a] + front;
    rules.range(axis("input - gradOutput x stride + padding before, of axis ", a), head, -255, 255);
    const std::int64_t most = std::min<std::int64_t>(255, r.kernel[a] - 1);  // of the kernel without dilation
    rules.range(kPads[2 * a], front, 0, most);
    rules.range(kPads[2 * a + 1], back, 0, most);
    if (a > 0) rules.range(axis("(kernel - 1) x dilation - padding before, of axis ", a), reach - front, 0, 255);
  }
}

}  // namespace

bool dtypeOf(ConvDtype dtype, bool hf32, DType& out) {
  switch (dtype) {
    case ConvDtype::FLOAT16: out = DType::kF16; return true;
    case ConvDtype::BF16: out = DType::kBf16; return true;
    case ConvDtype::FLOAT32: out = hf32 ? DType::kHf32 : DType::kF32; return true;
    default: return false;
  }
}

const char* nameOf(ConvDtype dtype) {
  constexpr const char* kNames[] = {"FLOAT16", "FLOAT32", "BF16", "INT4", "INT8", "UINT8", "INT32", "INT64", "UINT64"};
  const auto i = static_cast<std::size_t>(dtype);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

std::vector<std::string> inputRules(TilingRequest& r) {
  RequestRules rules;
  bool sound = shared(r, rules);
  constexpr const char* kPresets[] = {"backpropPadUp", "backpropPadDown", "backpropPadLeft", "backpropPadRight"};
  for (std::size_t i = 0; i < 4; ++i) rules.range(kPresets[i], r.backpropPads[i], 0, kMostExtent);
  format(rules, "weight", r.weight.format, ConvFormat::FRACTAL_Z_3D);
  format(rules, "gradOutput", r.gradOutput.format, ConvFormat::NDC1HWC0);
  types(r, rules, "weight", r.weight.dtype);
  if (sound && r.transpose) infer(r, rules);
  for (std::size_t a = 0; a < 3; ++a) {
    const bool known = sound && rules.range(axis("input ", a), r.in[a], 1, kMostExtent);
    sound = sound && known;
  }
  rules.require(r.stride[0] <= r.kernel[0], "strideD = " + std::to_string(r.stride[0]) +
                                                " must be at most kernel D = " + std::to_string(r.kernel[0]));
  rules.range("strideD", r.stride[0], 1, 255);
  rules.range("strideH", r.stride[1], 1, 63);
  rules.range("strideW", r.stride[2], 1, 63);
  if (!sound) return rules.broken;
  rules.require(r.in[1] <= kMostPlane / r.in[2], "input H x W = " + std::to_string(r.in[1]) + " x " +
                                                     std::to_string(r.in[2]) + " must be at most " +
                                                     std::to_string(kMostPlane));
  shapes(r, rules);
  return rules.broken;
}

std::vector<std::string> filterRules(const TilingRequest& r) {
  RequestRules rules;
  shared(r, rules);
  for (std::size_t a = 0; a < 3; ++a) rules.range(axis("input ", a), r.in[a], 1, kMostExtent);
  format(rules, "weight", r.weight.format, ConvFormat::FRACTAL_Z_3D);
  format(rules, "input", r.input.format, ConvFormat::NDC1HWC0);
  types(r, rules, "input", r.input.dtype);
  for (std::size_t a = 1; a < 3; ++a) {
    rules.range(axis("stride", a), r.stride[a], 1, 63);
    rules.range(axis("dilation", a), r.dilation[a], 1, 255);
  }
  for (std::size_t i = 2; i < 6; ++i) rules.range(kPads[i], r.pads[i], 0, 255);
  rules.range("kernel H", r.kernel[1], 1, 511);
  rules.range("kernel W", r.kernel[2], 1, 32);
  return rules.broken;
}

}  // namespace cubejit::ascendc
