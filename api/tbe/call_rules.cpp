// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides each rule of the DSL's calls and its wording; the limits are those documented for the static operator.
#include "api/tbe/call_rules.h"

#include <cctype>

namespace cubejit::tbe {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kMostExtent = 4096, kMostAxis = 1000000, kMostDilatedFilter = 255, kMostStride = 63,
                       kMostPad = 255, kMostDilation = 255;
constexpr std::string_view kSpace = "DHW";
constexpr const char* kSides[] = {"front", "back", "up", "down", "left", "right"};

std::string number(std::int64_t value) { return std::to_string(value); }
std::string count(const Ints& list) { return std::to_string(list.size()); }
std::int64_t ceilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The value of an axis; 1 of an axis that is not in the list.
std::int64_t at(const Ints& list, std::string_view order, char axis) {
  const std::size_t position = order.find(axis);
  return position == std::string_view::npos ? 1 : list[position];
}

// The axes by their words.
std::string spelled(std::string_view order, const char* n, const char* c, const char* kernel) {
  std::string out;
  for (const char axis : order) {
    if (!out.empty()) out += ", ";
    out += axis == 'N' ? n : axis == 'C' ? c : kernel;
    if (kSpace.find(axis) != std::string_view::npos)
      out += *kernel == 'K' ? static_cast<char>(std::tolower(static_cast<unsigned char>(axis))) : axis;
  }
  return out;
}
std::string spelled(std::string_view order) { return spelled(order, "N", "C", ""); }

std::string shapeText(const Ints& shape) {
  std::string out;
  for (const std::int64_t extent : shape) out += (out.empty() ? "" : ", ") + number(extent);
  return "(" + out + ")";
}

class Checker {
 public:
  Checker(const Operation& operation, const Call& call)
      : operation_(operation),
        call_(call),
        filter_(call.filterSize),
        para_(call.para),
        space_(operation.flat() ? "HW" : "DHW") {}

  CallRules check() {
    // All are asked, whatever the first says.
    const bool first =
        operation_.ofFilter() ? activation(operation_.first, call_.first, true) : filterTensor(call_.first);
    const bool dy = activation("out_backprop", call_.out_backprop, false), filter = filterSize();
    const bool input = operation_.ofFilter() || inputSize(), shapes = first && dy && filter && input;
    const bool stepped = strides(), padded = pads(), dilated = dilations();
    texts();
    if (shapes) channels();
    if (shapes) images();
    if (shapes && padded && dilated) geometry(stepped);
    return std::move(rules_);
  }

 private:
  bool require(bool holds, const std::string& rule) {
    if (!holds) rules_.broken.push_back(rule);
    return holds;
  }
  bool range(const std::string& name, std::int64_t value, std::int64_t least, std::int64_t most) {
    return require(value >= least && value <= most,
                   name + " = " + number(value) + " must be " + number(least) + " to " + number(most));
  }
  bool half(const std::string& name, const Tensor& t) {
    return require(t.dtype == "float16", name + " is " + t.dtype + "; it must be float16");
  }

  // N, the blocks of channels and the image; the depth of out_backprop alone has no limit of its own.
  bool extents(const std::string& name, const Ints& list, std::string_view order, const char* channels, bool deep) {
    bool holds = true;
    for (const char axis : order) {
      const bool limited = axis == 'H' || axis == 'W' || (axis == 'D' && deep);
      holds &= range(name + " " + (axis == 'C' ? std::string(channels) : std::string(1, axis)), at(list, order, axis),
                     1, limited ? kMostExtent : kMostAxis);
    }
    return holds;
  }

  bool activation(const std::string& name, const Tensor& t, bool deep) {
    half(name, t);
    const std::string_view order = operation_.activationOrder();
    const std::string words = spelled(order, "N", "C1", "");
    if (!require(t.shape.size() == order.size() + 1,
                 name + " has " + count(t.shape) + " axes; it must have " + std::to_string(order.size() + 1) +
                     ", those of " + (operation_.flat() ? "NC1HWC0" : "NDC1HWC0") + ": (" + words + ", 16)"))
      return false;
    const bool holds = extents(name, t.shape, order, "C1", deep);
    return require(t.shape.back() == kC0Size, name + " C0 = " + number(t.shape.back()) + " must be 16") && holds;
  }

