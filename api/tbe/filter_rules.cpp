// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides each rule of the DSL's call and its wording; the limits are those documented for the static operator.
#include "api/tbe/filter_rules.h"

#include <cctype>

namespace cubejit::tbe {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kMostExtent = 4096, kMostAxis = 1000000, kMostDilatedFilter = 255, kMostStride = 63,
                       kMostPad = 255, kMostDilation = 255;
constexpr const char* kAxes[] = {"D", "H", "W"};
constexpr const char* kSides[] = {"front", "back", "up", "down", "left", "right"};

std::string number(std::int64_t value) { return std::to_string(value); }
std::int64_t ceilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

class Checker {
 public:
  Checker(const Tensor& x, const Tensor& dy, const Ints& filter, const ParaDict& para)
      : x_(x), dy_(dy), filter_(filter), para_(para) {}

  FilterRules check() {
    // All are asked, whatever the first says.
    const bool x = activation("x", x_, true), dy = activation("out_backprop", dy_, false), filter = filterSize();
    const bool shapes = x && dy && filter;
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

  bool activation(const std::string& name, const Tensor& t, bool depthLimited) {
    require(t.dtype == "float16", name + " is " + t.dtype + "; it must be float16");
    if (!require(t.shape.size() == 6, name + " has " + number(static_cast<std::int64_t>(t.shape.size())) +
                                          " axes; it must have 6, those of NDC1HWC0: (N, D, C1, H, W, 16)"))
      return false;
    bool holds = true;
    constexpr const char* kNames[] = {"N", "D", "C1", "H", "W", "C0"};
    for (std::size_t a = 0; a < 5; ++a) {
      const bool limited = a >= 3 || (a == 1 && depthLimited);
      holds &= range(name + " " + kNames[a], t.shape[a], 1, limited ? kMostExtent : kMostAxis);
    }
    return require(t.shape[5] == kC0Size, name + " C0 = " + number(t.shape[5]) + " must be 16") && holds;
  }

  bool filterSize() {
    if (!require(filter_.size() == 5, "filter_size has " + number(static_cast<std::int64_t>(filter_.size())) +
                                          " values; it must have 5: (Cout, Kd, Cin / groups, Kh, Kw)"))
      return false;
    bool holds = true;
    for (std::size_t a = 0; a < 5; ++a)
      holds &= range("filter_size[" + number(static_cast<std::int64_t>(a)) + "]", filter_[a], 1, kMostAxis);
    return holds;
  }

  bool values(const char* name, const Ints& list, std::size_t count, const char* words) {
    return require(list.size() == count, std::string(name) + " has " + number(static_cast<std::int64_t>(list.size())) +
                                             " values; it must have " + words);
  }

  bool strides() {
    if (!values("strides", para_.strides, 3, "3: D, H, W")) return false;
    bool holds = true;
    for (int a = 0; a < 3; ++a) {
      holds &= range(std::string("strides ") + kAxes[a], para_.strides[static_cast<std::size_t>(a)], 1, kMostStride);
      rules_.call.stride[a] = para_.strides[static_cast<std::size_t>(a)];
    }
    return holds;
  }

  bool pads() {
    if (!values("pads", para_.pads, 6, "6: front, back, up, down, left, right")) return false;
    bool holds = true;
    for (std::size_t side = 0; side < 6; ++side) {
      holds &= range(std::string("pads ") + kSides[side], para_.pads[side], 0, kMostPad);
      (side % 2 == 0 ? rules_.call.padBefore : rules_.call.padAfter)[static_cast<int>(side / 2)] = para_.pads[side];
    }
    return holds;
  }

  // Three values, or five in the order of filter_size, whose first and third then mean the channels.
  bool dilations() {
    const Ints& given = para_.dilations;
    if (!require(given.size() == 3 || given.size() == 5, "dilations has " +
                                                             number(static_cast<std::int64_t>(given.size())) +
                                                             " values; it must have 3 (D, H, W) or 5 (N, D, C, H, W)"))
      return false;
    const bool five = given.size() == 5;
    bool holds = true;
    for (int a = 0; a < 3; ++a) {
      const std::int64_t value = given[static_cast<std::size_t>(five ? (a == 0 ? 1 : a + 2) : a)];
      holds &= range(std::string("dilations ") + kAxes[a], value, 1, kMostDilation);
      rules_.call.dilation[a] = value;
    }
    if (five) {
      holds &= require(given[0] == 1, "dilations N = " + number(given[0]) + " must be 1");
      holds &= require(given[2] == 1, "dilations C = " + number(given[2]) + " must be 1");
    }
    return holds;
  }

  void texts() {
    require(para_.res_dtype == "float32" || para_.res_dtype == "float16",
            "res_dtype is " + para_.res_dtype + "; it must be float32 or float16");
    bool identifier = !para_.kernel_name.empty() && !std::isdigit(static_cast<unsigned char>(para_.kernel_name[0]));
    for (const char c : para_.kernel_name)
      identifier = identifier && (std::isalnum(static_cast<unsigned char>(c)) || c == '_');
    require(identifier, "kernel_name \"" + para_.kernel_name + "\" must be letters, digits and underscores");
  }

  // Channels, groups and group_dict; filter_size and both shapes are in range.
  void channels() {
    const std::int64_t cout = filter_[0], inner = filter_[2];
    std::int64_t groups = para_.groups, cin = inner * groups;
    if (para_.group_dict) {
      cin = para_.group_dict->cin_ori;
      if (!range("group_dict cin_ori", cin, 1, kMostAxis)) return;
      if (!require(cin % inner == 0, "group_dict cin_ori = " + number(cin) + " is not divisible by filter_size[2] = " +
                                         number(inner) + ", the input channels of a group"))
        return;
      groups = cin / inner;
    } else if (!range("groups", groups, 1, kMostAxis) ||
               !require(cin <= kMostAxis, "filter_size[2] = " + number(inner) + " times groups = " + number(groups) +
                                              " must be at most 1000000")) {
      return;
    }
    if (!require(cout % groups == 0, "filter_size[0] = " + number(cout) + " output channels are not divisible by " +
                                         number(groups) + " groups (cin_ori / filter_size[2])"))
      return;
    const Result<GroupDict> formula = groupDict(cin, cout, groups);
    if (!formula.ok()) return void(require(false, formula.error().message));
    blocks("x", "C1", x_, cin, "input");
    blocks("out_backprop", "C1", dy_, cout, "output");
    if (para_.group_dict) agrees(*para_.group_dict, *formula);
    rules_.call.group_dict = *formula;
    rules_.call.groups = groups;
  }

  void blocks(const char* name, const char* axis, const Tensor& t, std::int64_t count, const char* which) {
    const std::int64_t need = ceilDivide(count, kC0Size);
    require(t.shape[2] == need, std::string(name) + " " + axis + " = " + number(t.shape[2]) + " must be " +
                                    number(need) + " for " + number(count) + " " + which + " channels");
  }

  void agrees(const GroupDict& given, const GroupDict& formula) {
    std::vector<std::int64_t> expected;
    describeGroupDict(formula, [&](const char*, const std::int64_t& value) { expected.push_back(value); });
    std::size_t at = 0;
    describeGroupDict(given, [&](const char* field, const std::int64_t& value) {
      require(value == expected[at],
              std::string("group_dict ") + field + " = " + number(value) + "; the formula gives " +
                  number(expected[at]) + " for fmap_c = " + number(formula.cin_ori) +
                  ", cout = " + number(formula.cout_ori) + ", groups = " + number(formula.cin_ori / filter_[2]));
      ++at;
    });
  }

  void images() {
    require(x_.shape[0] == dy_.shape[0],
            "x N = " + number(x_.shape[0]) + " and out_backprop N = " + number(dy_.shape[0]) + " must be equal");
    require(dy_.shape[4] >= 2 || dy_.shape[3] == 1, "out_backprop W = 1 needs out_backprop H = 1, but it is " +
                                                        number(dy_.shape[3]) + "; exchange the axes H and W");
  }

  void geometry(bool stepped) {
    for (int a = 0; a < 3; ++a) {
      const std::size_t at =
          a == 0 ? 1 : static_cast<std::size_t>(a) + 2;  // of the axis in x, out_backprop, filter_size
      const std::int64_t dilated = (filter_[at] - 1) * rules_.call.dilation[a] + 1;
      if (range(std::string("the dilated filter along ") + kAxes[a], dilated, 1, kMostDilatedFilter))
        axis(a, at, dilated, stepped);
    }
  }

  void axis(int a, std::size_t at, std::int64_t dilated, bool stepped) {
    const FilterCall& c = rules_.call;
    const std::size_t side = static_cast<std::size_t>(a) * 2;
    for (std::size_t i : {side, side + 1})
      require(para_.pads[i] < dilated, std::string("pads ") + kSides[i] + " = " + number(para_.pads[i]) +
                                           " must be less than the dilated filter, " + number(dilated));
    const std::int64_t room = x_.shape[at] + c.padBefore[a] + c.padAfter[a] - dilated;
    if (!require(room >= 0, "the dilated filter, " + number(dilated) + ", is larger than the padded x, " +
                                number(room + dilated) + ", along " + kAxes[a]) ||
        !stepped)
      return;
    const std::int64_t out = room / c.stride[a] + 1;
    require(dy_.shape[at] == out, std::string("out_backprop ") + kAxes[a] + " = " + number(dy_.shape[at]) +
                                      " must be " + number(out) +
                                      ", what x, filter_size, strides, pads and dilations imply");
  }

  const Tensor &x_, &dy_;
  const Ints& filter_;
  const ParaDict& para_;
  FilterRules rules_;
};

}  // namespace

FilterRules checkFilterCall(const Tensor& x, const Tensor& out_backprop, const std::vector<std::int64_t>& filter_size,
                            const ParaDict& para_dict) {
  return Checker(x, out_backprop, filter_size, para_dict).check();
}

}  // namespace cubejit::tbe