  bool filterTensor(const Tensor& t) {
    half(operation_.first, t);
    return require(t.shape.size() == 4, std::string(operation_.first) + " has " + count(t.shape) +
                                            " axes; it must have 4, those of FRACTAL_Z" +
                                            (operation_.flat() ? "" : "_3D"));
  }

  bool filterSize() {
    const std::string name = operation_.filterSize;
    if (!values(operation_.filterSize, filter_, operation_.filterOrder.size(),
                ": (" + spelled(operation_.filterOrder, "Cout", "Cin / groups", "K") + ")"))
      return false;
    bool holds = true;
    for (std::size_t a = 0; a < filter_.size(); ++a)
      holds &= range(name + "[" + std::to_string(a) + "]", filter_[a], 1,
                     kSpace.find(operation_.filterOrder[a]) == std::string_view::npos ? kMostAxis : kMostDilatedFilter);
    return holds;
  }

  bool inputSize() {
    const std::string_view order = operation_.inputOrder;
    return values(operation_.inputSize, call_.inputSize, order.size(), ": (" + spelled(order, "N", "Cin", "") + ")") &&
           extents(operation_.inputSize, call_.inputSize, order, "C", true);
  }

  bool values(const std::string& name, const Ints& list, std::size_t wanted, const std::string& words) {
    return require(list.size() == wanted,
                   name + " has " + count(list) + " values; it must have " + std::to_string(wanted) + words);
  }

  // Values of the image's axes, alone or among those of N and C, which must be 1.
  bool steps(const std::string& name, const Ints& list, std::string_view longOrder, std::int64_t most, Dhw& out) {
    const bool isLong = !longOrder.empty() && list.size() == longOrder.size();
    const std::string_view order = isLong ? longOrder : space_;
    const std::string also = longOrder.empty() ? ": " + spelled(space_)
                                               : " (" + spelled(space_) + ") or " + std::to_string(longOrder.size()) +
                                                     " (" + spelled(longOrder) + ")";
    if (!isLong && !values(name, list, space_.size(), also)) return false;
    bool holds = true;
    for (const char axis : order) {
      const std::string word = name + " " + axis;
      if (axis == 'N' || axis == 'C')
        holds &= require(at(list, order, axis) == 1, word + " = " + number(at(list, order, axis)) + " must be 1");
      else
        holds &= range(word, at(list, order, axis), 1, most);
    }
    for (int a = 0; a < 3; ++a) out[a] = at(list, order, kSpace[static_cast<std::size_t>(a)]);
    return holds;
  }

  bool strides() { return steps("strides", para_.strides, operation_.strideOrder, kMostStride, rules_.call.stride); }
  bool dilations() {
    return para_.dilations.empty() ||
           steps("dilations", para_.dilations, operation_.dilationOrder, kMostDilation, rules_.call.dilation);
  }

  bool pads() {
    const std::string name = operation_.pads;
    if (!values(name, para_.pads, 2 * space_.size(),
                std::string(": ") + (operation_.flat() ? "" : "front, back, ") + "up, down, left, right"))
      return false;
    bool holds = true;
    for (std::size_t i = 0; i < para_.pads.size(); ++i) {
      const std::size_t side = i + firstSide();
      holds &= range(name + " " + kSides[side], para_.pads[i], 0, kMostPad);
      (side % 2 == 0 ? rules_.call.padBefore : rules_.call.padAfter)[static_cast<int>(side / 2)] = para_.pads[i];
    }
    return holds;
  }
  std::size_t firstSide() const { return operation_.flat() ? 2 : 0; }

  void texts() {
    std::string& type = rules_.call.resDtype = para_.res_dtype.value_or(std::string(operation_.result));
    const std::string_view other = operation_.otherResult;
    require(type == operation_.result || (!other.empty() && type == other),
            "res_dtype is " + type + "; it must be " + std::string(operation_.result) +
                (other.empty() ? "" : " or " + std::string(other)));
    std::string& name = rules_.call.kernelName = para_.kernel_name.value_or(std::string(operation_.name) + "_cce");
    bool identifier = !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0]));
    for (const char c : name) identifier = identifier && (std::isalnum(static_cast<unsigned char>(c)) || c == '_');
    require(identifier, "kernel_name \"" + name + "\" must be letters, digits and underscores");
    require(para_.offset_x == 0, "offset_x = " + number(para_.offset_x) + " must be 0: float16 is not quantised");
    require(!para_.offset_w,
            "offset_w = " + number(para_.offset_w.value_or(0)) + " must be None: float16 is not quantised");
    require(operation_.ofFilter() || para_.group_result == GroupResult::kMasked,
            "group_result is raw, which an input's gradient has not; it must be masked");
  }

  // Groups, if what says them is in range; else 0.
  std::int64_t groupsAsked(std::int64_t inner) {
    if (!para_.group_dict) {
      const bool extend = para_.extend_dict.has_value();
      const std::int64_t groups = extend ? para_.extend_dict->groups : para_.groups;
      if (!range(extend ? "group_dict groups" : "groups", groups, 1, kMostAxis)) return 0;
      return require(inner * groups <= kMostAxis, inCTimes(inner) + number(groups) + " must be at most 1000000")
                 ? groups
                 : 0;
    }
    const std::int64_t cin = para_.group_dict->cin_ori;
    if (!range("group_dict cin_ori", cin, 1, kMostAxis) ||
        !require(cin % inner == 0, "group_dict cin_ori = " + number(cin) + " is not divisible by " + innerName() +
                                       " = " + number(inner) + ", the input channels of a group"))
      return 0;
    return cin / inner;
  }
  std::string innerName() const {
    return std::string(operation_.filterSize) + "[" + std::to_string(operation_.filterOrder.find('C')) + "]";
  }
  std::string inCTimes(std::int64_t inner) const { return innerName() + " = " + number(inner) + " times groups = "; }

  // Channels, groups and group_dict; all lists and shapes are in range.
  void channels() {
    const std::int64_t cout = at(filter_, operation_.filterOrder, 'N'),
                       inner = at(filter_, operation_.filterOrder, 'C');
    const std::int64_t groups = groupsAsked(inner), cin = inner * groups;
    if (groups == 0 || !require(cout % groups == 0, std::string(operation_.filterSize) + "[0] = " + number(cout) +
                                                        " output channels are not divisible by " + number(groups) +
                                                        " groups (Cin / " + innerName() + ")"))
      return;
    const Result<GroupDict> formula = groupDict(cin, cout, groups);
    if (!formula.ok()) return void(require(false, formula.error().message));
    rules_.call.group_dict = *formula;
    rules_.call.groups = groups;
    blocks("out_backprop", call_.out_backprop, cout, "output");
    if (operation_.ofFilter()) {
      blocks(operation_.first, call_.first, cin, "input");
    } else {
      const std::int64_t given = at(call_.inputSize, operation_.inputOrder, 'C');
      require(given == cin, std::string(operation_.inputSize) + " C = " + number(given) + " must be " + number(cin) +
                                ", " + inCTimes(inner) + number(groups));
      filterBlocks();
    }
    if (para_.group_dict)
      agrees(*para_.group_dict, *formula, [](const auto& g, const auto& v) { describeGroupDict(g, v); });
    if (para_.extend_dict)
      agrees(*para_.extend_dict, extendDict(*formula, groups),
             [](const auto& g, const auto& v) { describeExtendDict(g, v); });
  }

  void blocks(const std::string& name, const Tensor& t, std::int64_t channels, const char* which) {
    const std::int64_t need = ceilDivide(channels, kC0Size), given = at(t.shape, operation_.activationOrder(), 'C');
    require(given == need, name + " C1 = " + number(given) + " must be " + number(need) + " for " + number(channels) +
                               " " + which + " channels");
  }

  void filterBlocks() {
    Dhw kernel;
    for (int a = 0; a < 3; ++a) kernel[a] = at(filter_, operation_.filterOrder, kSpace[static_cast<std::size_t>(a)]);
    const Ints need = filterShape(rules_.call.group_dict, kernel);
    require(call_.first.shape == need, std::string(operation_.first) + " has shape " + shapeText(call_.first.shape) +
                                           "; it must have " + shapeText(need) + ": (real_g * " +
                                           (operation_.flat() ? "" : "Kd * ") +
                                           "cin1_g * Kh * Kw, cout_g / 16, 16, 16)");
  }

  template <class Dict, class Describe>
  void agrees(const Dict& given, const Dict& formula, Describe describe) {
    Ints expected;
    describe(formula, [&](const char*, const std::int64_t& value) { expected.push_back(value); });
    const GroupDict& g = rules_.call.group_dict;
    std::size_t i = 0;
    describe(given, [&](const char* field, const std::int64_t& value) {
      require(value == expected[i], std::string("group_dict ") + field + " = " + number(value) +
                                        "; the formula gives " + number(expected[i]) +
                                        " for fmap_c = " + number(g.cin_ori) + ", cout = " + number(g.cout_ori) +
                                        ", groups = " + number(rules_.call.groups));
      ++i;
    });
  }

  const Ints& input() const { return operation_.ofFilter() ? call_.first.shape : call_.inputSize; }
  std::int64_t dy(char axis) const { return at(call_.out_backprop.shape, operation_.activationOrder(), axis); }

  void images() {
    rules_.call.batch = at(input(), operation_.inputOrder, 'N');
    require(rules_.call.batch == dy('N'), std::string(operation_.inputSize) + " N = " + number(rules_.call.batch) +
                                              " and out_backprop N = " + number(dy('N')) + " must be equal");
    if (operation_.ofFilter() && !operation_.flat())
      require(dy('W') >= 2 || dy('H') == 1, "out_backprop W = 1 needs out_backprop H = 1, but it is " +
                                                number(dy('H')) + "; exchange the axes H and W");
  }

  void geometry(bool stepped) {
    CallNumbers& c = rules_.call;
    for (int a = operation_.flat() ? 1 : 0; a < 3; ++a) {
      const char axis = kSpace[static_cast<std::size_t>(a)];
      c.in[a] = at(input(), operation_.inputOrder, axis);
      c.kernel[a] = at(filter_, operation_.filterOrder, axis);
      c.out[a] = dy(axis);
      const std::int64_t dilated = (c.kernel[a] - 1) * c.dilation[a] + 1;
      if (range(std::string("the dilated filter along ") + axis, dilated, 1, kMostDilatedFilter))
        image(a, dilated, stepped);
    }
  }

  void image(int a, std::int64_t dilated, bool stepped) {
    const CallNumbers& c = rules_.call;
    for (int after = 0; after < 2; ++after) {
      const std::int64_t pad = (after == 0 ? c.padBefore : c.padAfter)[a];
      require(pad < dilated, std::string(operation_.pads) + " " + kSides[2 * a + after] + " = " + number(pad) +
                                 " must be less than the dilated filter, " + number(dilated));
    }
    const std::string axis(1, kSpace[static_cast<std::size_t>(a)]);
    const std::int64_t room = c.in[a] + c.padBefore[a] + c.padAfter[a] - dilated;
    if (!require(room >= 0, "the dilated filter, " + number(dilated) + ", is larger than the padded " +
                                operation_.inputSize + ", " + number(room + dilated) + ", along " + axis) ||
        !stepped)
      return;
    const std::int64_t out = room / c.stride[a] + 1;
    require(c.out[a] == out, "out_backprop " + axis + " = " + number(c.out[a]) + " must be " + number(out) + ", what " +
                                 operation_.inputSize + ", " + operation_.filterSize + ", strides, " + operation_.pads +
                                 " and dilations imply");
  }

  const Operation& operation_;
  const Call& call_;
  const Ints& filter_;
  const ParaDict& para_;
  std::string_view space_;
  CallRules rules_;
};

}  // namespace

CallRules checkCall(const Operation& operation, const Call& call) { return Checker(operation, call).check(); }

std::vector<std::int64_t> filterShape(const GroupDict& g, const Dhw& kernel) {
  return {g.real_g * g.cin1_g * kernel.volume(), g.cout_g / kC0Size, kC0Size, kC0Size};
}

}  // namespace cubejit::tbe
